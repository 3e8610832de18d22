"""``print(model)`` as Torch7 prints it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from torch import nn

from convnet_benchmarks.nets.modules.torch7 import CAddTable, Concat, ConcatTable, MulConstant, View
from convnet_benchmarks.nets.pair import pair

_SEQUENTIAL_INDENT = "  "
_BRANCH_INDENT = "  |    "
_LAST_BRANCH_INDENT = "       "


@dataclass(frozen=True)
class ClassNames:
    """The Torch7 classes that a run's switches select; the defaults are those of ``-convMM true``."""

    convolution: str = "nn.SpatialConvolutionMM"
    max_pooling: str = "nn.SpatialMaxPooling"
    max_pooling_shows_sizes: bool = True  # cudnn's and ccn2's pooling print their bare name
    relu: str = "nn.ReLU"


def torch7_string(module: nn.Module, names: ClassNames | None = None) -> str:
    """Returns the text of ``tostring(module)`` in Torch7; a class unknown to Torch7 keeps its PyTorch
    text."""
    return _describe(module, names or ClassNames())


def torch7_path(name: str) -> str:
    """Returns the position of a module in ``print(model)`` from its name in ``named_modules()``: (2)(1) for
    '1.0'."""
    return "".join(f"({int(part) + 1})" for part in name.split(".") if part.isdigit()) or name


def _width_height(value: Any) -> str:
    height, width = pair(value)
    return f"{width},{height}"


def _convolution(module: nn.Conv2d, names: ClassNames) -> str:
    if module.groups != 1 or isinstance(module.padding, str):  # Torch7's nn has neither
        return str(module)
    if module.dilation != (1, 1):
        return _kernel("nn.SpatialDilatedConvolution", module, (0, 0), f", {_width_height(module.dilation)}")
    return _kernel(names.convolution, module, (0, 0))


def _transposed_convolution(module: nn.ConvTranspose2d, names: ClassNames) -> str:
    return _kernel("nn.SpatialFullConvolution", module, module.output_padding)


def _kernel(name: str, module: nn.Conv2d | nn.ConvTranspose2d, adjusted: Any, more: str = "") -> str:
    """Returns planes, kernel, and stride, padding and adjustment up to the last that Torch7 shows."""
    height, width = module.kernel_size
    text = f"{name}({module.in_channels} -> {module.out_channels}, {width}x{height}"
    assert not isinstance(module.padding, str)  # such a convolution keeps its PyTorch text
    padding = pair(module.padding)
    if module.stride != (1, 1) or padding != (0, 0):
        text += f", {_width_height(module.stride)}"
    if padding != (0, 0):
        text += f", {_width_height(padding)}"
    if pair(adjusted) != (0, 0):
        text += f", {_width_height(adjusted)}"
    return text + more + (")" if module.bias is not None else ") without bias")


def _volumetric_convolution(module: nn.Conv3d, names: ClassNames) -> str:
    if module.groups != 1 or isinstance(module.padding, str):
        return str(module)
    size, stride, padding = map(_triple, (module.kernel_size, module.stride, module.padding))
    text = f"nn.VolumetricConvolution({module.in_channels} -> {module.out_channels}, {_by(size)}"
    if any(padding) or stride != (1, 1, 1):
        text += f", {_listed(stride)}"
    return text + (f", {_listed(padding)}" if any(padding) else "") + ")"


def _volumetric_max_pooling(module: nn.MaxPool3d, names: ClassNames) -> str:
    size, stride, padding = map(_triple, (module.kernel_size, module.stride, module.padding))
    text = f"nn.VolumetricMaxPooling({_by(size)}, {_listed(stride)}"
    return text + (f", {_listed(padding)}" if any(padding) else "") + ")"


def _triple(value: Any) -> tuple[int, int, int]:
    """Returns a torch.nn layer's sizes for time, height and width in Torch7's order: time, width,
    height."""
    time, height, width = value if isinstance(value, (tuple, list)) else (value,) * 3
    return time, width, height


def _by(values: Iterable[int]) -> str:
    return "x".join(map(str, values))


def _listed(values: Iterable[int]) -> str:
    return ",".join(map(str, values))


