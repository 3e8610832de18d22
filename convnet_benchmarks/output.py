"""Result files: JSON in one versioned schema, and CSV. A file is there whole or not at all."""

import contextlib
import csv
import io
import json
import os
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from typing import Any

from convnet_benchmarks.errors import UserError
from lua_compat.whole_file import Unfinished

SCHEMA = "convnet-benchmarks/1"


class OutputFile:
    """A file to be written at the end of a run, opened for writing at its start.

    So an unwritable place is reported before anything is measured. The content goes to a file
    that gets the target's name when it is complete; a device or pipe is written directly, and so is the file
    that stdout or stderr goes to. A link stays: what it points to is written. Raises UserError that names
    ``option`` and the path.
    """

    def __init__(self, option: str, path: str) -> None:
        self._option = option
        self._path = path
        self._unfinished: Unfinished | None = None
        try:
            if not path or os.path.isdir(path):
                raise OSError(0, "not the name of a file")
            number = _own_stream(path)
            self._is_own_stream = number is not None
            if number is not None:
                handle = os.dup(number)
            elif _is_device(path):
                handle = os.open(path, os.O_WRONLY)
            else:
                self._unfinished = Unfinished(os.path.realpath(path))
                handle = os.dup(self._unfinished.descriptor)
            self._stream = os.fdopen(handle, "w", encoding="utf-8")
        except OSError as error:
            raise self._unwritable(error) from None

    def write(self, text: str | Iterable[str]) -> None:
        """Puts ``text``, or its parts one after the other, in place of the file's content."""
        try:
            if self._is_own_stream:  # what was printed before comes first
                sys.stdout.flush()
                sys.stderr.flush()
            self._stream.writelines([text] if isinstance(text, str) else text)
            self._stream.flush()
            if self._unfinished is not None:
                os.fsync(self._stream.fileno())
            self._stream.close()
            if self._unfinished is not None:
                self._unfinished.keep()
        except OSError as error:
            self.discard()
            raise self._unwritable(error) from None

    def __enter__(self) -> "OutputFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.discard()

    def discard(self) -> None:
        """Removes what was not completed."""
        with contextlib.suppress(OSError):  # what could not be flushed is thrown away with the file
            self._stream.close()
        if self._unfinished is not None:
            self._unfinished.discard()

    def _unwritable(self, error: OSError) -> UserError:
        return UserError(f"option {self._option}: cannot write '{self._path}': {error.strerror}")


def check_distinct(outputs: Sequence[tuple[str, str]], inputs: Sequence[tuple[str, str]] = ()) -> None:
    """Raises UserError if one file is to be written twice, or is read, too: something would be lost.

    Both are pairs of what the user calls it (an option, or FILE) and the path.
    """
    seen = list(inputs)
    for option, path in outputs:
        for other, its_path in seen:
            if not _is_device(path) and _own_stream(path) is None and _same_file(path, its_path):
                raise UserError(f"option {option}: '{path}' is also the file of {other}; give another name")
        seen.append((f"option {option}", path))


def _same_file(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:  # not both are there
        return os.path.realpath(one) == os.path.realpath(other)


def _is_device(path: str) -> bool:
    """Returns whether it is a device or a pipe: what is written there replaces nothing."""
    return os.path.exists(path) and not os.path.isfile(path)


def _own_stream(path: str) -> int | None:
    """Returns 1 or 2 if ``path`` is where this process' stdout or stderr goes, by whatever name."""
    for number in (1, 2):
        with contextlib.suppress(OSError):
            if os.path.samestat(os.stat(path), os.fstat(number)):
                return number
    return None


def as_json(content: dict[str, Any]) -> str:
    """Returns a result file's text: ``content``, what it is, and when it was written."""
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return (
        json.dumps({"schema": SCHEMA, "time": now, **content}, indent=1, allow_nan=False, default=vars) + "\n"
    )


def as_csv(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()
