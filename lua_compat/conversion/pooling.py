"""Pooling, padding and upsampling."""

from torch import nn

from lua_compat.conversion.fields import Fields
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

CONVERSIONS = {
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
