"""Convolutions."""

from typing import Any

from torch import nn

from lua_compat.conversion.declared import declared_table
from lua_compat.conversion.fields import Fields
from lua_compat.torch_modules import convolution

_IMAGE = ("H", "W")
_VOLUME = ("T", "H", "W")


def _common(f: Fields, axes: tuple[str, ...]) -> dict[str, Any]:
    """What torch.nn's convolutions have in common. ``axes``: the letters of kH, dH, padH, ..."""
    # Files of before 2015 have one ``padding``.
    padding = f.integers(*(f"pad{axis}" for axis in axes), default=f.integer("padding", 0))
    if min(padding) < 0:
        f.fail(f"negative padding {padding} is not supported")
    return {
        "kernel_size": f.integers(*(f"k{axis}" for axis in axes)),
        "stride": f.integers(*(f"d{axis}" for axis in axes), default=1),
        "padding": padding,
        "bias": f.get("bias") is not None,
        "device": "meta",  # the parameters come from the file
    }


def _with_parameters(f: Fields, module: Any, weight: nn.Parameter) -> nn.Module:
    module.weight, module.bias = weight, f.optional_parameter("bias")
    result: nn.Module = module
    return result


def _convolution(f: Fields, kind: type[nn.Conv2d] | type[nn.Conv3d], axes: tuple[str, ...]) -> nn.Module:
    planes_in, planes_out = f.integers("nInputPlane", "nOutputPlane")
    groups = f.integer("groups", 1)
    dilation = f.integers(*(f"dilation{axis}" for axis in axes), default=1)
    common = _common(f, axes)
    module = kind(planes_in, planes_out, dilation=dilation, groups=groups, **common)
    shape = (planes_out, planes_in // groups, *common["kernel_size"])
    return _with_parameters(f, module, f.parameter("weight", shape))


def _spatial(f: Fields) -> nn.Module:
    return _convolution(f, nn.Conv2d, _IMAGE)


def _volumetric(f: Fields) -> nn.Module:
    return _convolution(f, nn.Conv3d, _VOLUME)


def _full_convolution(f: Fields, kind: Any, axes: tuple[str, ...]) -> nn.Module:
    planes_in, planes_out = f.integers("nInputPlane", "nOutputPlane")
    adjustment = f.integers(*(f"adj{axis}" for axis in axes), default=0)
    common = _common(f, axes)
    module = kind(planes_in, planes_out, output_padding=adjustment, **common)
    return _with_parameters(f, module, f.parameter("weight", (planes_in, planes_out, *common["kernel_size"])))


def _spatial_full(f: Fields) -> nn.Module:
    return _full_convolution(f, convolution.SpatialFullConvolution, _IMAGE)


def _volumetric_full(f: Fields) -> nn.Module:
    if f.get("adjW") is None:
        f.fail("a file of before output adjustment (no field adjW) is not supported")
    return _full_convolution(f, convolution.VolumetricFullConvolution, _VOLUME)


def _depth_wise(f: Fields) -> nn.Module:
    """Weight (multiplier, planes * kH * kW), bias (multiplier, planes): a grouped convolution transposed."""
    planes, multiplier = f.integers("nInputPlane", "nOutputPlane")
    common = _common(f, _IMAGE)
    module = nn.Conv2d(planes, planes * multiplier, groups=planes, **common)
    weight = f.tensor("weight").view(multiplier, planes, *common["kernel_size"]).transpose(0, 1)
    module.weight = nn.Parameter(weight.reshape(module.weight.shape))
    if common["bias"]:
        module.bias = nn.Parameter(f.tensor("bias").T.reshape(-1))
    return module


def _local(f: Fields) -> nn.Module:
    shape = f.integers("oH", "oW", "nOutputPlane", "nInputPlane", "kH", "kW")
    steps = {name: f.integer(name, 1) for name in ("dH", "dW")}
    pads = {name: f.integer(name, 0) for name in ("padH", "padW")}
    return convolution.SpatialConvolutionLocal(
        weight=f.parameter("weight", shape),
        bias=f.parameter("bias"),
        kH=shape[4],
        kW=shape[5],
        **steps,
        **pads,
    )


def _temporal(f: Fields) -> nn.Module:
    features_in, features_out, width = f.integers("inputFrameSize", "outputFrameSize", "kW")
    module = convolution.TemporalConvolution(
        features_in, features_out, width, stride=f.integer("dW", 1), device="meta"
    )
    # A row is frame by frame; nn.Conv1d's is feature by feature.
    weight = f.parameter("weight", (features_out, width, features_in)).detach().transpose(1, 2)
    return _with_parameters(f, module, nn.Parameter(weight))


def _temporal_row(f: Fields) -> nn.Module:
    features, width = f.integers("inputFrameSize", "kW")
    module = convolution.TemporalRowConvolution(
        features,
        features,
        width,
        stride=f.integer("dW", 1),
        groups=features,
        bias=f.get("bias") is not None,
        device="meta",
    )
    module.featFirst = f.boolean("featFirst")
    return _with_parameters(f, module, f.parameter("weight", (features, 1, width)))


CONVERSIONS = {
    **declared_table(
        convolution.SpatialConvolutionMap,
        convolution.SpatialSubSampling,
        convolution.TemporalSubSampling,
        convolution.TemporalDynamicKMaxPooling,
    ),
    "nn.SpatialConvolution": _spatial,
    "nn.SpatialConvolutionMM": _spatial,
    "nn.SpatialDilatedConvolution": _spatial,
    "nn.SpatialDepthWiseConvolution": _depth_wise,
    "nn.SpatialConvolutionLocal": _local,
    "nn.SpatialFullConvolution": _spatial_full,
    "nn.VolumetricConvolution": _volumetric,
    "nn.VolumetricDilatedConvolution": _volumetric,
    "nn.VolumetricFullConvolution": _volumetric_full,
    "nn.TemporalConvolution": _temporal,
    "nn.TemporalRowConvolution": _temporal_row,
}
