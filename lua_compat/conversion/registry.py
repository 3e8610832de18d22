"""Which class is converted how, in both directions: the tables of all families in one."""

from lua_compat.conversion import (
    containers,
    convolution,
    graph,
    linear,
    normalisation,
    pooling,
    shapes,
    tables,
    transfer,
)
from lua_compat.conversion.reading import Conversion
from lua_compat.conversion.writing import Export

CONVERSIONS: dict[str, Conversion] = {
    **containers.CONVERSIONS,
    **convolution.CONVERSIONS,
    **graph.CONVERSIONS,
    **linear.CONVERSIONS,
    **normalisation.CONVERSIONS,
    **pooling.CONVERSIONS,
    **shapes.CONVERSIONS,
    **tables.CONVERSIONS,
    **transfer.CONVERSIONS,
}


def find_conversion(typename: str) -> Conversion | None:
    """cudnn's classes have nn's fields: one without an entry of its own is converted as nn's of that name."""
    return CONVERSIONS.get(typename) or CONVERSIONS.get(typename.replace("cudnn.", "nn.", 1))


EXPORTS: dict[type, Export] = {
    **containers.EXPORTS,
    **convolution.EXPORTS,
    **graph.EXPORTS,
    **linear.EXPORTS,
    **normalisation.EXPORTS,
    **pooling.EXPORTS,
    **shapes.EXPORTS,
    **tables.EXPORTS,
    **transfer.EXPORTS,
}


def find_export(kind: type) -> Export | None:
    """That of the class, or of a base whose forward it has."""
    for base in kind.__mro__:
        if base in EXPORTS and getattr(kind, "forward", None) is getattr(base, "forward", None):
            return EXPORTS[base]
    return None
