"""Modules made of modules."""

from typing import Any

from torch import nn

from convnet_benchmarks.nets.modules.torch7 import Concat, ConcatTable
from lua_compat import t7
from lua_compat.conversion.reading import Conversion, Fields
from lua_compat.conversion.writing import Export, ModuleWriter
from lua_compat.torch_modules import containers


def _concat(f: Fields) -> nn.Module:
    branches = f.children()
    kind = containers.SharedConcat if containers.share_input(*branches) else Concat
    return kind(f.integer("dimension") - 1, *branches)


def _concat_table(f: Fields) -> nn.Module:
    children = f.children()
    return (
        containers.SharedConcatTable(children) if containers.share_input(*children) else ConcatTable(children)
    )


def _depth_concat(f: Fields) -> nn.Module:
    branches = f.children()
    return containers.DepthConcat(branches, f.integer("dimension"), containers.share_input(*branches))


def _map_table(f: Fields) -> nn.Module:
    if not f.boolean("shared"):
        f.fail("clones with parameters of their own (shared = false) are not supported")
    return containers.MapTable([f.child("module")])


def _parallel(f: Fields) -> nn.Module:
    return containers.Parallel(f.children(), f.integer("inputDimension"), f.integer("outputDimension"))


CONVERSIONS: dict[str, Conversion] = {
    "nn.Sequential": lambda f: nn.Sequential(*f.children()),
    "nn.Concat": _concat,
    "nn.DepthConcat": _depth_concat,
    "nn.ConcatTable": _concat_table,
    "nn.ParallelTable": lambda f: containers.ParallelTable(f.children()),
    "nn.Parallel": _parallel,
    "nn.MapTable": _map_table,
    "nn.DataParallelTable": lambda f: f.convert(f.module_field("modules", 1), ".modules[1]"),
}


def _container(typename: str, **fields: Any) -> Export:
    def export(w: ModuleWriter, m: Any) -> t7.TorchObject:
        return w.object(typename, modules=w.children(m), **fields)

    return export


def _concat_export(w: ModuleWriter, m: Concat) -> t7.TorchObject:
    """Converts a dimension counted from the end, for inputs with a batch dimension, as images have."""
    dimension = m.dim + 1 if m.dim >= 0 else {-3: 2, -1: 2}.get(m.dim)
    w.require(dimension is not None, f"dim={m.dim} cannot be counted from the front")
    return w.object("nn.Concat", modules=w.children(m.branches), dimension=dimension)


def _parallel_export(w: ModuleWriter, m: containers.Parallel) -> t7.TorchObject:
    return w.object(
        "nn.Parallel",
        modules=w.children(m),
        inputDimension=m.inputDimension,
        outputDimension=m.outputDimension,
    )


def _depth_concat_export(w: ModuleWriter, m: containers.DepthConcat) -> t7.TorchObject:
    return w.object("nn.DepthConcat", modules=w.children(m), dimension=m.dimension)


def _map_table_export(w: ModuleWriter, m: containers.MapTable) -> t7.TorchObject:
    modules = w.children(m)
    return w.object(
        "nn.MapTable",
        module=modules[1],
        modules=modules,
        shared=True,
        sharedparams=["weight", "bias", "gradWeight", "gradBias"],
        output=[],
        gradInput=[],
    )


EXPORTS: dict[type, Export] = {
    nn.Sequential: _container("nn.Sequential"),
    ConcatTable: _container("nn.ConcatTable", output=[]),
    containers.SharedConcatTable: _container("nn.ConcatTable", output=[]),
    containers.ParallelTable: _container("nn.ParallelTable", output=[], gradInput=[]),
    Concat: _concat_export,
    containers.SharedConcat: _concat_export,
    containers.DepthConcat: _depth_concat_export,
    containers.Parallel: _parallel_export,
    containers.MapTable: _map_table_export,
}
