"""stdin, stdout and stderr of a program, present whatever it was started with."""

import ctypes
import os
import sys


def open_closed_streams() -> set[str]:
    """Puts the null device where the program was started without a stream (``2>&-``); returns which.

    Python has None in its place there, and the next file opened would get the stream's number: what a library
    prints would be written into that file.
    """
    closed = set()
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        try:
            os.fstat(number)
        except OSError:
            closed.add(name)
            # The lowest free number is given out, and those below are taken by now.
            os.open(os.devnull, os.O_RDONLY if mode == "r" else os.O_WRONLY)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115  (open while the program runs)
    return closed


def let_stdout_fail() -> None:
    """Has whatever is written to stdout fail, as it does where a program is started without one."""
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 1)
    os.close(null)


def lost_output() -> bool:
    """Returns whether the C library could not write what was printed through its stdout: a full disk, say."""
    library = ctypes.CDLL(None)
    try:
        stream = ctypes.c_void_p.in_dll(library, "stdout")
    except ValueError:  # not a system that calls it so
        return False
    failed: bool = library.fflush(stream) != 0 or library.ferror(stream) != 0
    return failed


def without_folder() -> bool:
    """Returns whether the working folder has been deleted: libraries would end the program without a word."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False
