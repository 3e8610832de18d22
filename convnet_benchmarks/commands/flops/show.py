"""The tables of ``flops``."""

from collections.abc import Mapping, Sequence
from typing import Any

from convnet_benchmarks.commands.flops.counters import HardwareCount
from convnet_benchmarks.commands.flops.knee import Knee
from convnet_benchmarks.commands.flops.roofline import LayerPoint, Roofs
from convnet_benchmarks.commands.flops.slope import Slope
from convnet_benchmarks.tables import Column, Table
from convnet_benchmarks.timing.statistics import STABLE
from convnet_benchmarks.workload.operations.counting import Count
from convnet_benchmarks.workload.operations.formulas import Operations
from convnet_benchmarks.workload.ran import unit_of_records

_COUNTED = Column("flop_counter")
_MATRIX = Column("matrix product, by formula")
_DIFFERENCE = Column("difference")
_OTHER = Column("other, by formula")
_SHARE = Column("matrix share", "%", digits=6)


def count_tables(
    count: Count, phases: Mapping[str, tuple[int, Operations]] | None, net: str, batch: int
) -> list[Table]:
    """Returns the layers of a forward pass; in training the three phases, too."""
    columns = [Column("layer"), Column("kind"), Column("output"), _COUNTED, _MATRIX, _DIFFERENCE, _OTHER]
    table = Table(f"Operations of a forward pass: {net}, batch {batch}", columns)
    for layer in count.layers:
        matrix = layer.formula.matrix
        table.rows.append(
            [
                layer.path,
                layer.kind,
                "x".join(map(str, layer.output_shape)),
                layer.counted,
                matrix,
                layer.counted - matrix,
                layer.formula.other,
            ]
        )
    total = count.formula
    table.rows.append(
        ["total", "", "", count.counted, total.matrix, count.counted - total.matrix, total.other]
    )
    table.notes.append(f"matrix products are {_share(total):.4g} % of all {total.total:,} operations")
    table.notes.append(f"activations (outputs of matrix products): {count.activations:,} numbers")
    if count.unknown:
        called = ", ".join(f"{name} (called {times} times)" for name, times in count.unknown.items())
        table.notes.append(f"no formula for: {called}")
    return [table] if phases is None else [table, _phases_table(phases, net, batch)]


def _phases_table(phases: Mapping[str, tuple[int, Operations]], net: str, batch: int) -> Table:
    columns = [Column("phase"), _COUNTED, _MATRIX, _DIFFERENCE, _OTHER, _SHARE]
    table = Table(f"Operations of training: {net}, batch {batch}", columns)
    counted_in_all = sum(counted for counted, _ in phases.values())
    whole = counted_in_all, sum((formula for _, formula in phases.values()), Operations())
    for name, (counted, formula) in {**phases, "total": whole}.items():
        difference = counted - formula.matrix
        table.rows.append([name, counted, formula.matrix, difference, formula.other, _share(formula)])
    if any(counted != formula.matrix for counted, formula in phases.values()):
        table.notes.append("flop_counter ignores the groups of a convolution in the gradient of its weight")
    return table


def _share(operations: Operations) -> float:
    return 100 * operations.matrix / operations.total if operations.total else 0.0


def slope_tables(slope: Slope, net: str, batch: int, mode: str) -> list[Table]:
    """Returns the two tables of Levinthal's analysis: totals by the number of layers, and the slope test."""
    counted = [Column("", key="count")]
    counted += [Column(f"{p.repeats} layer{'s' * (p.repeats > 1)}") for p in slope.points]
    what = f"{net}, batch {batch}, {mode}, 1, 2 and 4 of {slope.path} ({slope.kind})"
    totals = Table(f"Operations: {what}", counted)
    totals.rows.append(["total fp_ops", *(point.total for point in slope.points)])
    totals.rows.append(["sgemm fp_ops", *(point.matrix for point in slope.points)])
    columns = [
        Column("layers"),
        Column("sgemm fp_ops"),
        Column("multiply-adds per sample", digits=12),
        Column("2 point slope", digits=12),
        Column("slope/expected value", digits=7, key="ratio"),
    ]
    test = Table(f"Slope test: expected {slope.expected:,} multiply-adds for each layer more", columns)
    for point in slope.points:
        test.rows.append([point.repeats, point.matrix, point.multiply_adds, point.slope, point.ratio])
    if mode == "training":
        test.notes.append("a multiply-add of training stands for three: output, input and weight gradient")
    return [totals, test]


