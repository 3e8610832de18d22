"""Modules made of modules."""

import torch
from torch import nn

from lua_compat.conversion.fields import Fields
from lua_compat.torch_modules import containers
from nets.layers import Concat


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
    source = f.get("modules")[1]
    size = f.plain("weightSize")
    if source.get("weight") is None:
        from lua_compat.t7 import Tensor

        source = type(source)(source.typename, source.version, type(source.fields)(source.fields.items()))
        source["weight"] = Tensor.from_numpy(torch.zeros(size, dtype=f.dtype).numpy())
    child = f.convert(source, ".modules[1]")
    g, v = f.parameter("g"), f.parameter("v")
    child.get_parameter("weight").requires_grad_(False)
    return containers.WeightNorm(child=child, v=v, g=g, outputDim=f.integer("outputDim", 1))


CONVERSIONS = {
    "nn.Sequential": _sequential,
    "nn.Maxout": _sequential,
    "nn.LayerNormalization": _sequential,
    "nn.SpatialLPPooling": _sequential,
    "nn.Concat": _concat,
    "nn.DepthConcat": lambda f: containers.DepthConcat(f.children(), f.integer("dimension")),
    "nn.ConcatTable": lambda f: containers.ConcatTable(f.children()),
    "nn.ParallelTable": lambda f: containers.ParallelTable(f.children()),
    "nn.Parallel": _parallel,
    "nn.MapTable": _map_table,
    "nn.Bottle": _bottle,
    "nn.WeightNorm": _weight_norm,
    # What only places, watches or guards its child computes what the child does.
    "nn.GPU": lambda f: f.only_child(),
    "nn.DataParallelTable": lambda f: f.convert(f.get("modules")[1], ".modules[1]"),
    "nn.DontCast": lambda f: f.only_child(),
    "nn.Decorator": lambda f: f.only_child(),
    "nn.NaN": lambda f: f.only_child(),
    "nn.Profile": lambda f: f.only_child(),
}
