"""Layers that return their input, some with another gradient, and one that returns something else."""

from typing import Any

from torch import nn

from lua_compat import t7
from lua_compat.conversion.declared import declared_exports, declared_table
from lua_compat.conversion.reading import Conversion, Fields
from lua_compat.conversion.writing import Export, ModuleWriter
from lua_compat.torch_modules import identity


def _gradient_reversal(f: Fields) -> nn.Module:
    return identity.GradientReversal(factor=1 if f.version < 2 else f.number("lambda"))


CONVERSIONS: dict[str, Conversion] = {
    **declared_table(
        identity.L1Penalty,
        identity.ZeroGrad,
        identity.Constant,
    ),
    "nn.GradientReversal": _gradient_reversal,
    "nn.Identity": lambda f: nn.Identity(),
    "nn.PrintSize": lambda f: nn.Identity(),
    "nn.Copy": lambda f: identity.Copy(like=f.tensor("output")[:0]),
}


def _copy_export(w: ModuleWriter, m: Any) -> t7.TorchObject:
    return w.object("nn.Copy", output=m.like, dontCast=True)


EXPORTS: dict[type, Export] = {
    **declared_exports(
        {
            identity.L1Penalty: None,
            identity.ZeroGrad: None,
            identity.Constant: None,
        }
    ),
    nn.Identity: lambda w, m: w.object("nn.Identity"),
    identity.GradientReversal: lambda w, m: w.object("nn.GradientReversal", **{"lambda": m.factor}),
    identity.Copy: _copy_export,
}