def throughput_table(found: Sequence[Mapping[str, Any]], knee: Knee | None, what: str) -> Table:
    unit = unit_of_records(found)
    columns = [
        Column("batch"),
        Column(f"{unit}/s"),
        Column("of the largest", "%", digits=3),
        Column("pass", "ms"),
        Column("verdict"),
    ]
    table = Table(f"{unit.capitalize()} per second against batch: {what}", columns)
    largest = max((point.get("samples_per_second", 0.0) for point in found), default=0.0)
    for point in found:
        batch, throughput = point["point"]["batch_size"], point.get("samples_per_second")
        if throughput is None:
            table.rows.append([batch, None, None, None, point["status"]])
            continue
        statistics = point["pass_ms"]
        share = 100 * throughput / largest
        table.rows.append([batch, throughput, share, statistics["median"], statistics["verdict"]])
    if knee is not None:
        stable = all(row[-1] == STABLE for row in table.rows if row[1] is not None)
        table.notes.append(knee.text if stable else f"{knee.text}; uncertain: not all figures are stable")
    return table


def roofline_table(roofs: Roofs, points: Sequence[LayerPoint], what: str) -> Table:
    columns = [
        Column("layer"),
        Column("kind"),
        Column("time", "ms"),
        Column("of all", "%", digits=3),
        Column("operations"),
        Column("intensity", "operations/byte"),
        Column("achieved", "GFLOP/s"),
        Column("bound"),
        Column("of the roof", "%", digits=3),
    ]
    table = Table(f"Roofline: {what}", columns)
    total = sum(point.ms for point in points)
    for point in points:
        share = None if point.share_of_roof is None else 100 * point.share_of_roof
        table.rows.append(
            [
                point.path,
                point.kind,
                point.ms,
                100 * point.ms / total,
                point.operations,
                point.intensity,
                point.gflops,
                point.bound,
                share,
            ]
        )
    operations = sum(point.operations for point in points)
    table.rows.append(["all", "", total, 100.0, operations, None, operations / total / 1e6, "", None])
    table.notes = [
        f"roofs measured here: {roofs.gflops:.4g} GFLOP/s ({roofs.fastest}), {roofs.gbytes:.4g} GB/s "
        f"(the best of copy and triad); the ridge is at {roofs.ridge:.3g} operations/byte",
        "bytes: input, output and parameters once each, from main memory; a layer whose data stays in cache "
        "can exceed its memory roof",
    ]
    table.notes += _above_the_roof(points)
    return table


def _above_the_roof(points: Sequence[LayerPoint]) -> list[str]:
    """Returns what is to be said of layers that seem faster than the machine."""
    above = [point for point in points if (point.share_of_roof or 0.0) > 1.0]
    if not above:
        return []
    far = max(above, key=lambda point: point.share_of_roof or 0.0)
    return [
        f"above the roof: {', '.join(point.path for point in above)}; most of all {far.path}, with "
        f"{100 * (far.share_of_roof or 0.0):,.0f} %. No layer is faster than the machine: its data was in "
        "cache, or other programs ran while the roofs were measured, which are then too low; measure "
        "again on a quiet machine"
    ]


def counters_table(measured: Sequence[HardwareCount], slope: Slope, net: str, batch: int) -> Table:
    columns = [
        Column("layers"),
        Column("counted by the processor"),
        Column("by formula"),
        Column("counted/formula", digits=4),
        Column("2 point slope", digits=10),
        Column("slope/expected value", digits=7, key="ratio"),
        Column("slow-down by counting"),
    ]
    table = Table(f"Hardware counters: {net}, batch {batch}, inference, {slope.path} repeated", columns)
    for number, (count, point) in enumerate(zip(measured, slope.points, strict=False)):
        growth = None
        if number:
            last = measured[number - 1], slope.points[number - 1]
            growth = (count.operations - last[0].operations) / (point.repeats - last[1].repeats) / 2 / batch
        ratio = None if growth is None else growth / slope.expected
        table.rows.append(
            [
                point.repeats,
                count.operations,
                point.total,
                count.operations / point.total,
                growth,
                ratio,
                count.slow_down,
            ]
        )
    return table
