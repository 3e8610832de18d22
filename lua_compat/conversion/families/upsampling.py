"""Upsampling of images and volumes."""

from typing import Any

from torch import nn

from lua_compat import t7
from lua_compat.conversion.reading import Conversion, Fields
from lua_compat.conversion.writing import Export, ModuleWriter
from lua_compat.torch_modules import upsampling


def _upsampling(f: Fields, linear: bool) -> nn.Module:
    size = [f.get(name) for name in ("odepth", "oheight", "owidth")]
    scale = f.get("scale_factor")
    return upsampling.SpatialUpSampling(
        scale_factor=None if scale is None else f.integer("scale_factor"),
        size=None if scale is not None else tuple(int(n) for n in size if n is not None),
        linear=linear,
    )


CONVERSIONS: dict[str, Conversion] = {
    "nn.SpatialUpSamplingNearest": lambda f: _upsampling(f, linear=False),
    "nn.SpatialUpSamplingBilinear": lambda f: _upsampling(f, linear=True),
    "nn.UpSampling": lambda f: _upsampling(f, linear=f.get("mode") == "linear"),
    "nn.PixelShuffle": lambda f: nn.PixelShuffle(f.integer("upscaleFactor")),
}


def _upsampling_export(w: ModuleWriter, m: upsampling.SpatialUpSampling) -> t7.TorchObject:
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
    """Writes an nn.Upsample of images, by a whole factor or, bilinear, to a size."""
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
    upsampling.SpatialUpSampling: _upsampling_export,
    nn.Upsample: _upsample_export,
    nn.UpsamplingNearest2d: _upsample_export,
    nn.UpsamplingBilinear2d: _upsample_export,
    nn.PixelShuffle: lambda w, m: w.object(
        "nn.PixelShuffle", upscaleFactor=m.upscale_factor, upscaleFactorSquared=m.upscale_factor**2
    ),
}
