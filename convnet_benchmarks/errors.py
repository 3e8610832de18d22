"""How a command fails: one line on stderr, an exit code, never a traceback."""

import difflib
import errno
import io
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import NoReturn

from lua_compat.printable import printable
from lua_compat.standard_streams import open_closed_streams, without_folder

EXIT_LOST = 1
EXIT_USAGE = 2
EXIT_OUT_OF_MEMORY = 3
EXIT_INTERRUPTED = 130


class UserError(Exception):
    """An error that the user can fix. The message names the option or file, and what would be accepted."""

    exit_code = EXIT_USAGE

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))  # it may name what is in a file


class OutOfDeviceMemoryError(UserError):
    """The device has too little memory for the batch. The message names a batch size to try."""

    exit_code = EXIT_OUT_OF_MEMORY


def unknown(what: str, name: str, accepted: Iterable[str]) -> str:
    """Returns the error for ``name``, which is none of ``accepted``: the likely ones first."""
    return f"unknown {what} '{name}'{did_you_mean(name, accepted)}; accepted: {', '.join(accepted)}"


def did_you_mean(name: str, accepted: Iterable[str]) -> str:
    """Returns ' (did you mean X?)' for what ``name`` may be a mistyping of, '' where nothing is near."""
    close = difflib.get_close_matches(name.lower(), list(accepted), n=3, cutoff=0.7)
    return f" (did you mean {' or '.join(close)}?)" if close else ""


def check_file(path: str) -> None:
    """Raises UserError, in the system's words, if no file is at ``path``. A pipe would be waited for."""
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    if not stat.S_ISREG(mode):
        raise UserError(f"{path}: not a file")


def run_command(program: str, command: Callable[[], int]) -> int:
    """Runs ``command`` and turns what it raises into one line on stderr and an exit code.

    Returns the exit code: what ``command`` returned, 1 if stdout was closed from the start, 2 for bad
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
        with _ends_told(program):
            code = command()
        sys.stdout.flush()
        if "stdout" not in closed or code != 0:
            return code
        code, message = EXIT_LOST, "standard output is closed: what was printed is lost"
    except UserError as error:
        code, message = error.exit_code, str(error)
    except SystemExit as end:
        if end.code in (None, 0, EXIT_USAGE):  # the parser's
            raise
        code, message = EXIT_USAGE, _ended_by(f"sys.exit({end.code!r})")
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


_end = os._exit  # while a command runs, os._exit says that a net called it


def end_process(code: int) -> NoReturn:
    """Ends this process at once, as our own code may: what was printed comes out, nothing is torn down."""
    sys.stdout.flush()
    sys.stderr.flush()
    _end(code)


def _ended_by(call: str) -> str:
    return f"the program was ended by {call} in the code of the net: a net must return"


@contextmanager
def _ends_told(program: str) -> Iterator[None]:
    """Has ``os._exit`` say that it was called: a net's own exit code would be taken for one of ours."""
    own = os.getpid()

    def told(code: int) -> NoReturn:
        if os.getpid() != own:  # a fork of multiprocessing
            _end(code)
        print(f"{program}: {printable(_ended_by(f'os._exit({code!r})'))}", file=sys.stderr, flush=True)
        _end(EXIT_USAGE)

    os._exit = told  # type: ignore[assignment]
    try:
        yield
    finally:
        os._exit = _end
