"""Functions of each element, and the softmaxes."""

from torch import nn

from lua_compat.conversion.declared import declared_table
from lua_compat.conversion.fields import Fields
from lua_compat.torch_modules import transfer


def _hard_tanh(f: Fields) -> nn.Module:
    return nn.Hardtanh(f.number("min_val", -1), f.number("max_val", 1), f.boolean("inplace"))


def _prelu(f: Fields) -> nn.Module:
    weight = f.parameter("weight")
    module = transfer.PReLU(weight.numel())
    module.weight = weight
    return module


CONVERSIONS = {
    **declared_table(
        transfer.Abs,
        transfer.Exp,
        transfer.Log,
        transfer.Square,
        transfer.Sqrt,
        transfer.Power,
        transfer.AddConstant,
        transfer.MulConstant,
        transfer.TanhShrink,
        transfer.CReLU,
        transfer.GatedLinearUnit,
    ),
    "nn.Tanh": lambda f: nn.Tanh(),
    "nn.Sigmoid": lambda f: nn.Sigmoid(),
    "nn.LogSigmoid": lambda f: nn.LogSigmoid(),
    "nn.SoftSign": lambda f: nn.Softsign(),
    "nn.ReLU": lambda f: nn.ReLU(f.boolean("inplace")),
    "nn.ReLU6": lambda f: nn.ReLU6(f.boolean("inplace")),
    "nn.Threshold": lambda f: nn.Threshold(f.number("threshold"), f.number("val"), f.boolean("inplace")),
    "nn.HardTanh": _hard_tanh,
    "nn.Clamp": _hard_tanh,
    "cudnn.ClippedReLU": lambda f: nn.Hardtanh(0, f.number("ceiling"), f.boolean("inplace")),
    "nn.ELU": lambda f: nn.ELU(f.number("alpha", 1), f.boolean("inplace")),
    "nn.LeakyReLU": lambda f: nn.LeakyReLU(f.number("negval", 0.01), f.boolean("inplace")),
    "nn.RReLU": lambda f: nn.RReLU(f.number("lower"), f.number("upper"), f.boolean("inplace")),
    "nn.PReLU": _prelu,
    "nn.SoftPlus": lambda f: nn.Softplus(f.number("beta", 1), f.number("threshold", 20)),
    "nn.HardShrink": lambda f: nn.Hardshrink(f.number("lambda", 0.5)),
    "nn.SoftShrink": lambda f: nn.Softshrink(f.number("lambda", 0.5)),
    "nn.SoftMax": lambda f: transfer.SoftMax(),
    "nn.SpatialSoftMax": lambda f: transfer.SoftMax(),
    "nn.LogSoftMax": lambda f: transfer.LogSoftMax(),
    "nn.SpatialLogSoftMax": lambda f: transfer.LogSoftMax(),
    "nn.SoftMin": lambda f: transfer.SoftMin(),
}
