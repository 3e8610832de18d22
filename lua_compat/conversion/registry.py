"""Which Torch7 class is converted how: the tables of all families in one."""

from collections.abc import Callable

from torch import nn

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
from lua_compat.conversion.fields import Fields

Conversion = Callable[[Fields], nn.Module]

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
