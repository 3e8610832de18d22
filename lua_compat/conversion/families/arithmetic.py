"""Additions and multiplications by constants, numbers and vectors, and products of matrices."""

from convnet_benchmarks.nets.modules.torch7 import MulConstant
from lua_compat.conversion.declared import declared_exports, declared_table, pair_gradient
from lua_compat.conversion.reading import Conversion
from lua_compat.conversion.writing import Export
from lua_compat.torch_modules import arithmetic

CONVERSIONS: dict[str, Conversion] = {
    **declared_table(
        arithmetic.Add,
        arithmetic.CAdd,
        arithmetic.Mul,
        arithmetic.CMul,
        arithmetic.MM,
        arithmetic.MV,
        arithmetic.AddConstant,
        arithmetic.MulConstant,
    ),
}


EXPORTS: dict[type, Export] = {
    **declared_exports(
        {
            arithmetic.Add: lambda w, m: {"_ones": w.buffer(1)},
            arithmetic.CAdd: lambda w, m: {"size": tuple(m.bias.shape)},
            arithmetic.Mul: None,
            arithmetic.CMul: lambda w, m: {"size": tuple(m.weight.shape)},
            arithmetic.MM: pair_gradient,
            arithmetic.MV: pair_gradient,
            arithmetic.AddConstant: None,
            arithmetic.MulConstant: None,
        }
    ),
    MulConstant: lambda w, m: w.object("nn.MulConstant", constant_scalar=m.constant),
}
