"""Layers with a parameter for each feature, dropout, and layers that only act on gradients."""

from typing import Any

from torch import nn

from lua_compat import t7
from lua_compat.conversion.declared import declared_exports, declared_table
from lua_compat.conversion.reading import Conversion, Fields
from lua_compat.conversion.writing import Export, ModuleWriter
from lua_compat.torch_modules import linear


def _linear(f: Fields) -> nn.Module:
    weight, bias = f.parameter("weight"), f.optional_parameter("bias")
    module = nn.Linear(weight.shape[1], weight.shape[0], bias is not None, device="meta")
    module.weight = weight
    module.register_parameter("bias", bias)
    return module


def _lookup_table(f: Fields) -> nn.Module:
    weight = f.parameter("weight")
    padding = f.integer("paddingValue", 0)
    max_norm = f.get("maxNorm")
    module = linear.LookupTable(
        weight.shape[0],
        weight.shape[1],
        padding_idx=padding - 1 if padding > 0 else None,
        max_norm=None if max_norm is None else f.number("maxNorm"),
        norm_type=f.number("normType", 2),
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


def _gradient_reversal(f: Fields) -> nn.Module:
    return linear.GradientReversal(factor=1 if f.version < 2 else f.number("lambda", 1))


def _dropout(f: Fields) -> nn.Module:
    if f.boolean("v2", False) and not f.boolean("stochastic_inference"):
        return nn.Dropout(f.number("p"), f.boolean("inplace"))
    return linear.Dropout(
        p=f.number("p"),
        v2=f.boolean("v2", False),
        inplace=f.boolean("inplace"),
        stochastic_inference=f.boolean("stochastic_inference"),
    )


CONVERSIONS: dict[str, Conversion] = {
    **declared_table(
        linear.Add,
        linear.CAdd,
        linear.Mul,
        linear.CMul,
        linear.Bilinear,
        linear.Cosine,
        linear.Euclidean,
        linear.WeightedEuclidean,
        linear.LinearWeightNorm,
        linear.L1Penalty,
        linear.ZeroGrad,
        linear.SpatialDropout,
        linear.VolumetricDropout,
        linear.WhiteNoise,
    ),
    "nn.Linear": _linear,
    "nn.Dropout": _dropout,
    "nn.PartialLinear": _partial_linear,
    "nn.LookupTable": _lookup_table,
    "nn.GradientReversal": _gradient_reversal,
    "nn.Identity": lambda f: nn.Identity(),
    "nn.PrintSize": lambda f: nn.Identity(),
}


def _linear_export(w: ModuleWriter, m: Any) -> t7.TorchObject:
    return w.object("nn.Linear", weight=m.weight, bias=m.bias)


def _bilinear_export(w: ModuleWriter, m: Any) -> t7.TorchObject:
    pair = t7.LuaTable.from_list([w.empty(), w.empty()])
    return w.object("nn.Bilinear", weight=m.weight, bias=m.bias, gradInput=pair)


def _lookup_table_export(w: ModuleWriter, m: Any) -> t7.TorchObject:
    w.require(not m.sparse, "sparse gradients have no counterpart")
    return w.object(
        "nn.LookupTable",
        weight=m.weight,
        paddingValue=0 if m.padding_idx is None else m.padding_idx + 1,
        maxNorm=m.max_norm,
        normType=None if m.max_norm is None else m.norm_type,
        shouldScaleGradByFreq=m.scale_grad_by_freq,
        _count=w.empty_of("torch.IntTensor"),
        _input=w.empty_of("torch.LongTensor"),
    )


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


def _dropout_export(w: ModuleWriter, m: Any) -> t7.TorchObject:
    return w.object(
        "nn.Dropout", p=m.p, v2=True, inplace=m.inplace, stochastic_inference=False, noise=w.empty()
    )


def _plane_dropout_export(typename: str) -> Export:
    """torch.nn scales what it keeps when training, Torch7 everything when evaluating: a factor makes up."""

    def export(w: ModuleWriter, m: Any) -> t7.TorchObject:
        drop = w.object(typename, p=m.p, stochastic_inference=False, noise=w.empty())
        factor = w.object("nn.MulConstant", constant_scalar=1 / (1 - m.p), inplace=False)
        return w.object("nn.Sequential", modules=[drop, factor])

    return export


def _noise(w: ModuleWriter, m: Any) -> dict[str, Any]:
    return {"noise": w.empty()}


EXPORTS: dict[type, Export] = {
    **declared_exports(
        {
            linear.Add: lambda w, m: {"_ones": w.buffer(1)},
            linear.CAdd: lambda w, m: {"size": tuple(m.bias.shape)},
            linear.Mul: None,
            linear.CMul: lambda w, m: {"size": tuple(m.weight.shape)},
            linear.Cosine: None,
            linear.Euclidean: lambda w, m: {"fastBackward": True},
            linear.WeightedEuclidean: lambda w, m: {"fastBackward": True},
            linear.L1Penalty: None,
            linear.ZeroGrad: None,
            linear.Dropout: _noise,
            linear.SpatialDropout: _noise,
            linear.VolumetricDropout: _noise,
            linear.WhiteNoise: _noise,
        }
    ),
    nn.Identity: lambda w, m: w.object("nn.Identity"),
    nn.Linear: _linear_export,
    linear.Bilinear: _bilinear_export,
    linear.LookupTable: _lookup_table_export,
    linear.LinearWeightNorm: _linear_weight_norm_export,
    linear.PartialLinear: _partial_linear_export,
    linear.GradientReversal: lambda w, m: w.object("nn.GradientReversal", **{"lambda": m.factor}),
    nn.Dropout: _dropout_export,
    nn.Dropout2d: _plane_dropout_export("nn.SpatialDropout"),
    nn.Dropout3d: _plane_dropout_export("nn.VolumetricDropout"),
}
