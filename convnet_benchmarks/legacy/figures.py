"""The figures of a legacy script's result file: as CSV, and as the table on stderr."""

from collections.abc import Mapping
from typing import Any

from convnet_benchmarks import output
from convnet_benchmarks.tables import Column, Table, counted
from convnet_benchmarks.timing.counted import counted_cells, counted_columns
from convnet_benchmarks.timing.several_processes import several_note
from convnet_benchmarks.workload.devices import CPU

Document = Mapping[str, Any]  # Result.as_dict, of one process or of several together

# Columns of a line, then those of Ran, which are the same in every row.
_FIGURES = ("label", "ms_per_sample", "median_ms", "low_ms", "high_ms", "minimum_ms", "passes", "verdict")
_CONDITIONS = ("net", "batch_size", "input_shape", "backend", "dtype", "device", "cold_cache")
_STATISTICS = ("median", "low", "high", "minimum", "samples", "verdict")
# Threads that work less than this share of the time have waited for something.
_BUSY = 0.9


def as_csv(document: Document) -> str:
    """Returns a row for each line; statistics are empty if a line has no loop of its own."""
    ran = {**document["ran"], "input_shape": "x".join(map(str, document["ran"]["input_shape"]))}
    conditions = [ran[name] for name in _CONDITIONS]
    rows: list[tuple[object, ...]] = []
    for label, ms in document["lines"].items():
        figures: list[object] = [""] * len(_STATISTICS)
        if label in document["phases"]:
            summary = document["phases"][label]["summary"]
            figures = [summary[name] for name in _STATISTICS]
        rows.append((label, ms, *figures, *conditions))
    return output.as_csv((*_FIGURES, *_CONDITIONS), rows)


def statistics_table(document: Document) -> Table:
    """Returns the statistics of every loop in ms per sample; notes say what to do about noisy ones."""
    seen = [phase["conditions"] for phase in document["phases"].values()]
    columns = [
        Column("ms per sample"),
        Column("median"),
        Column("95 % interval"),
        Column("minimum"),
        Column("passes"),
        *counted_columns(seen),
        Column("verdict"),
    ]
    table = Table("", columns)
    advice: dict[str, None] = {}
    batch = document["ran"]["batch_size"]
    for label, phase in document["phases"].items():
        s = phase["summary"]
        interval = f"{s['low'] / batch:.4g} .. {s['high'] / batch:.4g}"
        per_sample = counted_cells(columns, phase["conditions"], batch)
        figures = [s["median"] / batch, interval, s["minimum"] / batch, s["samples"], *per_sample]
        table.rows.append([label, *figures, s["verdict"]])
        if s["advice"]:
            advice[f"{s['verdict']}: {s['advice']}"] = None
    table.notes += [*advice, *_waiting_threads(document), *several_note([len(document.get("runs", "1"))])]
    return table


def _waiting_threads(document: Document) -> list[str]:
    """Returns a note where the processor time of the loops says that threads waited."""
    found = [phase["conditions"].get("busy_cores") for phase in document["phases"].values()]
    busy = [cores for cores in found if cores is not None]
    ran = document["ran"]
    if ran["device"] != CPU or not busy or min(busy) >= _BUSY * ran["threads"]:
        return []
    return [
        f"busy cores: {min(busy):.2g} to {max(busy):.2g}, with {counted(ran['threads'], 'thread')}: "
        "they waited for other programs, or for each other"
    ]
