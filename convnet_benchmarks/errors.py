"""How a command fails: one line on stderr, an exit code, never a traceback."""

import difflib
import errno
import io
import os
import sys
from collections.abc import Callable, Iterable

from lua_compat.standard_streams import open_closed_streams, without_folder

EXIT_LOST = 1
EXIT_USAGE = 2
EXIT_OUT_OF_MEMORY = 3
EXIT_INTERRUPTED = 130


class UserError(Exception):
    """Something the user can mend. The message names the option, file or place and what would be accepted."""

    exit_code = EXIT_USAGE

    def __init__(self, message: str) -> None:
        # It may name what is in a file: nothing of that reaches the terminal but as text.
        super().__init__("".join(each if each.isprintable() else ascii(each)[1:-1] for each in message))


class OutOfDeviceMemoryError(UserError):
    """The device has too little memory for the batch. The message names a batch size to try."""

    exit_code = EXIT_OUT_OF_MEMORY


def unknown(what: str, name: str, accepted: Iterable[str]) -> str:
    """Returns the complaint about ``name``, which is none of ``accepted``: the likely ones first."""
    return f"unknown {what} '{name}'{did_you_mean(name, accepted)}; accepted: {', '.join(accepted)}"


def did_you_mean(name: str, accepted: Iterable[str]) -> str:
    """Returns ' (did you mean X?)' for what ``name`` may be a mistyping of, '' where nothing is near."""
    close = difflib.get_close_matches(name.lower(), list(accepted), n=3, cutoff=0.7)
    return f" (did you mean {' or '.join(close)}?)" if close else ""


def run_command(program: str, command: Callable[[], int]) -> int:
    """Runs ``command`` and turns what it raises into one line on stderr and an exit code.

    Returns the exit code: what ``command`` returned, 1 where stdout was closed from the start, 2 for bad
    input or an unwritable output, 3 for too little device memory, 130 after Ctrl-C. What stdout's encoding
    has no character for is written as an escape.
    """
    closed = open_closed_streams()
    if without_folder():
        print(f"{program}: the working folder has been deleted; start it in one that exists", file=sys.stderr)
        return EXIT_USAGE
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code = command()
        sys.stdout.flush()
        if "stdout" not in closed or code != 0:
            return code
        code, message = EXIT_LOST, "standard output is closed: what was printed is lost"
    except UserError as error:
        code, message = error.exit_code, str(error)
    except KeyboardInterrupt:
        code, message = EXIT_INTERRUPTED, "interrupted"
    except BrokenPipeError:  # the reader of our pipe went away (| head): nothing to say
        code, message = 0, ""
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO) or error.filename:
            raise
        code, message = EXIT_USAGE, f"cannot write to standard output: {error.strerror}"
    try:
        sys.stdout.flush()
    except OSError:
        # Python flushes again at exit: what cannot be written must not raise a second time there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if message:
        print(f"{program}: {message}", file=sys.stderr)
    return code
