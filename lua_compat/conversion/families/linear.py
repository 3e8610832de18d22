"""Layers with a weight for each pair of features."""

from typing import Any

from torch import nn

from lua_compat import t7
from lua_compat.conversion.declared import declared_table
from lua_compat.conversion.reading import Conversion, Fields
from lua_compat.conversion.writing import Export, ModuleWriter
from lua_compat.torch_modules import linear


def convert_linear(f: Fields) -> nn.Module:
    weight, bias = f.parameter("weight"), f.optional_parameter("bias")
    module = nn.Linear(weight.shape[1], weight.shape[0], bias is not None, device="meta")
    module.weight = weight
    module.register_parameter("bias", bias)
    return module


def _lookup_table(f: Fields) -> nn.Module:
    weight = f.parameter("weight")
    padding = f.integer("paddingValue")
    max_norm = f.get("maxNorm")
    module = linear.LookupTable(
        weight.shape[0],
        weight.shape[1],
        padding_idx=padding - 1 if padding > 0 else None,
        max_norm=None if max_norm is None else f.number("maxNorm"),
        norm_type=f.number("normType"),
        scale_grad_by_freq=f.boolean("shouldScaleGradByFreq"),
        device="meta",
    )
    module.weight = weight
    return module


def _partial_linear(f: Fields) -> nn.Module:
    network = f.get("network")
    table = f.convert(network["modules"][1]["modules"][2], ".network.modules[1].modules[2]")
    return linear.PartialLinear(
        weight=table.get_parameter("weight"),
        bias=f.optional_parameter("bias"),
        partition=f.tensor("partition"),
    )


CONVERSIONS: dict[str, Conversion] = {
    **declared_table(
        linear.LinearWeightNorm,
    ),
    "nn.Maxout": lambda f: nn.Sequential(*f.children()),
    "nn.Linear": convert_linear,
    "nn.PartialLinear": _partial_linear,
    "nn.LookupTable": _lookup_table,
}


def _linear_export(w: ModuleWriter, m: Any) -> t7.TorchObject:
    return w.object("nn.Linear", weight=m.weight, bias=m.bias)


def lookup_table_fields(w: ModuleWriter, m: Any) -> dict[str, Any]:
    """Returns what nn.LookupTable and the classes derived from it need, of an nn.Embedding."""
    w.require(not m.sparse, "sparse gradients have no counterpart")
    return {
        "weight": m.weight,
        "paddingValue": 0 if m.padding_idx is None else m.padding_idx + 1,
        "maxNorm": m.max_norm,
        "normType": None if m.max_norm is None else m.norm_type,
        "shouldScaleGradByFreq": m.scale_grad_by_freq,
        "_count": w.empty_of("torch.IntTensor"),
        "_input": w.empty_of("torch.LongTensor"),
    }


def _lookup_table_export(w: ModuleWriter, m: Any) -> t7.TorchObject:
    return w.object("nn.LookupTable", **lookup_table_fields(w, m))


def _linear_weight_norm_export(w: ModuleWriter, m: linear.LinearWeightNorm) -> t7.TorchObject:
    outputs, inputs = m.v.shape
    return w.object(
        "nn.LinearWeightNorm",
        v=m.v,
        g=m.g,
        bias=m.bias,
        weight=w.buffer(outputs, inputs),
        norm=w.buffer(outputs, 1),
        scale=w.buffer(outputs, 1),
        eps=m.eps,
        inputSize=inputs,
        outputSize=outputs,
    )


def _partial_linear_export(w: ModuleWriter, m: linear.PartialLinear) -> t7.TorchObject:
    """nn.PartialLinear multiplies with the rows that a LookupTable of its own picks."""
    outputs, inputs = m.weight.shape
    table = w.object(
        "nn.LookupTable",
        weight=m.weight,
        paddingValue=0,
        shouldScaleGradByFreq=False,
        _count=w.empty_of("torch.IntTensor"),
        _input=w.empty_of("torch.LongTensor"),
    )
    both = w.object("nn.ParallelTable", modules=[w.object("nn.Identity"), table], output=[], gradInput=[])
    pair = t7.LuaTable.from_list([w.empty(), w.empty()])
    product = w.object("nn.MM", transA=False, transB=True, gradInput=pair)
    return w.object(
        "nn.PartialLinear",
        network=w.object("nn.Sequential", modules=[both, product]),
        bias=m.bias,
        inputsize=inputs,
        outputsize=outputs,
        allcolumns=m.partition.new_ones(outputs).cumsum(0),
        partition=m.partition,
    )


EXPORTS: dict[type, Export] = {
    nn.Linear: _linear_export,
    linear.LookupTable: _lookup_table_export,
    linear.LinearWeightNorm: _linear_weight_norm_export,
    linear.PartialLinear: _partial_linear_export,
}
