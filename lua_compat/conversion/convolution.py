"""Convolutions."""

from typing import Any

from torch import nn

from lua_compat.conversion.declared import declared_table
from lua_compat.conversion.fields import Fields
from lua_compat.torch_modules import convolution


def _finish(f: Fields, module: Any, weight: Any) -> nn.Module:
    module.weight = weight
    module.bias = f.parameter("bias", required=False)
    return module  # type: ignore[no-any-return]


def _padding(f: Fields, *names: str) -> tuple[int, ...]:
    """Files of before 2015 have one ``padding``."""
    both = f.get("padding")
    pads = f.integers(*names, default=0) if both is None else (f.integer("padding"),) * len(names)
    if min(pads) < 0:
        f.fail(f"negative padding {pads} is not supported")
    return pads


def _spatial(f: Fields) -> nn.Module:
    planes_in, planes_out = f.integers("nInputPlane", "nOutputPlane")
    groups = f.integer("groups", 1)
    kernel = f.integers("kH", "kW")
    module = nn.Conv2d(
        planes_in,
        planes_out,
        kernel,  # type: ignore[arg-type]
        stride=f.integers("dH", "dW", default=1),  # type: ignore[arg-type]
        padding=_padding(f, "padH", "padW"),  # type: ignore[arg-type]
        dilation=f.integers("dilationH", "dilationW", default=1),  # type: ignore[arg-type]
        groups=groups,
        bias=f.get("bias") is not None,
        device="meta",
    )
    return _finish(f, module, f.parameter("weight", (planes_out, planes_in // groups, *kernel)))


def _depth_wise(f: Fields) -> nn.Module:
    """Weight (multiplier, planes * kH * kW), bias (multiplier, planes): a grouped convolution transposed."""
    planes, multiplier = f.integers("nInputPlane", "nOutputPlane")
    kernel = f.integers("kH", "kW")
    module = nn.Conv2d(
        planes,
        planes * multiplier,
        kernel,  # type: ignore[arg-type]
        stride=f.integers("dH", "dW", default=1),  # type: ignore[arg-type]
        padding=_padding(f, "padH", "padW"),  # type: ignore[arg-type]
        groups=planes,
        bias=f.get("bias") is not None,
        device="meta",
    )
    weight = f.tensor("weight").view(multiplier, planes, *kernel).transpose(0, 1)
    module.weight = nn.Parameter(weight.reshape(planes * multiplier, 1, *kernel))
    bias = f.tensor("bias", required=False)
    module.bias = None if bias is None else nn.Parameter(bias.T.reshape(-1))
    return module


def _volumetric(f: Fields) -> nn.Module:
    planes_in, planes_out = f.integers("nInputPlane", "nOutputPlane")
    kernel = f.integers("kT", "kH", "kW")
    groups = f.integer("groups", 1)
    module = nn.Conv3d(
        planes_in,
        planes_out,
        kernel,  # type: ignore[arg-type]
        stride=f.integers("dT", "dH", "dW", default=1),  # type: ignore[arg-type]
        padding=_padding(f, "padT", "padH", "padW"),  # type: ignore[arg-type]
        dilation=f.integers("dilationT", "dilationH", "dilationW", default=1),  # type: ignore[arg-type]
        groups=groups,
        bias=f.get("bias") is not None,
        device="meta",
    )
    return _finish(f, module, f.parameter("weight", (planes_out, planes_in // groups, *kernel)))


def _spatial_full(f: Fields) -> nn.Module:
    planes_in, planes_out = f.integers("nInputPlane", "nOutputPlane")
    kernel = f.integers("kH", "kW")
    module = convolution.SpatialFullConvolution(
        planes_in,
        planes_out,
        kernel,  # type: ignore[arg-type]
        stride=f.integers("dH", "dW", default=1),  # type: ignore[arg-type]
        padding=_padding(f, "padH", "padW"),  # type: ignore[arg-type]
        output_padding=f.integers("adjH", "adjW", default=0),  # type: ignore[arg-type]
        bias=f.get("bias") is not None,
        device="meta",
    )
    return _finish(f, module, f.parameter("weight", (planes_in, planes_out, *kernel)))


def _volumetric_full(f: Fields) -> nn.Module:
    if f.get("adjW") is None:
        f.fail("a file of before output adjustment (no field adjW) is not supported")
    planes_in, planes_out = f.integers("nInputPlane", "nOutputPlane")
    kernel = f.integers("kT", "kH", "kW")
    module = convolution.VolumetricFullConvolution(
        planes_in,
        planes_out,
        kernel,  # type: ignore[arg-type]
        stride=f.integers("dT", "dH", "dW", default=1),  # type: ignore[arg-type]
        padding=_padding(f, "padT", "padH", "padW"),  # type: ignore[arg-type]
        output_padding=f.integers("adjT", "adjH", "adjW", default=0),  # type: ignore[arg-type]
        bias=f.get("bias") is not None,
        device="meta",
    )
    return _finish(f, module, f.parameter("weight", (planes_in, planes_out, *kernel)))


def _local(f: Fields) -> nn.Module:
    kernel = f.integers("kH", "kW")
    shape = (*f.integers("oH", "oW", "nOutputPlane", "nInputPlane"), *kernel)
    return convolution.SpatialConvolutionLocal(
        weight=f.parameter("weight", shape),
        bias=f.parameter("bias"),
        **{name: f.integer(name, 1 if name[0] == "d" else 0) for name in ("dW", "dH", "padW", "padH")},
        kH=kernel[0],
        kW=kernel[1],
    )


def _temporal(f: Fields) -> nn.Module:
    features_in, features_out = f.integers("inputFrameSize", "outputFrameSize")
    width = f.integer("kW")
    module = convolution.TemporalConvolution(
        features_in, features_out, width, stride=f.integer("dW", 1), device="meta"
    )
    # A row is frame by frame; nn.Conv1d's is feature by feature.
    weight = f.parameter("weight", (features_out, width, features_in))
    assert weight is not None
    return _finish(f, module, nn.Parameter(weight.detach().transpose(1, 2)))


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
    return _finish(f, module, f.parameter("weight", (features, 1, width)))


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
