"""Files of measured points: one JSON object per line, appended whole, readable after any kill."""

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.points.fields import FieldError, Fields
from convnet_benchmarks.points.point import Point

SCHEMA = "convnet-benchmarks/points/1"
# Kind, point, variants and latency target, machine.
Identity = tuple[str, str, str, str]
_LINE_START = f'{{"schema": "{SCHEMA}", '.encode()


class PointFile:
    """The file of one study, open for appending; another run cannot have it open at the same time.

    ``records`` are what it holds, in order. A last line that a kill cut short is removed on opening. With
    ``fresh`` the first record takes the place of all that were there. What is appended gets the ``label``. A
    new file that gets no record is removed on closing. Raises UserError, which names ``option`` and the path,
    if the file cannot be written or is of another kind.
    """

    def __init__(self, option: str, path: str, *, fresh: bool = False, label: str = "") -> None:
        self._option = option
        self._label = label
        self._path = path
        self._is_new = not os.path.lexists(path)
        try:
            self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
        except OSError as error:
            raise UserError(f"option {option}: cannot write '{path}': {error.strerror}") from None
        try:
            if not os.path.isfile(path):
                raise UserError(f"option {option}: '{path}' is not a regular file")
            self._lock()
            self.records = self._repair()
            self._discards = fresh
            if fresh:
                self.records = []
        except BaseException:
            self.close()
            raise

    def append(self, record: dict[str, Any]) -> None:
        """Adds ``record`` as one line, on the disk when this returns."""
        labelled = {"schema": SCHEMA, "label": self._label, **record}
        line = json.dumps(labelled, allow_nan=False).encode() + b"\n"
        try:
            if self._discards:
                os.ftruncate(self._file, 0)
                self._discards = False
            # One write: whoever reads or kills meets a whole line, or the start of one at the very end.
            written = os.write(self._file, line)
            if written != len(line):
                raise OSError(0, f"only {written} of {len(line)} bytes could be written")
            os.fsync(self._file)
        except OSError as error:
            raise UserError(f"option {self._option}: cannot write '{self._path}': {error.strerror}") from None
        self.records.append(record)

    def close(self) -> None:
        if self._is_new and os.fstat(self._file).st_size == 0:
            with contextlib.suppress(OSError):
                os.unlink(self._path)
        os.close(self._file)

    def __enter__(self) -> "PointFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _lock(self) -> None:
        try:
            import fcntl
        except ImportError:  # not on Windows: there two runs are not kept apart
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UserError(f"option {self._option}: another run is writing '{self._path}'") from None

    def _repair(self) -> list[dict[str, Any]]:
        content = Path(self._path).read_bytes()
        whole = content.rfind(b"\n") + 1
        records = [record for _, record in _records(self._path, content[:whole])]
        rest = content[whole:]
        if rest:
            if not rest.startswith(_LINE_START[: len(rest)]):  # not what append() began
                raise _not_a_point(self._path, len(records) + 1)
            os.ftruncate(self._file, whole)
        return records


def read_points(path: str) -> list[dict[str, Any]]:
    """Returns the records of a file of points, in order, without a last line that a kill cut short.

    docs/results.md describes them. Raises UserError for a file that cannot be read or is of another kind.
    """
    return [record for _, record in _numbered(path)]


def latest_lines(path: str) -> list[tuple[int, dict[str, Any]]]:
    """Returns ``latest`` of a file of points, each record with its line number. Raises as ``read_points``."""
    return list({identity(record): (number, record) for number, record in _numbered(path)}.values())


def latest(records: list[dict[str, Any]]) -> dict[Identity, dict[str, Any]]:
    """Returns the last record of each kind, point and machine: what had failed may have been measured
    again.
    """
    return {identity(record): record for record in records}


def identity(record: dict[str, Any]) -> Identity:
    """Returns what two records about the same thing share: kind, point, machine, and the variants compared or
    the latency asked for.

    Raises FieldError if one of them is not as docs/results.md describes it.
    """
    fields = Fields(record)
    machine = fields.inner("machine")
    return (
        fields.text("kind"),
        Point.from_fields(fields.inner("point")).key,
        json.dumps([record.get("variants"), record.get("latency_target_ms")]),
        f"{machine.text('device')}, torch {machine.text('torch')}",
    )


def is_point_file(path: str) -> bool:
    """Returns whether the first line of the file is a point, of whatever version."""
    with contextlib.suppress(OSError, ValueError, RecursionError), open(path, "rb") as file:
        first = json.loads(file.readline())
        return isinstance(first, dict) and str(first.get("schema", "")).startswith(SCHEMA[:-1])
    return False


def _numbered(path: str) -> list[tuple[int, dict[str, Any]]]:
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    return _records(path, content[: content.rfind(b"\n") + 1])


def _records(path: str, content: bytes) -> list[tuple[int, dict[str, Any]]]:
    return [(number, _record(path, number, line)) for number, line in _lines(content)]


def _lines(content: bytes) -> Iterator[tuple[int, bytes]]:
    for number, line in enumerate(content.split(b"\n"), 1):
        if line.strip():
            yield number, line


def _record(path: str, number: int, line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line)
        if record["schema"] != SCHEMA:
            raise ValueError
        identity(record)
    except FieldError as error:
        raise UserError(f"{path}, line {number}: {error}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise _not_a_point(path, number) from None
    assert isinstance(record, dict)
    return record


def _not_a_point(path: str, number: int) -> UserError:
    return UserError(
        f'{path}, line {number}: not a measured point; accepted: lines with "schema": "{SCHEMA}"'
    )
