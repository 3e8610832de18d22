"""Pooling."""

from typing import Any

from torch import nn

from lua_compat import t7
from lua_compat.conversion.declared import declared_exports, declared_table
from lua_compat.conversion.reading import Conversion, Fields
from lua_compat.conversion.writing import Export, ModuleWriter
from lua_compat.torch_modules import pooling


def _max2d(f: Fields) -> nn.Module:
    kernel = f.integers("kH", "kW")
    stride = f.integers("dH", "dW")
    padding = f.integers("padH", "padW")
    dilation = f.integers("dilationH", "dilationW") if "Dilated" in f.typename else (1, 1)
    ceil = f.boolean("ceil_mode")
    drops_outside = any(padding) and not f.typename.startswith("cudnn.")
    starts_outside = any(step > size for size, step in zip(kernel, stride, strict=True)) or any(padding)
    if ceil and starts_outside and not drops_outside and dilation == (1, 1):
        return pooling.CeilMaxPool2d(kernel, stride, padding, ceil_mode=True)
    return nn.MaxPool2d(kernel, stride, padding, dilation, ceil_mode=ceil)


def _average2d(f: Fields) -> nn.Module:
    kernel, stride = f.integers("kH", "kW"), f.integers("dH", "dW")
    padding = f.integers("padH", "padW")
    # Files from before ceil_mode have neither padding nor its exclusion.
    counted = f.get("ceil_mode") is None or f.boolean("count_include_pad")
    ceil = f.boolean("ceil_mode")
    if ceil and not any(padding) and any(step > size for size, step in zip(kernel, stride, strict=True)):
        f.fail("ceil mode with steps larger than the kernel averages nothing at the border")
    kind = nn.AvgPool2d if f.boolean("divide") else pooling.SumPool2d
    return kind(kernel, stride, padding, ceil, counted)


def _cudnn_average2d(f: Fields) -> nn.Module:
    """cudnn divides by the whole window, even if in ceil mode it ends outside the padded image."""
    kernel, stride = f.integers("kH", "kW"), f.integers("dH", "dW")
    padding = f.integers("padH", "padW")
    ceil = f.boolean("ceil_mode")
    if ceil and any(padding):
        f.fail("ceil mode with padding is not supported")
    return nn.AvgPool2d(kernel, stride, padding, ceil, divisor_override=kernel[0] * kernel[1])


def _unpooling(f: Fields) -> nn.Module:
    pool = f.child("pooling")
    if type(pool) is not pooling.IndexedMaxPool2d:
        if type(pool) is not nn.MaxPool2d:
            f.fail(f"its pooling layer is a {type(pool).__name__}; a MaxPool2d is expected")
        pool.__class__ = pooling.IndexedMaxPool2d
    return pooling.SpatialMaxUnpooling(pooling=pool)


def _max3d(f: Fields) -> nn.Module:
    return nn.MaxPool3d(
        f.integers("kT", "kH", "kW"),
        f.integers("dT", "dH", "dW"),
        f.integers("padT", "padH", "padW"),
        f.integers("dilationT", "dilationH", "dilationW") if "Dilated" in f.typename else 1,
        ceil_mode=f.boolean("ceil_mode"),
    )


def _average3d(f: Fields) -> nn.Module:
    return nn.AvgPool3d(
        f.integers("kT", "kH", "kW"),
        f.integers("dT", "dH", "dW"),
        f.integers("padT", "padH", "padW", default=0),
        ceil_mode=f.boolean("ceil_mode"),
    )


CONVERSIONS: dict[str, Conversion] = {
    **declared_table(
        pooling.TemporalDynamicKMaxPooling,
    ),
    "nn.SpatialLPPooling": lambda f: nn.Sequential(*f.children()),
    "nn.SpatialMaxPooling": _max2d,
    "nn.SpatialDilatedMaxPooling": _max2d,
    "nn.SpatialAveragePooling": _average2d,
    "cudnn.SpatialAveragePooling": _cudnn_average2d,
    "nn.SpatialAdaptiveMaxPooling": lambda f: nn.AdaptiveMaxPool2d(f.integers("H", "W")),
    "nn.SpatialAdaptiveAveragePooling": lambda f: nn.AdaptiveAvgPool2d(f.integers("H", "W")),
    "nn.SpatialMaxUnpooling": _unpooling,
    "nn.TemporalMaxPooling": lambda f: pooling.TemporalMaxPooling(f.integer("kW"), f.integer("dW")),
    "nn.VolumetricMaxPooling": _max3d,
    "nn.VolumetricDilatedMaxPooling": _max3d,
    "nn.VolumetricAveragePooling": _average3d,
}


