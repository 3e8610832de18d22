"""Batch, local and contrast normalization, and norms of rows."""

from collections.abc import Callable
from typing import Any

from torch import nn

from lua_compat import t7
from lua_compat.conversion.declared import declared_exports, declared_table
from lua_compat.conversion.reading import Conversion, Fields
from lua_compat.conversion.writing import Export, ModuleWriter
from lua_compat.torch_modules import normalization


def _batch_norm(kind: Callable[..., Any]) -> Callable[[Fields], nn.Module]:
    def convert(f: Fields) -> nn.Module:
        mean = f.tensor("running_mean")
        weight, bias = (f.optional_parameter(name) for name in ("weight", "bias"))
        module: nn.Module = kind(mean.numel(), f.number("eps"), f.number("momentum"), weight is not None)
        module.register_parameter("weight", weight)
        module.register_parameter("bias", bias)
        module.running_mean, module.running_var = mean, _running_variance(f)
        result: nn.Module = module
        return result

    return convert


def _running_variance(f: Fields) -> Any:
    """Version 1 kept 1 / sqrt(variance + eps) instead."""
    if f.get("running_var") is None and f.get("running_std") is not None:
        return f.tensor("running_std").pow(-2) - f.number("eps")
    return f.tensor("running_var")


def _cross_map_lrn(f: Fields) -> nn.Module:
    size = f.integer("size")
    if size % 2 == 0:
        f.fail(f"size must be odd, not {size}")
    k = f.number("K" if f.typename.startswith("cudnn.") else "k", 1)
    return normalization.SpatialCrossMapLRN(size, f.number("alpha"), f.number("beta"), k)


CONVERSIONS: dict[str, Conversion] = {
    **declared_table(
        normalization.Normalize,
        normalization.SpatialSubtractiveNormalization,
        normalization.SpatialDivisiveNormalization,
    ),
    "nn.LayerNormalization": lambda f: nn.Sequential(*f.children()),
    "nn.BatchNormalization": _batch_norm(normalization.BatchNormalization),
    "nn.SpatialBatchNormalization": _batch_norm(normalization.SpatialBatchNormalization),
    "nn.VolumetricBatchNormalization": _batch_norm(normalization.VolumetricBatchNormalization),
    "cudnn.BatchNormalization": _batch_norm(nn.BatchNorm1d),
    "cudnn.SpatialBatchNormalization": _batch_norm(nn.BatchNorm2d),
    "cudnn.VolumetricBatchNormalization": _batch_norm(nn.BatchNorm3d),
    # cudnn's class of this name normalizes across planes, unlike nn's.
    "cudnn.SpatialDivisiveNormalization": lambda f: f.fail("has no counterpart in PyTorch here"),
    "nn.SpatialCrossMapLRN": _cross_map_lrn,
    "nn.SpatialContrastiveNormalization": lambda f: f.child("normalizer"),
}


def _batch_norm_export(typename: str, dimensions: int) -> Export:
    def export(w: ModuleWriter, m: Any) -> t7.TorchObject:
        w.require(m.running_mean is not None, "track_running_stats=False has no counterpart")
        w.require(m.momentum is not None, "a cumulative average (momentum=None) has no counterpart")
        return w.object(
            typename,
            nDim=dimensions,
            affine=m.affine,
            eps=m.eps,
            momentum=m.momentum,
            running_mean=m.running_mean,
            running_var=m.running_var,
            weight=m.weight,
            bias=m.bias,
        )

    return export


def _lrn_export(w: ModuleWriter, m: Any) -> t7.TorchObject:
    w.require(m.size % 2 == 1, f"size must be odd, not {m.size}")
    return w.object("nn.SpatialCrossMapLRN", size=m.size, alpha=m.alpha, beta=m.beta, k=m.k)


def _local_tables(w: ModuleWriter, m: Any) -> dict[str, Any]:
    """Returns the fields that both local normalizations hold besides their estimators."""
    divider = w.object("nn.CDivTable", gradInput=[])
    return {"divider": divider, "coef": w.buffer(1, 1, 1)}


def _subtractive_tables(w: ModuleWriter, m: Any) -> dict[str, Any]:
    return {**_local_tables(w, m), "subtractor": w.object("nn.CSubTable", gradInput=[])}


def _divisive_tables(w: ModuleWriter, m: Any) -> dict[str, Any]:
    return {
        **_local_tables(w, m),
        "normalizer": w.object("nn.CDivTable", gradInput=[]),
        "thresholder": w.object("nn.Threshold", threshold=m.threshold, val=m.thresval, inplace=False),
    }


EXPORTS: dict[type, Export] = {
    **declared_exports(
        {
            normalization.Normalize: None,
            normalization.SpatialSubtractiveNormalization: _subtractive_tables,
            normalization.SpatialDivisiveNormalization: _divisive_tables,
        }
    ),
    nn.BatchNorm1d: _batch_norm_export("nn.BatchNormalization", 2),
    nn.BatchNorm2d: _batch_norm_export("nn.SpatialBatchNormalization", 4),
    nn.BatchNorm3d: _batch_norm_export("nn.VolumetricBatchNormalization", 5),
    normalization.BatchNormalization: _batch_norm_export("nn.BatchNormalization", 2),
    normalization.SpatialBatchNormalization: _batch_norm_export("nn.SpatialBatchNormalization", 4),
    normalization.VolumetricBatchNormalization: _batch_norm_export("nn.VolumetricBatchNormalization", 5),
    nn.LocalResponseNorm: _lrn_export,
    normalization.SpatialCrossMapLRN: _lrn_export,
}
