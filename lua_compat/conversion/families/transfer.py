"""Elementwise functions and softmax layers."""

from collections.abc import Callable
from typing import Any

from torch import nn

from lua_compat import t7
from lua_compat.conversion.declared import declared_exports, declared_table
from lua_compat.conversion.reading import Conversion, Fields
from lua_compat.conversion.writing import Export, ModuleWriter
from lua_compat.torch_modules import transfer


def _may_overwrite(
    kind: type[nn.Module], in_place: type[nn.Module], arguments: Callable[[Fields], tuple[float, ...]]
) -> Conversion:
    """Returns the conversion to ``kind(*arguments)``, or to ``in_place`` if the layer works in place."""

    def convert(f: Fields) -> nn.Module:
        overwrites = f.boolean("inplace")
        return (in_place if overwrites else kind)(*arguments(f), overwrites)

    return convert


_hard_tanh = _may_overwrite(
    nn.Hardtanh, transfer.Hardtanh, lambda f: (f.number("min_val"), f.number("max_val"))
)


def _prelu(f: Fields) -> nn.Module:
    weight = f.parameter("weight")
    module = transfer.PReLU(weight.numel())
    module.weight = weight
    return module


CONVERSIONS: dict[str, Conversion] = {
    **declared_table(
        transfer.Abs,
        transfer.Exp,
        transfer.Log,
        transfer.Square,
        transfer.Sqrt,
        transfer.Power,
        transfer.TanhShrink,
        transfer.CReLU,
        transfer.GatedLinearUnit,
    ),
    "nn.Tanh": lambda f: nn.Tanh(),
    "nn.Sigmoid": lambda f: nn.Sigmoid(),
    "nn.LogSigmoid": lambda f: nn.LogSigmoid(),
    "nn.SoftSign": lambda f: nn.Softsign(),
    "nn.ReLU": _may_overwrite(nn.ReLU, transfer.ReLU, lambda f: ()),
    "nn.ReLU6": _may_overwrite(nn.ReLU6, transfer.ReLU6, lambda f: ()),
    "nn.Threshold": _may_overwrite(
        nn.Threshold, transfer.Threshold, lambda f: (f.number("threshold"), f.number("val"))
    ),
    "nn.HardTanh": _hard_tanh,
    "nn.Clamp": _hard_tanh,
    "cudnn.ClippedReLU": _may_overwrite(nn.Hardtanh, transfer.Hardtanh, lambda f: (0, f.number("ceiling"))),
    "nn.ELU": _may_overwrite(nn.ELU, transfer.ELU, lambda f: (f.number("alpha"),)),
    "nn.LeakyReLU": _may_overwrite(nn.LeakyReLU, transfer.LeakyReLU, lambda f: (f.number("negval"),)),
    "nn.RReLU": _may_overwrite(nn.RReLU, transfer.RReLU, lambda f: (f.number("lower"), f.number("upper"))),
    "nn.PReLU": _prelu,
    "nn.SoftPlus": lambda f: nn.Softplus(f.number("beta"), f.number("threshold")),
    "nn.HardShrink": lambda f: nn.Hardshrink(f.number("lambda")),
    "nn.SoftShrink": lambda f: nn.Softshrink(f.number("lambda")),
    "nn.SoftMax": lambda f: transfer.SoftMax(),
    "nn.SpatialSoftMax": lambda f: transfer.SoftMax(),
    "nn.LogSoftMax": lambda f: transfer.LogSoftMax(),
    "nn.SpatialLogSoftMax": lambda f: transfer.LogSoftMax(),
    "cudnn.SoftMax": lambda f: transfer.SampleSoftMax(),
    "cudnn.LogSoftMax": lambda f: transfer.SampleSoftMax(log=True),
    "cudnn.VolumetricSoftMax": lambda f: transfer.VolumeSoftMax(),
    "cudnn.VolumetricLogSoftMax": lambda f: transfer.VolumeSoftMax(log=True),
    "nn.SoftMin": lambda f: transfer.SoftMin(),
}


def _softmax(name: str, torch7s: bool = False) -> Export:
    """torch.nn's softmax layers have a dimension; Torch7's use the second of a batch, or a vector's only
    one."""

    def export(w: ModuleWriter, m: Any) -> t7.TorchObject:
        w.require(torch7s or m.dim in (None, 1, -1), f"dim={m.dim} is not the dimension of nn.{name}")
        return w.object(f"nn.{name}")

    return export


