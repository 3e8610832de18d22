"""stdin, stdout and stderr of a program, present whatever it was started with."""

import os
import sys


def open_closed_streams() -> None:
    """Puts the null device where the program was started without a stream (``2>&-``).

    Python has None in its place there, and the next file opened would get the stream's number: what a library
    prints would be written into that file.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number is given out, and those below are taken by now.
            os.open(os.devnull, os.O_RDONLY if mode == "r" else os.O_WRONLY)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115  (open while the program runs)