def _windows(m: Any, axes: str) -> dict[str, int]:
    """Returns kH, dH, padH, ... of a torch.nn pooling, whose sizes are one number or one for each axis."""
    sizes = {}
    for field, value in (("k", m.kernel_size), ("d", m.stride), ("pad", m.padding)):
        values = (value,) * len(axes) if isinstance(value, int) else tuple(value)
        sizes.update({f"{field}{axis}": size for axis, size in zip(axes, values, strict=True)})
    return sizes


def _drops_windows(m: Any, sizes: dict[str, int], axes: str) -> bool:
    """Returns whether torch.nn drops a last window that Torch7 keeps (see CeilMaxPool2d)."""
    padded = any(sizes[f"pad{axis}"] for axis in axes)
    return m.ceil_mode and not padded and any(sizes[f"d{axis}"] > sizes[f"k{axis}"] for axis in axes)


def _max_export(name: str, axes: str) -> Export:
    def export(w: ModuleWriter, m: Any) -> t7.TorchObject:
        w.require(not m.return_indices, "return_indices has no counterpart")
        sizes = _windows(m, axes)
        w.require(not _drops_windows(m, sizes, axes), "ceil mode with steps larger than the kernel differs")
        dilation = (m.dilation,) * len(axes) if isinstance(m.dilation, int) else m.dilation
        dilated = any(step > 1 for step in dilation)
        if dilated:
            sizes.update({f"dilation{axis}": step for axis, step in zip(axes, dilation, strict=True)})
        typename = f"nn.{name}DilatedMaxPooling" if dilated else f"nn.{name}MaxPooling"
        return w.object(typename, ceil_mode=m.ceil_mode, **sizes)

    return export


def _ceil_max_export(w: ModuleWriter, m: pooling.CeilMaxPool2d) -> t7.TorchObject:
    sizes = _windows(m, "HW")
    w.require(
        not sizes["padH"] and not sizes["padW"], "cudnn's rounding with padding has no counterpart in nn"
    )
    return w.object("nn.SpatialMaxPooling", ceil_mode=True, **sizes)


def _average_export(w: ModuleWriter, m: Any) -> t7.TorchObject:
    sizes = _windows(m, "HW")
    w.require(not _drops_windows(m, sizes, "HW"), "ceil mode with steps larger than the kernel differs")
    whole = sizes["kH"] * sizes["kW"]
    w.require(
        m.divisor_override is None or (m.divisor_override == whole and not m.ceil_mode),
        f"divisor_override={m.divisor_override} has no counterpart",
    )
    return w.object(
        "nn.SpatialAveragePooling",
        ceil_mode=m.ceil_mode,
        count_include_pad=m.count_include_pad or m.divisor_override is not None,
        divide=not isinstance(m, pooling.SumPool2d),
        **sizes,
    )


def _average3d_export(w: ModuleWriter, m: Any) -> t7.TorchObject:
    sizes = _windows(m, "THW")
    plain = not m.ceil_mode and m.divisor_override is None and not any(sizes[f"pad{a}"] for a in "THW")
    w.require(plain, "padding, ceil mode and divisors have no counterpart")
    return w.object("nn.VolumetricAveragePooling", **sizes)


def _temporal_max_export(w: ModuleWriter, m: pooling.TemporalMaxPooling) -> t7.TorchObject:
    sizes = _windows(m, "W")
    indices = w.empty_of("torch.LongTensor")
    return w.object("nn.TemporalMaxPooling", kW=sizes["kW"], dW=sizes["dW"], indices=indices)


def _adaptive_export(typename: str) -> Export:
    def export(w: ModuleWriter, m: Any) -> t7.TorchObject:
        size = (m.output_size,) * 2 if isinstance(m.output_size, int) else m.output_size
        w.require(None not in size, "a size of None has no counterpart")
        return w.object(typename, H=size[0], W=size[1])

    return export


EXPORTS: dict[type, Export] = {
    **declared_exports(
        {
            pooling.TemporalDynamicKMaxPooling: None,
        }
    ),
    nn.MaxPool2d: _max_export("Spatial", "HW"),
    pooling.IndexedMaxPool2d: _max_export("Spatial", "HW"),
    pooling.SpatialMaxUnpooling: lambda w, m: w.object(
        "nn.SpatialMaxUnpooling", pooling=w.child(m.pooling, ".pooling")
    ),
    nn.MaxPool3d: _max_export("Volumetric", "THW"),
    pooling.CeilMaxPool2d: _ceil_max_export,
    nn.AvgPool2d: _average_export,
    pooling.SumPool2d: _average_export,
    nn.AvgPool3d: _average3d_export,
    pooling.TemporalMaxPooling: _temporal_max_export,
    nn.AdaptiveMaxPool2d: _adaptive_export("nn.SpatialAdaptiveMaxPooling"),
    nn.AdaptiveAvgPool2d: _adaptive_export("nn.SpatialAdaptiveAveragePooling"),
}
