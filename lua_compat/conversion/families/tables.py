"""Layers that take or give tables."""

from typing import Any

from convnet_benchmarks.nets.modules.torch7 import CAddTable
from lua_compat.conversion.declared import declared_exports, declared_table
from lua_compat.conversion.reading import Conversion
from lua_compat.conversion.writing import Export, ModuleWriter
from lua_compat.torch_modules import tables

CONVERSIONS: dict[str, Conversion] = {
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
        tables.MixtureTable,
    ),
}


def _table_gradient(w: ModuleWriter, m: Any) -> dict[str, Any]:
    return {"gradInput": []}


def _table_both(w: ModuleWriter, m: Any) -> dict[str, Any]:
    return {"output": [], "gradInput": []}


EXPORTS: dict[type, Export] = {
    **declared_exports(
        {
            tables.JoinTable: lambda w, m: {"size": (), "gradInput": []},
            tables.SplitTable: None,
            tables.SelectTable: _table_gradient,
            tables.NarrowTable: _table_both,
            tables.FlattenTable: lambda w, m: {"output": [], "input_map": [], "gradInput": []},
            tables.CAddTable: _table_gradient,
            tables.CSubTable: _table_gradient,
            tables.CMulTable: _table_gradient,
            tables.CDivTable: _table_gradient,
            tables.CMaxTable: lambda w, m: {
                "gradInput": [],
                "maxIdx": w.empty(),
                "mask": w.empty(),
                "maxVals": w.empty(),
                "gradMaxVals": w.empty(),
            },
            tables.CMinTable: lambda w, m: {
                "gradInput": [],
                "minIdx": w.empty(),
                "mask": w.empty(),
                "minVals": w.empty(),
                "gradMaxVals": w.empty(),
            },
            tables.CAddTensorTable: _table_gradient,
            tables.ZipTable: _table_both,
            tables.ZipTableOneToMany: lambda w, m: {"output": [], "gradInput": [], "gradInputEl": w.empty()},
            tables.MixtureTable: lambda w, m: {
                "size": (),
                "size2": (),
                "batchSize": 0,
                "backwardSetup": False,
                "gradInput": [],
            },
        }
    ),
    CAddTable: lambda w, m: w.object("nn.CAddTable", gradInput=[]),
}
