"""Which layer of the engine runs a traced operation."""

import operator
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn import Parameter

from nets.engine import layers
from nets.engine.shapes import ConvolutionShape
from nets.engine.trace import Operation, Slot

_RELUS = {F.relu, torch.relu, Tensor.relu}
_ADDS = {torch.add, operator.add, Tensor.add}
_CONCATS = {torch.cat, torch.concat, torch.concatenate}


@dataclass(frozen=True)
class Convolution:
    """A convolution's parameters and geometry, whether it was a module or a function call."""

    weight: Parameter
    bias: Parameter | None
    stride: tuple[int, int]
    padding: tuple[int, int]

    def shape(self, image_shape: tuple[int, int, int, int], dtype: torch.dtype) -> ConvolutionShape:
        """On inputs of ``image_shape`` (batch, height, width, channel)."""
        batch, height, width, _ = image_shape
        out_channels, in_channels, *kernel = self.weight.shape
        return ConvolutionShape(
            batch,
            in_channels,
            out_channels,
            (height, width),
            (kernel[0], kernel[1]),
            self.stride,
            self.padding,
            dtype,
        )


def recognise(operation: Operation, shapes: list[tuple[int, ...]], image_dims: int) -> type[layers.Layer]:
    """The layer class for ``operation``: StockLayer for what the engine has nothing better for.

    ``image_dims`` is 4 in a plan for batches and 3 in one for a single unbatched image.
    """
    call: Any = operation.call
    inputs = operation.inputs
    shape = shapes[inputs[0]]
    is_image = len(shape) == image_dims
    if operation.reshapes:
        return layers.Reshape
    if is_relu(operation):
        return layers.ReLU
    if isinstance(call, nn.Threshold):
        return layers.Threshold
    if (is_image and convolution(operation) is not None) or linear(operation) is not None:
        return layers.WeightedLayer
    if call in _ADDS and _is_plain_sum(operation, shapes):
        return layers.Add
    if call in _CONCATS and is_image and _joins_channels(operation, image_dims):
        return layers.Concat
    if _is(call, nn.LogSoftmax) and not is_image:
        return layers.LogSoftmax
    if _is(call, nn.BatchNorm1d, nn.BatchNorm2d) and call.training | (call.running_mean is not None):
        return layers.BatchNorm
    if _is(call, nn.Dropout) and call.training:
        return layers.Dropout
    if is_image and _is(call, nn.MaxPool2d) and not call.return_indices:
        return layers.MaxPool2d
    if is_image and _is(call, nn.AvgPool2d):
        return layers.AvgPool2d
    if is_image and _is(call, nn.AdaptiveAvgPool2d) and operation.shape[-2:] == (1, 1):
        return layers.GlobalAvgPool
    return layers.StockLayer


def _is(call: Any, *classes: type[nn.Module]) -> bool:
    """Whether ``call`` is one of the classes, or a subclass that computes the same, without hooks."""
    if not isinstance(call, classes):
        return False
    kept = any(type(call).forward is kind.forward for kind in classes)
    hooked = any(getattr(call, name) for name in ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks"))
    return kept and not hooked


def is_relu(operation: Operation) -> bool:
    return operation.call in _RELUS or _is(operation.call, nn.ReLU)


def convolution(operation: Operation) -> Convolution | None:
    """The convolution that ``operation`` is, if the engine has kernels for its kind."""
    call: Any = operation.call
    if _is(call, nn.Conv2d):
        plain = call.padding_mode == "zeros" and not isinstance(call.padding, str)
        options = (call.weight, call.bias, call.stride, call.padding, call.dilation, call.groups)
    elif call in (F.conv2d, torch.conv2d):
        defaults = {"bias": None, "stride": 1, "padding": 0, "dilation": 1, "groups": 1}
        names = ("input", "weight", *defaults)
        given = {**defaults, **dict(zip(names, operation.args, strict=False)), **operation.kwargs}
        options = tuple(given[name] for name in names[1:])
        plain = isinstance(given["input"], Slot) and not isinstance(given["padding"], str)
    else:
        return None
    weight, bias, stride, padding, dilation, groups = options
    if not plain or _pair(dilation) != (1, 1) or groups != 1 or not _usable(weight, bias):
        return None
    return Convolution(weight, bias, _pair(stride), _pair(padding))


def linear(operation: Operation) -> tuple[Parameter, Parameter | None] | None:
    """The weight and bias of the Linear layer that ``operation`` is."""
    call: Any = operation.call
    if _is(call, nn.Linear):
        weight, bias = call.weight, call.bias
    elif call is F.linear and isinstance(operation.args[0], Slot):
        given = {
            "bias": None,
            **dict(zip(("weight", "bias"), operation.args[1:], strict=False)),
            **operation.kwargs,
        }
        weight, bias = given["weight"], given["bias"]
    else:
        return None
    return (weight, bias) if _usable(weight, bias) else None


def _usable(weight: Any, bias: Any) -> bool:
    """Plain parameters in PyTorch's usual layout (a parametrised weight is computed, and not a Parameter)."""
    return (
        isinstance(weight, Parameter)
        and weight.is_contiguous()
        and (bias is None or isinstance(bias, Parameter))
    )


def _is_plain_sum(operation: Operation, shapes: list[tuple[int, ...]]) -> bool:
    slots = [item for item in operation.args if isinstance(item, Slot)]
    return (
        len(slots) == len(operation.args) == 2
        and not operation.kwargs
        and slots[0] != slots[1]
        and shapes[slots[0].index] == shapes[slots[1].index]
    )


def _joins_channels(operation: Operation, image_dims: int) -> bool:
    parts = operation.args[0]
    dim = operation.args[1] if len(operation.args) > 1 else operation.kwargs.get("dim", 0)
    distinct = len({part.index for part in parts if isinstance(part, Slot)}) == len(parts)
    return distinct and dim % image_dims == image_dims - 3


def _pair(value: Any) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else (int(value[0]), int(value[-1]))
