"""Finds the conversion of a class, in both directions, in the tables of all families."""

from convnet_benchmarks.nets.programs import computes_as
from lua_compat.conversion.reading import Conversion
from lua_compat.conversion.writing import Export
from lua_compat.packages import modules_of

CONVERSIONS: dict[str, Conversion] = {}
EXPORTS: dict[type, Export] = {}
for _family in modules_of("lua_compat.conversion.families"):
    CONVERSIONS.update(_family.CONVERSIONS)
    EXPORTS.update(_family.EXPORTS)


def find_conversion(typename: str) -> Conversion | None:
    """Returns the conversion of a class, or None; cudnn's classes have nn's fields and fall back on nn's
    entry."""
    return CONVERSIONS.get(typename) or CONVERSIONS.get(typename.replace("cudnn.", "nn.", 1))


def find_export(kind: type) -> Export | None:
    """Returns the export of a class, or of a base class as which it computes; None if there is none."""
    return next((EXPORTS[base] for base in kind.__mro__ if base in EXPORTS and computes_as(kind, base)), None)
