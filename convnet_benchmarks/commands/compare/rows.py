"""The same measurements of several files, side by side, and what may be said of their ratio."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from convnet_benchmarks.results.measurement import Measurement, net_key
from convnet_benchmarks.results.ratio import Ratio, ratio
from convnet_benchmarks.timing.verdicts import MARGIN

Key = tuple[object, ...]


@dataclass(frozen=True)
class ComparedRow:
    """One thing measured. ``values``: by file, None if it lacks it. ``ratios``: of the second file on."""

    values: tuple[Measurement | None, ...]
    ratios: tuple[Ratio | None, ...]

    @property
    def about(self) -> Measurement:
        return next(value for value in self.values if value is not None)


@dataclass(frozen=True)
class Comparison:
    """``matched_by``: the conditions (software, device) that tell rows apart; the others are compared."""

    rows: tuple[ComparedRow, ...]
    matched_by: tuple[str, ...]

    @property
    def shared(self) -> tuple[ComparedRow, ...]:
        """Returns the rows that the first file and another one have."""
        return tuple(row for row in self.rows if any(row.ratios))


def compare(files: Sequence[Sequence[Measurement]], margin: float = MARGIN) -> Comparison:
    """Returns the measurements of ``files``, matched by what they are of; the first file is the reference.

    A net or batch size that a file does not know (a legacy log) matches the only one there is in the others.
    Software and device are matched only where a file has the same measurement under several of them.
    """
    ignored = [name for name in ("net", "batch") if _may_be_ignored(name, files)]
    matched_by = _conditions_needed(files, ignored)
    tables = [_by_key(file, ignored, matched_by) for file in files]
    rows = []
    for key in dict.fromkeys(itertools.chain.from_iterable(tables)):
        values = tuple(table.get(key) for table in tables)
        first, *others = values
        rows.append(ComparedRow(values, tuple(ratio(first, one, margin) for one in others)))
    return Comparison(tuple(rows), matched_by)


def _may_be_ignored(name: str, files: Sequence[Sequence[Measurement]]) -> bool:
    """Returns whether some file does not know the field at all, and no file has it in more than one value."""
    known = [{getattr(one, name) for one in file} - {"", None} for file in files]
    return any(not values for values in known) and all(len(values) <= 1 for values in known)


def _conditions_needed(files: Sequence[Sequence[Measurement]], ignored: Sequence[str]) -> tuple[str, ...]:
    """Returns the fewest conditions that tell a file's measurements apart."""
    choices: tuple[tuple[str, ...], ...] = ((), ("software",), ("device",), ("software", "device"))
    for conditions in choices:
        if all(len({_key(one, ignored, conditions) for one in file}) == len(file) for file in files):
            return conditions
    return choices[-1]


def _key(one: Measurement, ignored: Sequence[str], conditions: Sequence[str]) -> Key:
    identity = {"net": net_key(one.net), "batch": one.batch}
    kept = tuple(value for name, value in identity.items() if name not in ignored)
    return (one.quantity, one.phase, one.op, *kept, *(getattr(one, name) for name in conditions))


def _by_key(
    file: Sequence[Measurement], ignored: Sequence[str], conditions: Sequence[str]
) -> dict[Key, Measurement]:
    """Returns measurements by key; a key met twice (a log of two equal runs) gets its number in the file."""
    found: dict[Key, Measurement] = {}
    for one in file:
        key = _key(one, ignored, conditions)
        number = next(n for n in itertools.count(1) if (*key, n) not in found)
        found[(*key, number)] = one
    return found
