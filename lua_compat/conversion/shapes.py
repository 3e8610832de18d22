"""Views, selections and reductions of one tensor."""

import torch
from torch import nn

from lua_compat.conversion.declared import declared_table
from lua_compat.conversion.fields import Fields
from lua_compat.torch_modules import shapes
from nets.layers import View


def _view(f: Fields) -> nn.Module:
    dims = f.get("numInputDims")
    return View(*f.plain("size"), num_input_dims=None if dims is None else f.integer("numInputDims"))


CONVERSIONS = {
    **declared_table(
        shapes.Reshape,
        shapes.Collapse,
        shapes.Contiguous,
        shapes.Narrow,
        shapes.Select,
        shapes.Transpose,
        shapes.Unsqueeze,
        shapes.Squeeze,
        shapes.Replicate,
        shapes.Padding,
        shapes.Max,
        shapes.Min,
        shapes.Sum,
        shapes.Mean,
        shapes.Index,
        shapes.MaskedSelect,
        shapes.Constant,
    ),
    "nn.View": _view,
    "nn.Copy": lambda f: shapes.Copy(like=f.tensor("output")[:0]),
    "nn.OneHot": lambda f: shapes.OneHot(
        outputSize=f.integer("outputSize"), like=torch.empty(0, dtype=f.dtype)
    ),
}
