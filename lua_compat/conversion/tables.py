"""Layers that take or give tables."""

from lua_compat.conversion.declared import declared_table
from lua_compat.torch_modules import tables

CONVERSIONS = {
    **declared_table(
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
        tables.MM,
        tables.MV,
        tables.DotProduct,
        tables.CosineDistance,
        tables.PairwiseDistance,
        tables.MixtureTable,
    ),
}
