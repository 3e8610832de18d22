"""Batch, local and contrast normalisation."""

from collections.abc import Callable
from typing import Any

from torch import nn

from lua_compat.conversion.declared import declared_table
from lua_compat.conversion.fields import Fields
from lua_compat.torch_modules import normalisation


def _batch_norm(kind: Callable[..., Any]) -> Callable[[Fields], nn.Module]:
    def convert(f: Fields) -> nn.Module:
        mean = f.tensor("running_mean")
        weight, bias = (f.optional_parameter(name) for name in ("weight", "bias"))
        module: nn.Module = kind(
            mean.numel(), f.number("eps", 1e-5), f.number("momentum", 0.1), weight is not None
        )
        module.weight, module.bias = weight, bias
        module.running_mean, module.running_var = mean, _running_variance(f)
        result: nn.Module = module
        return result

    return convert


def _running_variance(f: Fields) -> Any:
    """Version 1 kept 1 / sqrt(variance + eps) instead."""
    if f.get("running_var") is None and f.get("running_std") is not None:
        return f.tensor("running_std").pow(-2) - f.number("eps", 1e-5)
    return f.tensor("running_var")


def _cross_map_lrn(f: Fields) -> nn.Module:
    size = f.integer("size")
    if size % 2 == 0:
        f.fail(f"size must be odd, not {size}")
    k = f.number("K" if f.typename.startswith("cudnn.") else "k", 1)
    return normalisation.SpatialCrossMapLRN(size, f.number("alpha", 1e-4), f.number("beta", 0.75), k)


CONVERSIONS = {
    **declared_table(
        normalisation.Normalize,
        normalisation.SpatialSubtractiveNormalization,
        normalisation.SpatialDivisiveNormalization,
    ),
    "nn.BatchNormalization": _batch_norm(normalisation.BatchNormalization),
    "nn.SpatialBatchNormalization": _batch_norm(normalisation.SpatialBatchNormalization),
    "nn.VolumetricBatchNormalization": _batch_norm(normalisation.VolumetricBatchNormalization),
    "cudnn.BatchNormalization": _batch_norm(nn.BatchNorm1d),
    "cudnn.SpatialBatchNormalization": _batch_norm(nn.BatchNorm2d),
    "cudnn.VolumetricBatchNormalization": _batch_norm(nn.BatchNorm3d),
    "nn.SpatialCrossMapLRN": _cross_map_lrn,
    "nn.SpatialContrastiveNormalization": lambda f: f.child("normalizer"),
}
# cudnn's class of this name normalises across planes: another function than nn's.
CONVERSIONS["cudnn.SpatialDivisiveNormalization"] = lambda f: f.fail("has no counterpart in PyTorch here")
