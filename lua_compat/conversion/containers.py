"""Modules made of modules."""

import math
from typing import Any

import torch
from torch import nn

from lua_compat import t7
from lua_compat.conversion.reading import Conversion, Fields
from lua_compat.conversion.writing import Export, ModuleWriter
from lua_compat.torch_modules import containers
from nets.modules.torch7 import Concat, ConcatTable


def _sequential(f: Fields) -> nn.Module:
    return nn.Sequential(*f.children())


def _concat(f: Fields) -> nn.Module:
    return Concat(f.integer("dimension") - 1, *f.children())


def _map_table(f: Fields) -> nn.Module:
    if not f.boolean("shared", True):
        f.fail("clones with parameters of their own (shared = false) are not supported")
    return containers.MapTable([f.child("module")])


def _parallel(f: Fields) -> nn.Module:
    return containers.Parallel(f.children(), f.integer("inputDimension"), f.integer("outputDimension"))


def _bottle(f: Fields) -> nn.Module:
    inner = f.integer("nInputDim", 2)
    return containers.Bottle(
        module=f.only_child(), nInputDim=inner, nOutputDim=f.integer("nOutputDim", inner)
    )


def _weight_norm(f: Fields) -> nn.Module:
    """The child is written without its weight, which follows from g and v; weightSize tells its shape."""
    g, v = f.parameter("g"), f.parameter("v")
    source = f.module_field("modules", 1)
    if source.get("weight") is None:
        size = f.plain("weightSize")
        if not isinstance(size, tuple) or math.prod(size) != v.numel():
            f.fail(f"field weightSize is {size}, but v has {v.numel()} elements")
        source = t7.TorchObject(source.typename, source.version, t7.LuaTable(source.fields))
        source["weight"] = t7.Tensor.from_numpy(torch.zeros(size, dtype=v.dtype).numpy())
    child = f.convert(source, ".modules[1]")
    child.get_parameter("weight").requires_grad_(False)
    return containers.WeightNorm(child=child, v=v, g=g, outputDim=f.integer("outputDim", 1))


CONVERSIONS: dict[str, Conversion] = {
    "nn.Sequential": _sequential,
    "nn.Maxout": _sequential,
    "nn.LayerNormalization": _sequential,
    "nn.SpatialLPPooling": _sequential,
    "nn.Concat": _concat,
    "nn.DepthConcat": lambda f: containers.DepthConcat(f.children(), f.integer("dimension")),
    "nn.ConcatTable": lambda f: ConcatTable(f.children()),
    "nn.ParallelTable": lambda f: containers.ParallelTable(f.children()),
    "nn.Parallel": _parallel,
    "nn.MapTable": _map_table,
    "nn.Bottle": _bottle,
    "nn.WeightNorm": _weight_norm,
    # What only places, watches or guards its child computes what the child does.
    "nn.GPU": lambda f: f.only_child(),
    "nn.DataParallelTable": lambda f: f.convert(f.module_field("modules", 1), ".modules[1]"),
    "nn.DontCast": lambda f: f.only_child(),
    "nn.Decorator": lambda f: f.only_child(),
    "nn.NaN": lambda f: f.only_child(),
    "nn.Profile": lambda f: f.only_child(),
}


def _container(typename: str, **fields: Any) -> Export:
    def export(w: ModuleWriter, m: Any) -> t7.TorchObject:
        return w.object(typename, modules=w.children(m), **fields)

    return export


def _concat_export(w: ModuleWriter, m: Concat) -> t7.TorchObject:
    """A dimension counted from the end is Torch7's only for inputs with a batch dimension, as images are."""
    dimension = m.dim + 1 if m.dim >= 0 else {-3: 2, -1: 2}.get(m.dim)
    w.require(dimension is not None, f"dim={m.dim} cannot be counted from the front")
    return w.object("nn.Concat", modules=w.children(m.branches), dimension=dimension, outputSize=())


def _parallel_export(w: ModuleWriter, m: containers.Parallel) -> t7.TorchObject:
    return w.object(
        "nn.Parallel",
        modules=w.children(m),
        inputDimension=m.inputDimension,
        outputDimension=m.outputDimension,
    )


def _depth_concat_export(w: ModuleWriter, m: containers.DepthConcat) -> t7.TorchObject:
    return w.object("nn.DepthConcat", modules=w.children(m), dimension=m.dimension, outputSize=())


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


def _bottle_export(w: ModuleWriter, m: containers.Bottle) -> t7.TorchObject:
    return w.object(
        "nn.Bottle",
        modules=w.children([m.module]),
        nInputDim=m.nInputDim,
        nOutputDim=m.nOutputDim,
        dimDelta=m.nInputDim - m.nOutputDim,
        inShape=w.buffer(m.nInputDim),
        outShape=w.buffer(m.nOutputDim),
    )


def _weight_norm_export(w: ModuleWriter, m: containers.WeightNorm) -> t7.TorchObject:
    """nn.WeightNorm's file holds its child without weights, which Torch7 computes when it loads it."""
    child = w.child(m.child, ".modules[1]")
    size = child["weight"].size
    for name in ("weight", "gradWeight"):
        child[name] = None
    rows, rest = m.v.shape
    first = m.outputDim - 1
    return w.object(
        "nn.WeightNorm",
        modules=t7.LuaTable.from_list([child]),
        bias=child.get("bias"),
        gradBias=child.get("gradBias"),
        outputDim=m.outputDim,
        otherDims=rest,
        viewIn=(rows, rest),
        viewOut=(size[first], *size[:first], *size[first + 1 :]),
        weightSize=tuple(size),
        v=m.v,
        g=m.g,
        _norm=w.buffer(rows),
        _scale=w.buffer(rows),
    )


EXPORTS: dict[type, Export] = {
    nn.Sequential: _container("nn.Sequential"),
    ConcatTable: _container("nn.ConcatTable", output=[]),
    containers.ParallelTable: _container("nn.ParallelTable", output=[], gradInput=[]),
    Concat: _concat_export,
    containers.DepthConcat: _depth_concat_export,
    containers.Parallel: _parallel_export,
    containers.MapTable: _map_table_export,
    containers.Bottle: _bottle_export,
    containers.WeightNorm: _weight_norm_export,
}
