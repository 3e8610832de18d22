"""Modules around one module."""

import math

import torch
from torch import nn

from lua_compat import t7
from lua_compat.conversion.reading import Conversion, Fields
from lua_compat.conversion.writing import Export, ModuleWriter
from lua_compat.torch_modules import decorators


def _bottle(f: Fields) -> nn.Module:
    return decorators.Bottle(
        module=f.only_child(), nInputDim=f.integer("nInputDim"), nOutputDim=f.integer("nOutputDim")
    )


def _weight_norm(f: Fields) -> nn.Module:
    """The child is stored without its weight, which follows from g and v; weightSize is its shape."""
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
    return decorators.WeightNorm(child=child, v=v, g=g, outputDim=f.integer("outputDim"))


CONVERSIONS: dict[str, Conversion] = {
    "nn.Bottle": _bottle,
    "nn.WeightNorm": _weight_norm,
    # Decorators that only place, watch or guard their child are replaced by it.
    "nn.GPU": lambda f: f.only_child(),
    "nn.DontCast": lambda f: f.only_child(),
    "nn.Decorator": lambda f: f.only_child(),
    "nn.NaN": lambda f: f.only_child(),
    "nn.Profile": lambda f: f.only_child(),
}


def _bottle_export(w: ModuleWriter, m: decorators.Bottle) -> t7.TorchObject:
    return w.object(
        "nn.Bottle",
        modules=w.children([m.module]),
        nInputDim=m.nInputDim,
        nOutputDim=m.nOutputDim,
        dimDelta=m.nInputDim - m.nOutputDim,
        inShape=w.buffer(m.nInputDim),
        outShape=w.buffer(m.nOutputDim),
    )


def _weight_norm_export(w: ModuleWriter, m: decorators.WeightNorm) -> t7.TorchObject:
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
    decorators.Bottle: _bottle_export,
    decorators.WeightNorm: _weight_norm_export,
}
