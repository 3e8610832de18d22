"""Pooling, padding and upsampling."""

from typing import Any

from torch import nn

from lua_compat import t7
from lua_compat.conversion.reading import Conversion, Fields
from lua_compat.conversion.writing import Export, ModuleWriter
from lua_compat.torch_modules import convolution, pooling


def _max2d(f: Fields) -> nn.Module:
    kernel, stride = f.integers("kH", "kW"), f.integers("dH", "dW")
    padding = f.integers("padH", "padW", default=0)
    dilation = f.integers("dilationH", "dilationW", default=1)
    ceil = f.boolean("ceil_mode")
    drops_outside = any(padding) and not f.typename.startswith("cudnn.")
    starts_outside = any(step > size for size, step in zip(kernel, stride, strict=True)) or any(padding)
    if ceil and starts_outside and not drops_outside and dilation == (1, 1):
        return pooling.CeilMaxPool2d(kernel, stride, padding, ceil_mode=True)
    return nn.MaxPool2d(kernel, stride, padding, dilation, ceil_mode=ceil)


def _average2d(f: Fields) -> nn.Module:
    kernel, stride = f.integers("kH", "kW"), f.integers("dH", "dW", default=1)
    padding = f.integers("padH", "padW", default=0)
    # Files of before ceil_mode know neither padding nor excluding it.
    counted = f.get("ceil_mode") is None or f.boolean("count_include_pad", True)
    ceil = f.boolean("ceil_mode")
    if ceil and not any(padding) and any(step > size for size, step in zip(kernel, stride, strict=True)):
        f.fail("ceil mode with steps larger than the kernel averages nothing at the border")
    kind = nn.AvgPool2d if f.boolean("divide") else pooling.SumPool2d
    return kind(kernel, stride, padding, ceil, counted)


def _cudnn_average2d(f: Fields) -> nn.Module:
    """cudnn divides by the whole window, also where ceil mode lets it end outside the padded image."""
    kernel, stride = f.integers("kH", "kW"), f.integers("dH", "dW", default=1)
    padding = f.integers("padH", "padW", default=0)
    ceil = f.boolean("ceil_mode")
    if ceil and any(padding):
        f.fail("ceil mode with padding is not supported")
    return nn.AvgPool2d(kernel, stride, padding, ceil, divisor_override=kernel[0] * kernel[1])


def _max3d(f: Fields) -> nn.Module:
    return nn.MaxPool3d(
        f.integers("kT", "kH", "kW"),
        f.integers("dT", "dH", "dW"),
        f.integers("padT", "padH", "padW", default=0),
        f.integers("dilationT", "dilationH", "dilationW", default=1),
        ceil_mode=f.boolean("ceil_mode"),
    )


def _average3d(f: Fields) -> nn.Module:
    return nn.AvgPool3d(
        f.integers("kT", "kH", "kW"),
        f.integers("dT", "dH", "dW"),
        f.integers("padT", "padH", "padW", default=0),
        ceil_mode=f.boolean("ceil_mode"),
    )


def _upsampling(f: Fields, linear: bool) -> nn.Module:
    size = [f.get(name) for name in ("odepth", "oheight", "owidth")]
    scale = f.get("scale_factor")
    return pooling.SpatialUpSampling(
        scale_factor=None if scale is None else f.integer("scale_factor"),
        size=None if scale is not None else tuple(int(n) for n in size if n is not None),
        linear=linear,
    )


_EDGES = ("pad_l", "pad_r", "pad_t", "pad_b")
_FACES = ("pleft", "pright", "ptop", "pbottom", "pfront", "pback")

CONVERSIONS: dict[str, Conversion] = {
    "nn.SpatialMaxPooling": _max2d,
    "nn.SpatialDilatedMaxPooling": _max2d,
    "nn.SpatialAveragePooling": _average2d,
    "cudnn.SpatialAveragePooling": _cudnn_average2d,
    "nn.SpatialAdaptiveMaxPooling": lambda f: nn.AdaptiveMaxPool2d(f.integers("H", "W")),
    "nn.SpatialAdaptiveAveragePooling": lambda f: nn.AdaptiveAvgPool2d(f.integers("H", "W")),
    "nn.TemporalMaxPooling": lambda f: convolution.TemporalMaxPooling(f.integer("kW"), f.integer("dW")),
    "nn.VolumetricMaxPooling": _max3d,
    "nn.VolumetricDilatedMaxPooling": _max3d,
    "nn.VolumetricAveragePooling": _average3d,
    "nn.SpatialZeroPadding": lambda f: nn.ZeroPad2d(f.integers(*_EDGES)),
    "nn.SpatialReflectionPadding": lambda f: nn.ReflectionPad2d(f.integers(*_EDGES)),
    "nn.SpatialReplicationPadding": lambda f: nn.ReplicationPad2d(f.integers(*_EDGES)),
    "nn.VolumetricReplicationPadding": lambda f: nn.ReplicationPad3d(f.integers(*_FACES)),
    "nn.SpatialUpSamplingNearest": lambda f: _upsampling(f, linear=False),
    "nn.SpatialUpSamplingBilinear": lambda f: _upsampling(f, linear=True),
    "nn.UpSampling": lambda f: _upsampling(f, linear=f.get("mode") == "linear"),
    "nn.PixelShuffle": lambda f: nn.PixelShuffle(f.integer("upscaleFactor")),
}