def _prelu_export(w: ModuleWriter, m: Any) -> t7.TorchObject:
    return w.object("nn.PReLU", weight=m.weight, nOutputPlane=m.num_parameters if m.num_parameters > 1 else 0)


def _hardtanh_export(w: ModuleWriter, m: Any) -> t7.TorchObject:
    return w.object("nn.HardTanh", min_val=m.min_val, max_val=m.max_val, inplace=m.inplace)


def _rrelu_export(w: ModuleWriter, m: Any) -> t7.TorchObject:
    return w.object("nn.RReLU", lower=m.lower, upper=m.upper, inplace=m.inplace, noise=w.empty())


def _glu_export(w: ModuleWriter, m: Any) -> t7.TorchObject:
    w.require(m.dim >= -1, f"dim={m.dim} cannot be counted from the front")
    return w.object("nn.GatedLinearUnit", dim=None if m.dim == -1 else m.dim + 1)


def _crelu_export(w: ModuleWriter, m: Any) -> t7.TorchObject:
    """Writes nn.CReLU, which is a Sequential of its parts."""
    parts = [
        w.object(
            "nn.ConcatTable",
            modules=[w.object("nn.Identity"), w.object("nn.MulConstant", constant_scalar=-1, inplace=False)],
            output=[],
        ),
        w.object("nn.JoinTable", dimension=2, size=(), gradInput=[]),
        w.object("nn.ReLU", threshold=0, val=0, inplace=m.inplace),
    ]
    return w.object("nn.CReLU", modules=parts, nInputDims=m.nInputDims, inplace=m.inplace)


EXPORTS: dict[type, Export] = {
    **declared_exports(
        {
            transfer.Abs: None,
            transfer.Exp: None,
            transfer.Log: None,
            transfer.Square: None,
            transfer.Sqrt: lambda w, m: {"eps": 0},
            transfer.Power: None,
            transfer.TanhShrink: lambda w, m: {"tanh": w.object("nn.Tanh")},
            transfer.GatedLinearUnit: None,
        }
    ),
    transfer.CReLU: _crelu_export,
    nn.Tanh: lambda w, m: w.object("nn.Tanh"),
    nn.Sigmoid: lambda w, m: w.object("nn.Sigmoid"),
    nn.LogSigmoid: lambda w, m: w.object("nn.LogSigmoid", buffer=w.empty()),
    nn.Softsign: lambda w, m: w.object("nn.SoftSign"),
    nn.Tanhshrink: lambda w, m: w.object("nn.TanhShrink", tanh=w.object("nn.Tanh")),
    nn.ReLU: lambda w, m: w.object("nn.ReLU", threshold=0, val=0, inplace=m.inplace),
    nn.ReLU6: lambda w, m: w.object("nn.ReLU6", inplace=m.inplace),
    nn.Threshold: lambda w, m: w.object(
        "nn.Threshold", threshold=m.threshold, val=m.value, inplace=m.inplace
    ),
    nn.Hardtanh: _hardtanh_export,
    nn.ELU: lambda w, m: w.object("nn.ELU", alpha=m.alpha, inplace=m.inplace),
    nn.LeakyReLU: lambda w, m: w.object("nn.LeakyReLU", negval=m.negative_slope, inplace=m.inplace),
    nn.RReLU: _rrelu_export,
    nn.PReLU: _prelu_export,
    transfer.PReLU: _prelu_export,
    nn.Softplus: lambda w, m: w.object("nn.SoftPlus", beta=m.beta, threshold=m.threshold),
    nn.Hardshrink: lambda w, m: w.object("nn.HardShrink", **{"lambda": m.lambd}),
    nn.Softshrink: lambda w, m: w.object("nn.SoftShrink", **{"lambda": m.lambd}),
    nn.GLU: _glu_export,
    nn.Softmax: _softmax("SoftMax"),
    nn.LogSoftmax: _softmax("LogSoftMax"),
    nn.Softmin: _softmax("SoftMin"),
    transfer.SoftMax: _softmax("SoftMax", torch7s=True),
    transfer.LogSoftMax: _softmax("LogSoftMax", torch7s=True),
    transfer.SoftMin: _softmax("SoftMin", torch7s=True),
}
