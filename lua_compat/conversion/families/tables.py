"""Layers that take or return tables."""

from convnet_benchmarks.nets.modules.torch7 import CAddTable
from lua_compat.conversion.declared import declared_exports, declared_table
from lua_compat.conversion.reading import Conversion
from lua_compat.conversion.writing import Export
from lua_compat.torch_modules import tables

_DECLARED = (
    tables.JoinTable,
    tables.SplitTable,
    tables.SelectTable,
    tables.NarrowTable,
    tables.FlattenTable,
    tables.CAddTable,
    tables.CSubTable,
    tables.CMulTable,
    tables.CDivTable,
    tables.CMaxTable,
    tables.CMinTable,
    tables.CAddTensorTable,
    tables.ZipTable,
    tables.ZipTableOneToMany,
    tables.MixtureTable,
)

CONVERSIONS: dict[str, Conversion] = declared_table(*_DECLARED)

EXPORTS: dict[type, Export] = {
    **declared_exports(dict.fromkeys(_DECLARED)),
    CAddTable: lambda w, m: w.object("nn.CAddTable"),
}