def _windows(m: Any, axes: str) -> dict[str, int]:
    """kH, dH, padH, ... of a torch.nn pooling, whose sizes are one number or one for each axis."""
    sizes = {}
    for field, value in (("k", m.kernel_size), ("d", m.stride), ("pad", m.padding)):
        values = (value,) * len(axes) if isinstance(value, int) else tuple(value)
        sizes.update({f"{field}{axis}": size for axis, size in zip(axes, values, strict=True)})
    return sizes


def _drops_windows(m: Any, sizes: dict[str, int], axes: str) -> bool:
    """Whether torch.nn leaves out a last window that Torch7 keeps (see CeilMaxPool2d)."""
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
        return w.object(typename, ceil_mode=m.ceil_mode, indices=w.empty_of("torch.LongTensor"), **sizes)

    return export


def _ceil_max_export(w: ModuleWriter, m: pooling.CeilMaxPool2d) -> t7.TorchObject:
    sizes = _windows(m, "HW")
    w.require(
        not sizes["padH"] and not sizes["padW"], "cudnn's rounding with padding has no counterpart in nn"
    )
    indices = w.empty_of("torch.LongTensor")
    return w.object("nn.SpatialMaxPooling", ceil_mode=True, indices=indices, **sizes)


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


def _temporal_max_export(w: ModuleWriter, m: convolution.TemporalMaxPooling) -> t7.TorchObject:
    sizes = _windows(m, "W")
    indices = w.empty_of("torch.LongTensor")
    return w.object("nn.TemporalMaxPooling", kW=sizes["kW"], dW=sizes["dW"], indices=indices)


def _adaptive_export(typename: str) -> Export:
    def export(w: ModuleWriter, m: Any) -> t7.TorchObject:
        size = (m.output_size,) * 2 if isinstance(m.output_size, int) else m.output_size
        w.require(None not in size, "a size of None has no counterpart")
        return w.object(typename, H=size[0], W=size[1])

    return export


def _padding_export(typename: str, names: tuple[str, ...]) -> Export:
    def export(w: ModuleWriter, m: Any) -> t7.TorchObject:
        return w.object(typename, **dict(zip(names, m.padding, strict=True)))

    return export


def _upsampling_export(w: ModuleWriter, m: pooling.SpatialUpSampling) -> t7.TorchObject:
    names = ("odepth", "oheight", "owidth")[-len(m.size) :] if m.size else ()
    return w.object(
        "nn.UpSampling" if len(names) == 3 else _upsampling_name(m.linear),
        scale_factor=m.scale_factor,
        mode="linear" if m.linear else "nearest",
        inputSize=(0,) * 5,
        outputSize=(0,) * 5,
        **dict(zip(names, m.size or (), strict=True)),
    )


def _upsample_export(w: ModuleWriter, m: Any) -> t7.TorchObject:
    """nn.Upsample of images, by a whole factor or, bilinear, to a size."""
    linear = m.mode == "bilinear"
    w.require(m.mode == "nearest" or (linear and m.align_corners), f"mode={m.mode!r} has no counterpart")
    scale = m.scale_factor if m.scale_factor is None or isinstance(m.scale_factor, int | float) else None
    w.require((m.size is None and scale == int(scale or 0)) or (linear and m.size is not None),
              "only a whole scale_factor, or a size for bilinear, has a counterpart")  # fmt: skip
    size = (m.size,) * 2 if isinstance(m.size, int) else m.size
    fields = {} if size is None else {"oheight": size[0], "owidth": size[1]}
    return w.object(
        _upsampling_name(linear),
        scale_factor=None if scale is None else int(scale),
        inputSize=(0,) * 4,
        outputSize=(0,) * 4,
        **fields,
    )


def _upsampling_name(linear: bool) -> str:
    return f"nn.SpatialUpSampling{'Bilinear' if linear else 'Nearest'}"


EXPORTS: dict[type, Export] = {
    nn.MaxPool2d: _max_export("Spatial", "HW"),
    nn.MaxPool3d: _max_export("Volumetric", "THW"),
    pooling.CeilMaxPool2d: _ceil_max_export,
    nn.AvgPool2d: _average_export,
    pooling.SumPool2d: _average_export,
    nn.AvgPool3d: _average3d_export,
    convolution.TemporalMaxPooling: _temporal_max_export,
    nn.AdaptiveMaxPool2d: _adaptive_export("nn.SpatialAdaptiveMaxPooling"),
    nn.AdaptiveAvgPool2d: _adaptive_export("nn.SpatialAdaptiveAveragePooling"),
    nn.ZeroPad2d: _padding_export("nn.SpatialZeroPadding", _EDGES),
    nn.ReflectionPad2d: _padding_export("nn.SpatialReflectionPadding", _EDGES),
    nn.ReplicationPad2d: _padding_export("nn.SpatialReplicationPadding", _EDGES),
    nn.ReplicationPad3d: _padding_export("nn.VolumetricReplicationPadding", _FACES),
    pooling.SpatialUpSampling: _upsampling_export,
    nn.Upsample: _upsample_export,
    nn.UpsamplingNearest2d: _upsample_export,
    nn.UpsamplingBilinear2d: _upsample_export,
    nn.PixelShuffle: lambda w, m: w.object(
        "nn.PixelShuffle", upscaleFactor=m.upscale_factor, upscaleFactorSquared=m.upscale_factor**2
    ),
}
