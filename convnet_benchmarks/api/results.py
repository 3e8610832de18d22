"""Results in Python: from a benchmark or a file, shown as a table, compared, kept."""

import html
import itertools
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Union

from convnet_benchmarks.commands.compare import comparison_table
from convnet_benchmarks.commands.compare.rows import Comparison
from convnet_benchmarks.commands.compare.rows import compare as compare_measurements
from convnet_benchmarks.errors import UserError
from convnet_benchmarks.points.fields import is_finite
from convnet_benchmarks.points.file import PointFile
from convnet_benchmarks.results.from_points import of_point
from convnet_benchmarks.results.load import ResultFile
from convnet_benchmarks.results.load import load as load_file
from convnet_benchmarks.results.measurement import Measurement
from convnet_benchmarks.tables import Column, Table
from convnet_benchmarks.workload.nets import an

if TYPE_CHECKING:
    import pandas

_HERE = "in memory"


class _Shown:
    """Something whose representation is a table, in a console and in a notebook."""

    def table(self) -> Table:
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.table().plain()

    def _repr_html_(self) -> str:
        table = self.table()
        rows = [[column.title for column in table.columns], *table.texts()]
        cells = ["".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in rows]
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in table.notes)
        return f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>{notes}"


@dataclass(repr=False)
class Results(_Shown):
    """Measurements. ``records``: what a file of points keeps of them; empty if they were read from one."""

    file: ResultFile
    records: Sequence[dict[str, Any]] = ()

    @staticmethod
    def of_records(records: Sequence[dict[str, Any]]) -> "Results":
        """Returns the measurements of records as a sweep writes them (docs/results.md)."""
        found = tuple(itertools.chain.from_iterable(map(of_point, records)))
        return Results(ResultFile(_HERE, "points", found), records)

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        return self.file.measurements

    def __iter__(self) -> Iterator[Measurement]:
        return iter(self.measurements)

    def __len__(self) -> int:
        return len(self.measurements)

    def table(self) -> Table:
        """Returns one row for each measurement: what it is of, its value, and the 95 % interval."""
        names = [name for name in ("net", "batch", "phase", "op", "device", "software") if self._varies(name)]
        columns = [Column(name) for name in names]
        columns += [Column("quantity"), Column("value"), Column("unit"), Column("from"), Column("to")]
        columns += [Column("samples")]
        constant = [self._constant(name) for name in ("net", "batch", "device", "software")]
        table = Table(", ".join(filter(None, constant)), columns)
        for one in self.measurements:
            about = [getattr(one, name) for name in names]
            row = (one.quantity, float(one.value), one.unit, one.low, one.high, one.samples or None)
            table.rows.append((*about, *row))
        table.notes = [
            f"{record['ran']['net']}: {record['pass_ms']['verdict']}"
            for record in self.records
            if record.get("pass_ms", {}).get("verdict", "stable") != "stable"
        ]
        return table

    def _varies(self, name: str) -> bool:
        return len({getattr(one, name) for one in self.measurements}) > 1

    def _constant(self, name: str) -> str:
        values = {getattr(one, name) for one in self.measurements}
        value = values.pop() if len(values) == 1 else None
        if not value:
            return ""
        return f"batch {value}" if name == "batch" else str(value)

    def to_pandas(self) -> "pandas.DataFrame":
        """Returns a data frame with a row for each measurement; raises UserError without pandas."""
        try:
            import pandas
        except ImportError:
            raise UserError("to_pandas needs pandas: pip install pandas") from None
        return pandas.DataFrame([asdict(one) for one in self.measurements])

    def save(self, path: str) -> None:
        """Appends to a file of points, which ``compare``, ``report`` and ``load`` read.

        Raises UserError if the file cannot be written, and for results that were read from another kind of
        file.
        """
        if not self.records:
            raise UserError(f"save: these results come from {self.file.path}, which keeps them")
        with PointFile("save", path) as points:
            for record in self.records:
                points.append(record)


@dataclass(repr=False)
class Compared(_Shown):
    """Results side by side; the first one is the reference."""

    files: Sequence[ResultFile]
    comparison: Comparison

    @property
    def verdicts(self) -> list[str]:
        """Returns the verdict on each shared measurement, in the table's order."""
        return [ratio.verdict for row in self.comparison.shared for ratio in row.ratios if ratio]

    def table(self) -> Table:
        return comparison_table(self.files, self.comparison, self.comparison.rows)


ResultsOrPath = Union[Results, str, "os.PathLike[str]"]


def load(path: "str | os.PathLike[str]") -> Results:
    """Reads a result file, a file of points or a legacy log; raises UserError for anything else."""
    if not isinstance(path, (str, os.PathLike)):
        raise UserError(f"load: the first argument is {_kind(path)}; accepted: the path of a file")
    if "\0" in (name := os.fspath(path)):
        raise UserError(f"load: {name!r} has a null character; accepted: the path of a file")
    return Results(load_file(name))


def results_of(given: ResultsOrPath, function: str) -> Results:
    """Returns results as they are, or those of the file at a path; ``function`` is named in the UserError
    for anything else.
    """
    if isinstance(given, Results):
        return given
    if not isinstance(given, (str, os.PathLike)):
        raise UserError(
            f"{function}: {_kind(given)} is not a result; accepted: results, or the path of a file"
        )
    return load(given)


def _kind(given: object) -> str:
    return "None" if given is None else an(type(given).__name__)


def compare(reference: ResultsOrPath, *others: ResultsOrPath, margin: float = 0.02) -> Compared:
    """Compares results with a reference, by the 95 % intervals of the medians.

    Each is a result or the path of a file. Closer than ``margin`` is SAME. Raises UserError if they share
    no measurement.
    """
    if not others:
        raise UserError("compare: only one result is given; accepted: two or more")
    if not is_finite(margin) or not 0 <= margin < 1:
        raise UserError(f"compare: margin is {margin!r}; accepted: a number from 0 to less than 1")
    files = [results_of(one, "compare").file for one in (reference, *others)]
    comparison = compare_measurements([file.measurements for file in files], margin)
    if not comparison.shared:
        raise UserError("compare: the results share no measurement")
    return Compared(files, comparison)
