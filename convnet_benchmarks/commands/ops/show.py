"""The tables of ``ops``: total by batch, by layer for each batch, by operator."""

import argparse
import statistics
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from convnet_benchmarks.tables import Cell, Column, Table
from convnet_benchmarks.timing.counted import counted_rows
from convnet_benchmarks.timing.several_processes import combined_conditions

Entry = dict[str, Any]  # one device and batch size; see measure.run

# The operators of the PaddlePaddle tables, by the start of the name of PyTorch's class.
_OPERATOR_NAMES = {
    "ConvTranspose": "conv2d_transpose",
    "Conv": "conv2d",
    "ReLU": "Relu",
    "MaxPool": "pool2d",
    "AvgPool": "pool2d",
    "AdaptiveAvgPool": "pool2d",
    "BatchNorm": "batchnorm",
    "Linear": "mul",
}
_WIDEST = 16  # with more layers than this a table has a row for each
_OPERATORS_SHOWN = 20


def mean_of_runs(runs: Sequence[Sequence[Entry]]) -> list[Entry]:
    """Returns every number averaged over the runs; the runs have the same entries."""
    return [_mean_entry(entries) for entries in zip(*runs, strict=True)]


def _mean_entry(entries: Sequence[Entry]) -> Entry:
    found: Entry = _mean([{k: v for k, v in entry.items() if k != "conditions"} for entry in entries])
    seen = [entry["conditions"] for entry in entries if "conditions" in entry]
    return {**found, "conditions": combined_conditions(seen)} if seen else found


def _mean(values: Sequence[Any]) -> Any:
    first = values[0]
    if isinstance(first, dict):  # an operator may be missing in some run
        common = [key for key in first if all(key in value for value in values)]
        return {key: _mean([value[key] for value in values]) for key in common}
    if isinstance(first, list):
        return [_mean(items) for items in zip(*values, strict=True)]
    return statistics.fmean(values) if isinstance(first, float) else first


def tables(
    mean: Sequence[Entry], runs: Sequence[Sequence[Entry]], options: argparse.Namespace
) -> list[Table]:
    """Returns what --tables asks for, in its order."""
    makers: dict[str, Callable[[], Iterator[Table]]] = {
        "total": lambda: _total_tables(mean, runs),
        "layers": lambda: _layer_tables(mean, options.layout),
        "operators": lambda: _operator_tables(mean),
    }
    return [table for name in options.tables for table in makers[name]()]


def _devices(mean: Sequence[Entry]) -> list[str]:
    return list(dict.fromkeys(entry["device"] for entry in mean))


def _batches(mean: Sequence[Entry]) -> list[int]:
    return list(dict.fromkeys(entry["batch"] for entry in mean))


def _label(device: str, phase: str = "") -> str:
    name = "CPU" if device == "cpu" else device.replace("cuda", "GPU").replace(":0", "").replace(":", " ")
    return f"{name} {phase}".rstrip()


def _by_phase(times: Any) -> dict[str, Any]:
    """Returns a time as it is in training mode, by phase; in inference there is one, without a name."""
    return times if isinstance(times, dict) else {"": times}


def _total_tables(mean: Sequence[Entry], runs: Sequence[Sequence[Entry]]) -> Iterator[Table]:
    columns = [Column("", key="device"), *(Column(f"mb={batch}", digits=6) for batch in _batches(mean))]
    total = Table("Total time [ms per batch]", columns)
    setup = Table("Input set-up, not in the total [ms per batch]", columns)
    used = Table("Processor and energy of the passes in the total", columns)
    for device in _devices(mean):
        entries = [entry for entry in mean if entry["device"] == device]
        for phase in _by_phase(entries[0]["total_ms"]):
            times = [_by_phase(entry["total_ms"])[phase] for entry in entries]
            total.rows.append([_label(device, phase), *times])
        setup.rows.append([_label(device), *(entry["setup_ms"] for entry in entries)])
        used.rows += _used_rows(entries)
    total.notes += [_spread_note(runs), *_throttled_notes(mean)]
    if mean[0].get("ran", {}).get("cold_cache"):
        total.notes.append(
            "cold cache: emptied before each pass (in training before each phase); operators are profiled "
            "with whatever it holds"
        )
    yield total
    yield setup
    if used.rows:
        yield used


def _used_rows(entries: Sequence[Entry]) -> list[Sequence[Cell]]:
    """Returns what one device's passes took besides time: a row for each quantity that was counted."""
    seen = [entry.get("conditions", {}) for entry in entries]
    busy = [one.get("busy_cores") for one in seen]
    rows = [["busy cores", *busy]] if any(busy) else []
    rows += [[f"{name} per sample", *cells] for name, *cells in counted_rows(seen, _batches(entries))]
    return [[_label(entries[0]["device"], str(name)), *cells] for name, *cells in rows]


def _throttled_notes(mean: Sequence[Entry]) -> list[str]:
    return [
        f"{_label(entry['device'])}, mb={entry['batch']}: throttled: the clock fell meanwhile"
        for entry in mean
        if entry.get("conditions", {}).get("throttled_passes")
    ]


