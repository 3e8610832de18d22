"""Convolutions."""

from collections.abc import Callable, Mapping
from typing import Any

from torch import nn

from lua_compat import t7
from lua_compat.conversion.declared import declared_exports, declared_table
from lua_compat.conversion.reading import Conversion, Fields
from lua_compat.conversion.writing import Export, ModuleWriter
from lua_compat.torch_modules import convolution

_IMAGE = ("H", "W")
_VOLUME = ("T", "H", "W")


def _common(f: Fields, axes: tuple[str, ...]) -> dict[str, Any]:
    """Returns the arguments that torch.nn's convolutions share. ``axes``: the letters of kH, dH, padH, ..."""
    # Files from before 2015 have a single ``padding``.
    old = f.get("padding")
    padding = f.integers(*(f"pad{axis}" for axis in axes), default=old and f.integer("padding"))
    if min(padding) < 0:
        f.fail(f"negative padding {padding} is not supported")
    return {
        "kernel_size": f.integers(*(f"k{axis}" for axis in axes)),
        "stride": f.integers(*(f"d{axis}" for axis in axes)),
        "padding": padding,
        "bias": f.get("bias") is not None,
        "device": "meta",  # the parameters come from the file
    }


def _with_parameters(f: Fields, module: Any, weight: nn.Parameter) -> nn.Module:
    module.weight, module.bias = weight, f.optional_parameter("bias")
    result: nn.Module = module
    return result


