"""A row for each net, as timm's benchmark prints it: its size, its arithmetic and its speed."""

from collections.abc import Mapping, Sequence
from typing import Any

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.nets import registry
from convnet_benchmarks.nets.net import InputSize, size_text
from convnet_benchmarks.points.point import MODES, OK
from convnet_benchmarks.tables import Cell, Column, Table
from convnet_benchmarks.workload import nets as named_nets
from convnet_benchmarks.workload.inputs import counted_on
from convnet_benchmarks.workload.ran import unit_of_records

_SEED = 1
_CONDITIONS = ("device", "dtype", "backend")


def describe_nets(names: Sequence[str], input_size: InputSize | None) -> dict[str, dict[str, Any]]:
    """Returns parameters, and multiply-adds and activations of one sample, by net.

    The latter are None for a net that does not run.
    """
    return {name: _described(name, input_size) for name in names}


def _described(name: str, input_size: InputSize | None) -> dict[str, Any]:
    from convnet_benchmarks.workload.operations.counting import count_forward

    net = named_nets.find(name, input_size, "--nets")
    about = {"input": size_text(net.inputs or net.input_size), "multiply_adds": None, "activations": None}
    try:
        module, input, _ = counted_on(net, 1, _SEED)
    except UserError:  # it does not run, as its points say
        return {**about, "parameters": registry.parameter_count(registry.on_meta(net))}
    count = count_forward(module, input)
    return {
        **about,
        "parameters": registry.parameter_count(module),
        "multiply_adds": count.formula.matrix // 2,
        "activations": count.activations,
    }


def per_net_table(records: Sequence[Mapping[str, Any]], nets: Mapping[str, Mapping[str, Any]]) -> Table:
    """Returns the row of each net, device, number format and backend among the points of a sweep."""
    found: dict[tuple[str, ...], dict[str, Mapping[str, Any]]] = {}
    for record in records:
        point = record["point"]
        key = (point["net"], *(point[name] for name in _CONDITIONS))
        found.setdefault(key, {})[point["mode"]] = record
    unit = unit_of_records(records)
    modes = [mode for mode in MODES if any(mode in by_mode for by_mode in found.values())]
    columns = [
        Column("net", key="net"),
        *(Column(name, key=name, condition=True) for name in _CONDITIONS),
        Column("input", key="input", condition=True),
        Column("parameters", "M", key="parameters_m"),
        Column("multiply-adds", "G", key="multiply_adds_g"),
        Column("activations", "M", key="activations_m"),
    ]
    for mode in modes:
        columns += [
            Column(mode, f"{unit}/s", key=f"{mode}_samples_per_second"),
            Column("batch", key=f"{mode}_batch_size"),
            Column("verdict", key=f"{mode}_verdict"),
        ]
    table = Table("Nets", columns)
    for key, by_mode in found.items():
        about = nets[key[0]]
        counts = [_scaled(about["parameters"], 6), _scaled(about["multiply_adds"], 9)]
        row: list[Cell] = [*key, about["input"], *counts, _scaled(about["activations"], 6)]
        for mode in modes:
            row += _speed(by_mode.get(mode))
        table.rows.append(row)
    table.notes = [f"a multiply-add is two operations; multiply-adds and activations are of one {unit[:-1]}"]
    return table


def _speed(record: Mapping[str, Any] | None) -> list[Cell]:
    """Returns samples per second, batch and verdict of a point."""
    if record is None:
        return [None, None, ""]
    batch = record["point"]["batch_size"]
    if record["status"] != OK:
        return [None, batch, f"{record['status']}: {record['reason']}"]
    return [record["samples_per_second"], batch, record["pass_ms"]["verdict"]]


def _scaled(count: int | None, power: int) -> float | None:
    return None if count is None else count / 10**power
