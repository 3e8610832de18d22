"""Reductions of one dimension to its sum, mean, largest or smallest element."""

from lua_compat.conversion.declared import declared_exports, declared_table
from lua_compat.conversion.reading import Conversion
from lua_compat.conversion.writing import Export
from lua_compat.torch_modules import reduce

CONVERSIONS: dict[str, Conversion] = {
    **declared_table(
        reduce.Max,
        reduce.Min,
        reduce.Sum,
        reduce.Mean,
    ),
}


EXPORTS: dict[type, Export] = {
    **declared_exports(
        {
            reduce.Max: None,
            reduce.Min: None,
            reduce.Sum: None,
            reduce.Mean: None,
        }
    ),
}
