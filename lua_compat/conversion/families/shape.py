"""Views and selections of one tensor."""

import math
from typing import Any

import torch
from torch import nn

from convnet_benchmarks.nets.modules.torch7 import View
from lua_compat import t7
from lua_compat.conversion.declared import declared_exports, declared_table
from lua_compat.conversion.reading import Conversion, Fields
from lua_compat.conversion.writing import Export, ModuleWriter
from lua_compat.torch_modules import shape


def _view(f: Fields) -> nn.Module:
    dims = f.get("numInputDims")
    return View(*f.plain("size"), num_input_dims=None if dims is None else f.integer("numInputDims"))


CONVERSIONS: dict[str, Conversion] = {
    **declared_table(
        shape.Reshape,
        shape.Collapse,
        shape.Contiguous,
        shape.Narrow,
        shape.Select,
        shape.Transpose,
        shape.Unsqueeze,
        shape.Squeeze,
        shape.Replicate,
        shape.Index,
        shape.MaskedSelect,
    ),
    "nn.View": _view,
    "nn.OneHot": lambda f: shape.OneHot(
        outputSize=f.integer("outputSize"), like=torch.empty(0, dtype=f.dtype)
    ),
}


def _view_export(w: ModuleWriter, m: View) -> t7.TorchObject:
    return w.object("nn.View", size=tuple(m.sizes), numElements=m.num_elements, numInputDims=m.num_input_dims)


def _flatten_export(w: ModuleWriter, m: Any) -> t7.TorchObject:
    w.require((m.start_dim, m.end_dim) == (1, -1), "only all dimensions after the first can be flattened")
    return w.object("nn.Collapse", nInputDim=1)


def _unflatten_export(w: ModuleWriter, m: Any) -> t7.TorchObject:
    sizes = m.unflattened_size
    w.require(
        m.dim == 1 and all(isinstance(size, int) for size in sizes), "only dimension 1 can be unflattened"
    )
    return w.object("nn.View", size=tuple(sizes), numElements=abs(math.prod(sizes)), numInputDims=1)


EXPORTS: dict[type, Export] = {
    **declared_exports(
        {
            shape.Reshape: lambda w, m: {
                "nelement": math.prod(m.size),
                "batchsize": (0, *m.size),
            },
            shape.Collapse: None,
            shape.Contiguous: None,
            shape.Narrow: None,
            shape.Select: None,
            shape.Transpose: None,
            shape.Unsqueeze: None,
            shape.Squeeze: None,
            shape.Replicate: None,
            shape.Index: lambda w, m: {"gradInput": t7.LuaTable.from_list([w.empty(), w.empty()])},
            shape.MaskedSelect: None,
        }
    ),
    View: _view_export,
    nn.Flatten: _flatten_export,
    nn.Unflatten: _unflatten_export,
    shape.OneHot: lambda w, m: w.object("nn.OneHot", outputSize=m.outputSize),
}
