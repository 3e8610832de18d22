"""Any operation for which the engine has no layer, by PyTorch's operators."""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn import Parameter

from convnet_benchmarks.nets.channels_last import contiguous, is_unsafe
from convnet_benchmarks.nets.engine.layers.layer import Layer, gradient_of
from convnet_benchmarks.nets.engine.memory import Memory
from convnet_benchmarks.nets.engine.trace import Operation, Slot, map_leaves
from convnet_benchmarks.nets.engine.values import Value
from convnet_benchmarks.nets.graph import parameter_gradients
from convnet_benchmarks.nets.pair import pair
from convnet_benchmarks.nets.phases import WEIGHT_GRADIENT

_CONVOLUTIONS: dict[Any, tuple[str, ...]] = {
    **dict.fromkeys((F.conv2d, torch.conv2d), ("stride", "padding", "dilation")),
    **dict.fromkeys(
        (F.conv_transpose2d, torch.conv_transpose2d),
        ("stride", "padding", "output_padding", "groups", "dilation"),
    ),
}

_DEFAULTS = {"stride": 1, "padding": 0, "dilation": 1}


class StockLayer(Layer):
    """Any operation, on a small autograd graph.

    It gets images channels last, except those that PyTorch cannot run that way.

    If there is a hook, updateGradInput computes the parameters' gradients as well, as a full backward does:
    the hook then runs once, on the same gradients as there.
    """

    mixes_images = True

    def __init__(
        self, operation: Operation, inputs: list[Value], output: Value, relu: bool, memory: Memory
    ) -> None:
        super().__init__(operation, inputs, output, relu, memory)
        self._operation = operation
        self._leaves: list[Tensor] = []
        self._result = torch.empty(0)
        self._has_hook = bool(operation.hook)
        self._contiguous = _wants_contiguous(operation, [*inputs, output])
        self._of_parameters: dict[Parameter, Tensor | None] = {}  # their gradients, if there is a hook
        if self._has_hook:
            self.fallback = f"PyTorch's autograd, because of a {operation.hook}"

    @classmethod
    def recognises(cls, operation: Operation, inputs: Sequence[Value], output: Value) -> bool:
        return True

    def parameters(self) -> list[Parameter]:
        return self._operation.parameters

    def forward(self) -> None:
        operation = self._operation
        # With separate version counters: other values in the same memory (parts of a concatenation) are
        # written later.
        images = [value.data.data for value in self.inputs]
        if self._contiguous:
            images = [contiguous(one) for one in images]
        self._leaves = [one.requires_grad_() for one in images]
        by_index = dict(zip(operation.inputs, self._leaves, strict=True))
        with torch.enable_grad():

            def fill(item: Any) -> Any:
                if not isinstance(item, Slot):
                    return item
                leaf = by_index[item.index]
                return leaf.clone() if operation.in_place else leaf

            result: Tensor = operation.call(
                *map_leaves(operation.args, fill), **map_leaves(operation.kwargs, fill)
            )
        self._result = result
        self.output.data.copy_(result.detach())

    def _grad_output(self) -> Tensor:
        """Returns the output's gradient in the layout of the result: PyTorch's batch normalisation (also
        inside other modules) computes wrong results from different layouts."""
        given, result = self.output.grad, self._result
        return given if given.stride() == result.stride() else torch.empty_like(result).copy_(given)

    def input_gradient(self) -> None:
        trained = [parameter for parameter in self.parameters() if parameter.requires_grad]
        wanted = [*self._leaves, *(trained if self._has_hook else [])]
        found: Sequence[Tensor | None] = [None] * len(wanted)
        if self._result.requires_grad:
            with torch.enable_grad():
                found = torch.autograd.grad(
                    self._result, wanted, self._grad_output(), retain_graph=True, allow_unused=True
                )
        inputs = len(self._leaves)
        self._of_parameters = dict(zip(trained, found[inputs:], strict=False))
        for target, gradient in zip(self.grad_inputs, found[:inputs], strict=True):
            if gradient is None:
                target.zero_()
            else:
                target.copy_(gradient)

    def weight_gradient(self) -> None:
        if not self._result.requires_grad:
            return
        of_parameters = self._of_parameters
        if not self._has_hook:
            parameters = self.parameters()
            found = parameter_gradients([self._result], [self._grad_output()], parameters, self._leaves)
            of_parameters = dict(zip(parameters, found, strict=True))
        for parameter, gradient in of_parameters.items():
            if gradient is not None and parameter.requires_grad:
                gradient_of(parameter, self._memory).add_(gradient)

    def algorithm(self, phase: str) -> str:
        return "stock" if phase != WEIGHT_GRADIENT or self.has_parameters else ""


def _wants_contiguous(operation: Operation, values: list[Value]) -> bool:
    """Returns whether it may be, or contain, a convolution that is not safe channels last. ``values``: its
    inputs and output. For a transposed convolution, input and output change roles."""
    call: Any = operation.call
    sizes: tuple[Any, ...]
    if isinstance(call, nn.Conv2d | nn.ConvTranspose2d):
        sizes = (call.kernel_size, call.stride, call.padding, call.dilation)
    elif isinstance(call, nn.Module):
        # The inside of a module that was not traced (because of a hook or an untraceable part) is unknown.
        whole = next(call.children(), None) is not None
        return whole or not type(call).__module__.startswith("torch.nn.")
    elif call in _CONVOLUTIONS:
        given = operation.arguments("input", "weight", "bias", *_CONVOLUTIONS[call])
        if isinstance(given["weight"], Slot):
            return True
        optional = (given.get(name, default) for name, default in _DEFAULTS.items())
        sizes = (given["weight"].shape[2:], *optional)
    else:
        return False
    if isinstance(sizes[2], str):  # "same" has no stride, "valid" no padding
        sizes = (*sizes[:2], 0, sizes[3])
    kernel, stride, padding, dilation = (pair(size)[1] for size in sizes)
    return is_unsafe(kernel, stride, padding, dilation, min(value.shape[-1] for value in values))