def _spread_note(runs: Sequence[Sequence[Entry]]) -> str:
    if len(runs) == 1:
        return "one run"
    spreads = []
    for entries in zip(*runs, strict=True):
        totals = [sum(_by_phase(entry["total_ms"]).values()) for entry in entries]
        spread = statistics.stdev(totals) / statistics.fmean(totals)
        spreads.append((spread, f"{_label(entries[0]['device'])}, mb={entries[0]['batch']}"))
    typical = statistics.median(spread for spread, _ in spreads)
    largest, where = max(spreads)
    return (
        f"mean of {len(runs)} runs; their standard deviation is {typical:.1%} of it, "
        f"at most {largest:.1%} ({where})"
    )


def _layer_tables(mean: Sequence[Entry], layout: str) -> Iterator[Table]:
    if layout == "auto":
        layout = "columns" if len(mean[0]["layers"]) <= _WIDEST else "rows"
    if layout == "columns":
        for batch in _batches(mean):
            yield _layers_as_columns([entry for entry in mean if entry["batch"] == batch])
    else:
        for device in _devices(mean):
            yield _layers_as_rows([entry for entry in mean if entry["device"] == device])


def _layers_as_columns(entries: Sequence[Entry]) -> Table:
    """Returns one batch size: a row for each device, and in training for each phase."""
    columns = [Column("", key="device")]
    columns += [Column(_operator_name(layer["kind"]), key=layer["path"]) for layer in entries[0]["layers"]]
    columns.append(Column("total", digits=6))
    table = Table(f"mb={entries[0]['batch']}: time by layer [ms]", columns)
    for entry in entries:
        for phase, total in _by_phase(entry["total_ms"]).items():
            times: list[Cell] = [_by_phase(layer["ms"]).get(phase) for layer in entry["layers"]]
            table.rows.append([_label(entry["device"], phase), *times, total])
    table.notes += map(_cost_note, entries)
    return table


def _layers_as_rows(entries: Sequence[Entry]) -> Table:
    """Returns one device: a row for each layer, a column for each batch size and phase."""
    phases = list(_by_phase(entries[0]["total_ms"]))
    columns = [Column("layer"), Column("kind")]
    columns += [Column(f"mb={entry['batch']} {phase}".rstrip()) for entry in entries for phase in phases]
    table = Table(f"{_label(entries[0]['device'])}: time by layer [ms]", columns)
    for layers in zip(*(entry["layers"] for entry in entries), strict=True):
        times: list[Cell] = [_by_phase(layer["ms"]).get(phase) for layer in layers for phase in phases]
        table.rows.append([layers[0]["path"], layers[0]["kind"], *times])
    totals = [_by_phase(entry["total_ms"])[phase] for entry in entries for phase in phases]
    table.rows.append(["total", "", *totals])
    table.notes += map(_cost_note, entries)
    return table


def _cost_note(entry: Entry) -> str:
    """Returns what timing the layers cost, and what the layers do not account for."""
    where = f"{_label(entry['device'])}, mb={entry['batch']}"
    if "hooked_ms" not in entry:
        return f"{where}: layers run alone, each on the input it has in the net; total is the whole net"
    layers = sum(layer["ms"] for layer in entry["layers"])
    total, hooked, outside = entry["total_ms"], entry["hooked_ms"], entry["outside_ms"]
    return (
        f"{where}: layers {layers:.4g} + between layers {outside:.3g} ms; a pass takes {hooked:.4g} ms with "
        f"timed layers, {total:.4g} without ({hooked / total - 1:+.1%}); "
        f"an empty layer shows {entry['empty_layer_ms']:.2g}"
    )


def _operator_name(kind: str) -> str:
    return next((name for start, name in _OPERATOR_NAMES.items() if kind.startswith(start)), kind)


def _operator_tables(mean: Sequence[Entry]) -> Iterator[Table]:
    """Yields one table for each device: the operators that take the most time over all batches."""
    for device in _devices(mean):
        entries = [entry for entry in mean if entry["device"] == device]
        yield _operators(entries, device, "cpu_ms", "host")
        if device != "cpu":
            yield _operators(entries, device, "device_ms", "GPU kernels")


def _operators(entries: Sequence[Entry], device: str, key: str, what: str) -> Table:
    found = [entry["operators"] for entry in entries]
    weight = {name: sum(by_name.get(name, {}).get(key, 0.0) for by_name in found) for name in found[0]}
    ordered = sorted(weight, key=lambda name: weight[name], reverse=True)
    columns = [Column("operator"), Column("calls")]
    columns += [Column(f"mb={entry['batch']}") for entry in entries]
    table = Table(f"{_label(device)}: own time by PyTorch operator, {what} [ms]", columns)
    for name in ordered[:_OPERATORS_SHOWN]:
        times = [by_name.get(name, {}).get(key) for by_name in found]
        table.rows.append([name, found[0][name]["calls"], *times])
    left_out = ordered[_OPERATORS_SHOWN:]
    if left_out:
        rest = [sum(by_name.get(name, {}).get(key, 0.0) for name in left_out) for by_name in found]
        table.rows.append([f"{len(left_out)} others", None, *rest])
    table.rows.append(["pass under the profiler", None, *(entry["profiled_ms"] for entry in entries)])
    return table