def _pooling(name: str, module: Any) -> str:
    height, width = pair(module.kernel_size)
    text = f"{name}({width}x{height}, {_width_height(module.stride)}"
    if pair(module.padding) != (0, 0):
        text += f", {_width_height(module.padding)}"
    return text + ")"


def _max_pooling(module: nn.MaxPool2d, names: ClassNames) -> str:
    return _pooling(names.max_pooling, module) if names.max_pooling_shows_sizes else names.max_pooling


def _linear(module: nn.Linear, names: ClassNames) -> str:
    text = f"nn.Linear({module.in_features} -> {module.out_features})"
    return text if module.bias is not None else text + " without bias"


def _sequential(module: nn.Sequential, names: ClassNames) -> str:
    chain = " -> ".join(["input", *(f"({i + 1})" for i in range(len(module))), "output"])
    lines = [f"[{chain}]", *(f"({i + 1}): {_describe(child, names)}" for i, child in enumerate(module))]
    body = "\n".join(lines).replace("\n", "\n" + _SEQUENTIAL_INDENT)
    return f"nn.Sequential {{\n{_SEQUENTIAL_INDENT}{body}\n}}"


def _concat(module: Concat, names: ClassNames) -> str:
    return _branches("nn.Concat", module.branches, names)


def _branches(name: str, branches: nn.ModuleList, names: ClassNames) -> str:
    lines = ["input"]
    for i, branch in enumerate(branches):
        last = i == len(branches) - 1
        indent = _LAST_BRANCH_INDENT if last else _BRANCH_INDENT
        arrow = "   `-> " if last else "  |`-> "
        text = _describe(branch, names).replace("\n", "\n" + indent)
        lines.append(f"{arrow}({i + 1}): {text}")
    lines.append("   ... -> output")
    body = "\n".join(lines).replace("\n", "\n" + _SEQUENTIAL_INDENT)
    return f"{name} {{\n{_SEQUENTIAL_INDENT}{body}\n}}"


_FORMATS: dict[type, Callable[[Any, ClassNames], str]] = {
    nn.Sequential: _sequential,
    Concat: _concat,
    ConcatTable: lambda module, names: _branches("nn.ConcatTable", module, names),
    CAddTable: lambda module, names: "nn.CAddTable",
    MulConstant: lambda module, names: "nn.MulConstant",
    nn.Conv2d: _convolution,
    nn.ConvTranspose2d: _transposed_convolution,
    nn.Conv3d: _volumetric_convolution,
    nn.Linear: _linear,
    nn.MaxPool2d: _max_pooling,
    nn.MaxPool3d: _volumetric_max_pooling,
    nn.AvgPool2d: lambda module, names: _pooling("nn.SpatialAveragePooling", module),
    nn.AdaptiveAvgPool2d: lambda module, names: "nn.SpatialAdaptiveAveragePooling",
    nn.ReLU: lambda module, names: names.relu,
    nn.ReLU6: lambda module, names: "nn.ReLU6",
    nn.LeakyReLU: lambda module, names: f"nn.LeakyReLU({module.negative_slope:g})",
    nn.Threshold: lambda module, names: "nn.Threshold",
    nn.LogSoftmax: lambda module, names: "nn.LogSoftMax",
    nn.Dropout: lambda module, names: f"nn.Dropout({module.p:f})",
    nn.BatchNorm1d: lambda module, names: f"nn.BatchNormalization (2D) ({module.num_features})",
    nn.BatchNorm2d: lambda module, names: f"nn.SpatialBatchNormalization (4D) ({module.num_features})",
    nn.Identity: lambda module, names: "nn.Identity",
    nn.Embedding: lambda module, names: "nn.LookupTable",
    nn.Tanh: lambda module, names: "nn.Tanh",
    nn.Sigmoid: lambda module, names: "nn.Sigmoid",
    View: lambda module, names: f"nn.View({module.extra_repr()})",
}


def _describe(module: nn.Module, names: ClassNames) -> str:
    for kind in type(module).__mro__:
        if kind in _FORMATS:
            return _FORMATS[kind](module, names)
    return str(module)