def _convolution(f: Fields, kind: Callable[..., Any], axes: tuple[str, ...]) -> nn.Module:
    planes_in, planes_out = f.integers("nInputPlane", "nOutputPlane")
    groups = f.integer("groups", 1)
    dilation = f.integers(*(f"dilation{axis}" for axis in axes), default=1)
    common = _common(f, axes)
    module = kind(planes_in, planes_out, dilation=dilation, groups=groups, **common)
    shape = (planes_out, planes_in // groups, *common["kernel_size"])
    return _with_parameters(f, module, f.parameter("weight", shape))


def convert_spatial(f: Fields, kind: Callable[..., nn.Conv2d] = nn.Conv2d) -> nn.Module:
    """Returns a ``kind`` with the fields of a convolution of images."""
    return _convolution(f, kind, _IMAGE)


def _volumetric(f: Fields) -> nn.Module:
    return _convolution(f, nn.Conv3d, _VOLUME)


def _full_convolution(f: Fields, kind: Any, axes: tuple[str, ...]) -> nn.Module:
    planes_in, planes_out = f.integers("nInputPlane", "nOutputPlane")
    adjustment = f.integers(*(f"adj{axis}" for axis in axes))
    common = _common(f, axes)
    module = kind(planes_in, planes_out, output_padding=adjustment, **common)
    return _with_parameters(f, module, f.parameter("weight", (planes_in, planes_out, *common["kernel_size"])))


def _spatial_full(f: Fields) -> nn.Module:
    return _full_convolution(f, convolution.SpatialFullConvolution, _IMAGE)


def _volumetric_full(f: Fields) -> nn.Module:
    if f.get("adjW") is None:
        f.fail("a file older than output adjustment (no field adjW) is not supported")
    return _full_convolution(f, convolution.VolumetricFullConvolution, _VOLUME)


def _depth_wise(f: Fields) -> nn.Module:
    """Converts weight (multiplier, planes * kH * kW) and bias (multiplier, planes): a grouped convolution,
    transposed."""
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
    steps = {name: f.integer(name) for name in ("dH", "dW")}
    pads = {name: f.integer(name) for name in ("padH", "padW")}
    image = {name: f.integer(name) for name in ("iH", "iW", "kH", "kW")}
    return convolution.SpatialConvolutionLocal(
        weight=f.parameter("weight", shape), bias=f.parameter("bias"), **image, **steps, **pads
    )


def _temporal(f: Fields) -> nn.Module:
    features_in, features_out, width = f.integers("inputFrameSize", "outputFrameSize", "kW")
    module = convolution.TemporalConvolution(
        features_in, features_out, width, stride=f.integer("dW"), device="meta"
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
        stride=f.integer("dW"),
        groups=features,
        bias=f.get("bias") is not None,
        device="meta",
        featFirst=f.boolean("featFirst"),
    )
    return _with_parameters(f, module, f.parameter("weight", (features, 1, width)))


CONVERSIONS: dict[str, Conversion] = {
    **declared_table(
        convolution.SpatialConvolutionMap,
        convolution.SpatialSubSampling,
        convolution.TemporalSubSampling,
    ),
    "nn.SpatialConvolution": convert_spatial,
    "nn.SpatialConvolutionMM": convert_spatial,
    "nn.SpatialDilatedConvolution": convert_spatial,
    "nn.SpatialDepthWiseConvolution": _depth_wise,
    "nn.SpatialConvolutionLocal": _local,
    "nn.SpatialFullConvolution": _spatial_full,
    "nn.VolumetricConvolution": _volumetric,
    "nn.VolumetricDilatedConvolution": _volumetric,
    "nn.VolumetricFullConvolution": _volumetric_full,
    "nn.TemporalConvolution": _temporal,
    "nn.TemporalRowConvolution": _temporal_row,
}


def _sizes(w: ModuleWriter, m: Any, axes: tuple[str, ...]) -> dict[str, int]:
    """Returns kH, dH, padH, ... of a torch.nn convolution."""
    w.require(m.padding_mode == "zeros", f"padding_mode={m.padding_mode!r} has no counterpart")
    padding = m.padding
    if isinstance(padding, str):
        spans = [d * (k - 1) for d, k in zip(m.dilation, m.kernel_size, strict=True)]
        w.require(padding == "valid" or not any(span % 2 for span in spans), f"padding={padding!r} is uneven")
        padding = [0 if padding == "valid" else span // 2 for span in spans]
    sizes = {}
    for place, axis in enumerate(axes):
        sizes[f"k{axis}"] = m.kernel_size[place]
        sizes[f"d{axis}"] = m.stride[place]
        sizes[f"pad{axis}"] = padding[place]
    return sizes


def _with_windows(
    w: ModuleWriter, m: Any, name: str, axes: tuple[str, ...], own: Mapping[str, Any]
) -> t7.TorchObject:
    """Returns a layer of Torch7's of this name; ``own``: the fields in which it differs from ``m``."""
    fields = {
        "nInputPlane": m.in_channels,
        "nOutputPlane": m.out_channels,
        "weight": m.weight,
        "bias": m.bias,
        "finput": w.empty(),
        "fgradInput": w.empty(),
        **_sizes(w, m, axes),
    }
    return w.object(f"nn.{name}", **{**fields, **own})


def _convolution_export(name: str, axes: tuple[str, ...]) -> Export:
    def export(w: ModuleWriter, m: Any) -> t7.TorchObject:
        if m.groups > 1:
            return _depth_wise_export(w, m)
        dilated = any(step > 1 for step in m.dilation)
        dilation = {f"dilation{axis}": step for axis, step in zip(axes, m.dilation, strict=True)}
        of_class = name.replace("Convolution", "DilatedConvolution") if dilated else name
        return _with_windows(w, m, of_class, axes, dilation if dilated else {})

    return export


def _depth_wise_export(w: ModuleWriter, m: Any) -> t7.TorchObject:
    """Reverses ``_depth_wise``; Torch7's nn has no other groups."""
    depth_wise = isinstance(m, nn.Conv2d) and m.groups == m.in_channels and set(m.dilation) == {1}
    w.require(depth_wise, f"{m.groups} groups: nn has only one filter bank for each plane, in 2-D, undilated")
    planes, multiplier = m.in_channels, m.out_channels // m.in_channels
    weight = m.weight.detach().reshape(planes, multiplier, -1).transpose(0, 1).reshape(multiplier, -1)
    bias = None
    if m.bias is not None:
        bias = nn.Parameter(m.bias.detach().reshape(planes, multiplier).T.contiguous())
    own = {"nInputPlane": planes, "nOutputPlane": multiplier, "weight": nn.Parameter(weight), "bias": bias}
    return _with_windows(w, m, "SpatialDepthWiseConvolution", _IMAGE, own)


def _full_export(name: str, axes: tuple[str, ...]) -> Export:
    def export(w: ModuleWriter, m: Any) -> t7.TorchObject:
        w.require(m.groups == 1 and set(m.dilation) == {1}, "groups and dilation have no counterpart")
        adjustment = {f"adj{axis}": extra for axis, extra in zip(axes, m.output_padding, strict=True)}
        return _with_windows(w, m, name, axes, adjustment)

    return export


def _local_export(w: ModuleWriter, m: convolution.SpatialConvolutionLocal) -> t7.TorchObject:
    height, width, planes_out, planes_in, _, _ = m.weight.shape
    names = ("kW", "kH", "dW", "dH", "padW", "padH", "iW", "iH")
    return w.object(
        "nn.SpatialConvolutionLocal",
        nInputPlane=planes_in,
        nOutputPlane=planes_out,
        oH=height,
        oW=width,
        weight=m.weight,
        bias=m.bias,
        **{name: getattr(m, name) for name in names},
    )


def _temporal_export(w: ModuleWriter, m: convolution.TemporalConvolution) -> t7.TorchObject:
    weight = m.weight.detach().transpose(1, 2).reshape(m.out_channels, -1)
    return w.object(
        "nn.TemporalConvolution",
        inputFrameSize=m.in_channels,
        outputFrameSize=m.out_channels,
        kW=m.kernel_size[0],
        dW=m.stride[0],
        weight=nn.Parameter(weight),
        bias=m.bias,
    )


def _temporal_row_export(w: ModuleWriter, m: convolution.TemporalRowConvolution) -> t7.TorchObject:
    return w.object(
        "nn.TemporalRowConvolution",
        inputFrameSize=m.in_channels,
        kW=m.kernel_size[0],
        dW=m.stride[0],
        featFirst=m.featFirst,
        weight=m.weight,
        bias=m.bias,
    )


def _kernel_sizes(w: ModuleWriter, m: Any) -> dict[str, Any]:
    return {"kH": m.weight.shape[1], "kW": m.weight.shape[2]}


def _planes(w: ModuleWriter, m: Any) -> dict[str, Any]:
    return {"nInputPlane": m.weight.shape[0]}


EXPORTS: dict[type, Export] = {
    **declared_exports(
        {
            convolution.SpatialConvolutionMap: _kernel_sizes,
            convolution.SpatialSubSampling: _planes,
            convolution.TemporalSubSampling: lambda w, m: {"inputFrameSize": m.weight.shape[0]},
        }
    ),
    nn.Conv2d: _convolution_export("SpatialConvolution", _IMAGE),
    nn.Conv3d: _convolution_export("VolumetricConvolution", _VOLUME),
    nn.ConvTranspose2d: _full_export("SpatialFullConvolution", _IMAGE),
    nn.ConvTranspose3d: _full_export("VolumetricFullConvolution", _VOLUME),
    convolution.SpatialFullConvolution: _full_export("SpatialFullConvolution", _IMAGE),
    convolution.VolumetricFullConvolution: _full_export("VolumetricFullConvolution", _VOLUME),
    convolution.SpatialConvolutionLocal: _local_export,
    convolution.TemporalConvolution: _temporal_export,
    convolution.TemporalRowConvolution: _temporal_row_export,
}
