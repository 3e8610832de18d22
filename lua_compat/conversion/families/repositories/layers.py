"""Layers that well-known repositories declare in their own Lua files.

Several repositories use one name for different layers. If the fields do not show which one it is, the layer
is left to Lua.
"""

import functools
from typing import Any

import torch
from torch import nn

from lua_compat import t7
from lua_compat.conversion.declared import declared_exports, declared_table
from lua_compat.conversion.families.convolution import convert_spatial
from lua_compat.conversion.reading import Conversion, Fields
from lua_compat.conversion.writing import Export, ModuleWriter
from lua_compat.torch_modules.repositories import layers


def _instance_normalization(f: Fields) -> nn.Module:
    if f.boolean("disabled"):
        return nn.Identity()
    planes = f.integer("nOutput")
    initial = torch.zeros(planes, dtype=f.dtype), torch.ones(planes, dtype=f.dtype)
    mean, variance = (f.tensor(name, required=False) for name in ("running_mean", "running_var"))
    images = f.integer("prev_N", f.integer("prev_batch_size", -1))
    inner = f.inner("bn")
    if inner is None:
        images = -1
    return layers.InstanceNormalization(
        weight=f.optional_parameter("weight"),
        bias=f.optional_parameter("bias"),
        running_mean=initial[0] if mean is None else mean,
        running_var=initial[1] if variance is None else variance,
        planes_mean=initial[0] if inner is None else inner.tensor("running_mean"),
        planes_variance=initial[1] if inner is None else inner.tensor("running_var"),
        nOutput=planes,
        eps=f.number("eps", 1e-5),
        images=images,
    )


def _one_hot(f: Fields) -> nn.Module:
    rows = next((f.tensor(name) for name in ("_eye", "eye") if f.get(name) is not None), None)
    if rows is None:
        rows = torch.eye(f.integer("outputSize"))
    return layers.IndexRows(rows=rows.to(f.dtype))


def _sampler(f: Fields) -> nn.Module:
    """Refuses other repositories' Samplers: choices from a distribution, and other gradients."""
    for name in ("nInputDims", "mu", "argmax", "keep_long", "nMix"):
        if f.get(name) is not None:
            f.fail(f"a Sampler with a field {name} differs from VAE-Torch's: give its Lua file")
    return layers.Sampler()


def _gaussian_sampler(f: Fields) -> nn.Module:
    if f.get("mean") is None and f.get("std") is None:
        return _sampler(f)
    return layers.GaussianSampler(mean=f.number("mean", 0), std=f.number("std", 1))


def _upsample(f: Fields) -> nn.Module:
    return convert_spatial(
        f,
        functools.partial(
            layers.SpatialConvolutionUpsample, factor=f.integer("factor"), planes=f.integer("nOutputPlaneU")
        ),
    )


CONVERSIONS: dict[str, Conversion] = {
    **declared_table(
        layers.ShaveImage,
        layers.TotalVariation,
        layers.TVLoss,
        layers.KLDPenalty,
        layers.GenNoise,
        layers.NoiseFill,
        layers.Gaussian,
        layers.Uniform,
        layers.ScaleTable,
        layers.InplaceClip01,
        layers.AuxiliaryLossTable,
        layers.Clip,
        layers.ArgMax,
        layers.SpatialFeatNormalization,
        layers.TotalDropout,
        layers.BatchTopK,
        layers.BinActiveZ,
        layers.DenseConnectLayerCustom,
    ),
    "nn.InstanceNormalization": _instance_normalization,
    "OneHot": _one_hot,
    "nn.Rectifier": lambda f: nn.ReLU(),
    "nn.Sampler": _sampler,
    "nn.GaussianSampler": _gaussian_sampler,
    "nn.SpatialConvolutionUpsample": _upsample,
    "nn.Inception": lambda f: f.only_child(),  # of dpnn, as the next one: built of nn's layers
    "nn.FireModule": lambda f: f.only_child(),
}


def _instance_export(w: ModuleWriter, m: Any) -> t7.TorchObject:
    fields = {"nOutput": m.nOutput, "eps": m.eps, "affine": m.weight is not None, "momentum": 0}
    return w.object(
        "nn.InstanceNormalization", weight=m.weight, bias=m.bias, running_mean=m.running_mean,
        running_var=m.running_var, prev_N=-1, prev_batch_size=-1, **fields,
    )  # fmt: skip


def _one_hot_export(w: ModuleWriter, m: Any) -> t7.TorchObject:
    return w.object("OneHot", outputSize=m.rows.shape[1], _eye=m.rows)


EXPORTS: dict[type, Export] = {
    **declared_exports(
        {
            layers.ShaveImage: None,
            layers.TotalVariation: lambda w, m: {"x_diff": w.empty(), "y_diff": w.empty()},
            layers.TVLoss: lambda w, m: {"x_diff": w.empty(), "y_diff": w.empty()},
            layers.KLDPenalty: None,
            layers.Sampler: lambda w, m: {"gradInput": []},
            layers.GaussianSampler: None,
            layers.Gaussian: None,
            layers.Uniform: None,
            layers.GenNoise: None,
            layers.NoiseFill: None,
            layers.ScaleTable: lambda w, m: {
                "gradInput": [],
                "grad_tmp": w.empty(),
                "scale": w.empty(),
            },
            layers.InplaceClip01: None,
            layers.AuxiliaryLossTable: lambda w, m: {
                "gradInput": [],
                "output_table": [],
                "output_tensor": w.empty(),
            },
            layers.Clip: None,
            layers.ArgMax: None,
            layers.SpatialFeatNormalization: lambda w, m: {"noOfFeats": m.mean.numel()},
            layers.TotalDropout: None,
            layers.BatchTopK: None,
            layers.BinActiveZ: None,
            layers.DenseConnectLayerCustom: lambda w, m: {
                "modules": [w.child(m.net1, ".net1"), w.child(m.net2, ".net2")],
                "opt": t7.LuaTable({"optMemory": 3}),
                "gradInput": [],
                "output": [],
                **{name: w.empty() for name in ("input_c", "saved_bn_running_mean", "saved_bn_running_var")},
            },
        }
    ),
    layers.InstanceNormalization: _instance_export,
    layers.IndexRows: _one_hot_export,
}
