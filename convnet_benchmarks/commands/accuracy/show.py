"""The tables of ``accuracy``."""

from collections.abc import Sequence

from convnet_benchmarks.commands.accuracy.agreement import Agreement
from convnet_benchmarks.tables import Cell, Column, Table

_DIGITS = 8  # as in the table of MXNet with and without MKL-DNN
_NAMED = 5


def accuracy_table(net: str, source: str, parameters: int, found: Sequence[Agreement]) -> Table:
    """Returns one row: top 1 and top 5 of every backend, and their differences from the first one's."""
    reference, *others = found
    columns = [Column("Alias"), Column("Network"), Column("# Parameters")]
    row: list[Cell] = [net, source, parameters]
    for variant in found:
        columns += [Column(f"{variant.name} {top}", digits=_DIGITS) for top in ("top1", "top5")]
        row += [variant.top1, variant.top5]
    for variant in others:
        columns += [Column(f"delta {variant.name} {top}", digits=_DIGITS) for top in ("top1", "top5")]
        row += [variant.top1 - reference.top1, variant.top5 - reference.top5]
    return Table("Accuracy", columns, [row])


def agreement_table(found: Sequence[Agreement], names: Sequence[str], examples: int) -> Table:
    """Returns one row for each backend but the first: how its answers differ from the first one's."""
    reference, *others = found
    columns = [
        Column("backend"),
        Column("examples"),
        Column("other prediction"),
        Column("largest difference of an output", digits=3),
        Column("of the largest output", digits=3),
        Column("which"),
    ]
    table = Table(f"Example by example, against {reference.name}", columns)
    for variant in others:
        which = [names[position] for position in variant.differing[:_NAMED]]
        if len(variant.differing) > _NAMED:
            which.append("...")
        relative = variant.largest_difference / variant.largest_output if variant.largest_output else None
        table.rows.append(
            [
                variant.name,
                examples,
                len(variant.differing),
                variant.largest_difference,
                relative,
                ", ".join(which),
            ]
        )
    return table
