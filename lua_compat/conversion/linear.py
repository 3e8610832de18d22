"""Layers with a parameter for each feature, dropout, and layers that only act on gradients."""

from torch import nn

from lua_compat.conversion.declared import declared_table
from lua_compat.conversion.fields import Fields
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


CONVERSIONS = {
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
