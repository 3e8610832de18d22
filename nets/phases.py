"""Torch7's three phases - updateOutput, updateGradInput, accGradParameters - on any torch.nn.Module.

Autograd computes both gradients in one sweep; Torch7 computed them one after the other, and its benchmarks
time them apart. Here updateGradInput asks autograd for the gradient of the input and of the output of every
module that has parameters, and for nothing else, so that no parameter gradient is computed; accGradParameters
then computes each module's parameter gradients alone, from its input and the gradient kept for its output.
"""

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, get_gradient_edge


class Phases(Protocol):
    """What a benchmark times: any engine that computes the three phases of one module."""

    def updateOutput(self, input: Tensor) -> Tensor:
        """The module's output for ``input``."""

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        """The gradient of ``input`` alone. updateOutput has been called with this ``input``."""

    def accGradParameters(self, input: Tensor, gradOutput: Tensor) -> None:
        """Adds every parameter's gradient to its ``.grad``. updateGradInput has been called before."""

    def zeroGradParameters(self) -> None:
        """Sets every parameter's ``.grad`` to zeros, making it where there is none."""

    def close(self) -> None:
        """Gives the module back as it was."""


@dataclass(slots=True)
class _Call:
    """One use of a module with parameters: what its parameter gradients will be computed from."""

    add_parameter_gradients: Callable[[tuple[Tensor | None, ...]], None]
    output_edges: tuple[GradientEdge, ...]
    grad_outputs: tuple[Tensor | None, ...] = ()


class AutogradPhases:
    """The three phases by PyTorch's own kernels and graph.

    While it is open the module's forward records what accGradParameters needs; ``close()`` (or leaving a
    ``with`` block) ends that. A module called more than once, and parameters shared between modules, add up
    as in a full backward. Modules with parameters of their own are units: for Conv1d/2d/3d and Linear the
    gradients come straight from PyTorch's kernels; any other unit runs on a small graph of its own.
    """

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self._calls: list[_Call] = []
        self._gradients_kept = False
        self._input: Tensor | None = None
        self._graph_input: Tensor | None = None
        self._graph_output: Tensor | None = None
        self._units = list(_units(module))
        for unit in self._units:
            add_gradients = _DIRECT_GRADIENTS.get(type(unit))
            forward = unit.forward
            if add_gradients is not None and not _pads_otherwise(unit):
                recorded = functools.partial(self._forward_direct, unit, forward, add_gradients)
            else:
                recorded = functools.partial(self._forward_local_graph, unit, forward)
            setattr(unit, "forward", recorded)  # noqa: B010 - an instance attribute over the class's method

    def close(self) -> None:
        for unit in self._units:
            del unit.forward
        self._units = []
        self._calls.clear()
        self._input = self._graph_input = self._graph_output = None

    def __enter__(self) -> "AutogradPhases":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def updateOutput(self, input: Tensor) -> Tensor:
        self._calls.clear()
        self._gradients_kept = False
        self._graph_output = None  # frees the last graph before the next one is made
        self._input = input
        self._graph_input = input.detach().requires_grad_(input.is_floating_point())
        with torch.enable_grad():
            self._graph_output = self.module(self._graph_input)
        return self._graph_output.detach()

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        if self._graph_output is None or self._graph_input is None or input is not self._input:
            raise RuntimeError("updateGradInput needs updateOutput of the same input first")
        wanted: list[Any] = [self._graph_input] if self._graph_input.requires_grad else []
        for call in self._calls:
            wanted += call.output_edges
        gradients = iter(
            torch.autograd.grad(self._graph_output, wanted, gradOutput, retain_graph=True, allow_unused=True)
        )
        gradInput = next(gradients) if self._graph_input.requires_grad else None
        for call in self._calls:
            call.grad_outputs = tuple(next(gradients) for _ in call.output_edges)
        self._gradients_kept = True
        return torch.zeros_like(input) if gradInput is None else gradInput

    def accGradParameters(self, input: Tensor, gradOutput: Tensor) -> None:
        if input is not self._input or not self._gradients_kept:
            raise RuntimeError("accGradParameters needs updateGradInput of the same input first")
        with torch.no_grad():
            for call in self._calls:
                call.add_parameter_gradients(call.grad_outputs)

    def zeroGradParameters(self) -> None:
        for parameter in self.module.parameters():
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            else:
                parameter.grad.zero_()

    def _forward_direct(
        self,
        unit: Any,
        forward: Callable[[Tensor], Tensor],
        add_gradients: "Callable[[Any, Tensor, Tensor], None]",
        input: Tensor,
    ) -> Tensor:
        output = forward(input)
        # An in-place layer after this one (ReLU) rewrites the history of the tensor, and where that is a view
        # (one sample: a squeezed batch) of the edge to it; the edge to its base stays what it is.
        source = output._base if output._is_view() and output._base is not None else output
        if source.numel() != output.numel():
            raise TypeError(f"{type(unit).__name__} returned a part of a larger tensor")

        def add_parameter_gradients(grad_outputs: tuple[Tensor | None, ...]) -> None:
            if grad_outputs[0] is not None:
                add_gradients(unit, input, grad_outputs[0].reshape(shape))

        shape = output.shape
        self._calls.append(_Call(add_parameter_gradients, (get_gradient_edge(source),)))
        return output

    def _forward_local_graph(
        self, unit: nn.Module, forward: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        if any(map(_holds_gradients, [*kwargs.values(), *(a for a in args if not isinstance(a, Tensor))])):
            raise TypeError(
                f"{type(unit).__name__} has parameters and takes tensors by keyword or in a container; "
                "the phases can follow its positional tensors only"
            )
        local = _LocalGraph(functools.partial(forward, **kwargs), args)
        outputs = _LocalGraphFunction.apply(local, torch.empty(0, requires_grad=True), *args)
        parameters = [parameter for parameter in unit.parameters() if parameter.requires_grad]

        def add_parameter_gradients(grad_outputs: tuple[Tensor | None, ...]) -> None:
            gradients = local.gradients(parameters, grad_outputs)
            for parameter, gradient in zip(parameters, gradients, strict=True):
                if gradient is not None:
                    _accumulate(parameter, gradient)

        edges = tuple(get_gradient_edge(output) for output in outputs if output.requires_grad)
        self._calls.append(_Call(add_parameter_gradients, edges))
        return local.as_returned(outputs)


class _LocalGraph:
    """One module's forward on a graph cut off from the rest, so that its gradients can be asked for apart."""

    def __init__(self, forward: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self._forward = forward
        self.inputs = [
            arg.detach().requires_grad_(arg.requires_grad) if isinstance(arg, Tensor) else arg for arg in args
        ]
        self._returned: Any = None
        self.outputs: tuple[Tensor, ...] = ()

    def run(self) -> tuple[Tensor, ...]:
        """The output tensors, detached. The module returns one tensor, or a tuple of tensors and constants."""
        with torch.enable_grad():
            self._returned = self._forward(*self.inputs)
        results = self._returned if isinstance(self._returned, tuple) else (self._returned,)
        self.outputs = tuple(result for result in results if isinstance(result, Tensor))
        if any(_holds_gradients(result) for result in results if not isinstance(result, Tensor)):
            raise TypeError("a module with parameters must return a tensor or a tuple of tensors")
        return tuple(output.detach() for output in self.outputs)

    def as_returned(self, outputs: tuple[Tensor, ...]) -> Any:
        """``outputs`` in the form in which the module returned its own."""
        if not isinstance(self._returned, tuple):
            return outputs[0]
        tensors = iter(outputs)
        return tuple(next(tensors) if isinstance(result, Tensor) else result for result in self._returned)

    def gradients(
        self, wanted: list[Any], grad_outputs: tuple[Tensor | None, ...]
    ) -> tuple[Tensor | None, ...]:
        differentiable = [output for output in self.outputs if output.requires_grad]
        pairs = [
            (output, gradient)
            for output, gradient in zip(differentiable, grad_outputs, strict=True)
            if gradient is not None
        ]
        if not wanted or not pairs:
            return (None,) * len(wanted)
        outputs, gradients = zip(*pairs, strict=True)
        with torch.enable_grad():
            found: tuple[Tensor | None, ...] = torch.autograd.grad(
                outputs, wanted, gradients, retain_graph=True, allow_unused=True
            )
        return found


class _LocalGraphFunction(torch.autograd.Function):
    """Joins a local graph to the graph around it: its backward computes the input gradients alone.

    The second argument is a tensor that requires a gradient, so that the outputs do so too when no input
    does (an embedding's indices).
    """

    @staticmethod
    def forward(ctx: Any, local: _LocalGraph, anchor: Tensor, *args: Any) -> tuple[Tensor, ...]:
        ctx.local = local
        outputs = local.run()
        constant = [
            detached
            for detached, output in zip(outputs, local.outputs, strict=True)
            if not output.requires_grad
        ]
        ctx.mark_non_differentiable(*constant)
        return outputs

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor | None) -> tuple[Tensor | None, ...]:
        local: _LocalGraph = ctx.local
        kept = tuple(
            gradient
            for gradient, output in zip(grad_outputs, local.outputs, strict=True)
            if output.requires_grad
        )
        wanted = [arg for arg in local.inputs if isinstance(arg, Tensor) and arg.requires_grad]
        found = iter(local.gradients(wanted, kept))
        return (
            None,
            None,
            *(next(found) if isinstance(arg, Tensor) and arg.requires_grad else None for arg in local.inputs),
        )


def _units(module: nn.Module) -> Iterator[nn.Module]:
    """The outermost modules that have trainable parameters of their own, each once."""
    seen: set[nn.Module] = set()

    def walk(parent: nn.Module) -> Iterator[nn.Module]:
        if parent in seen:
            return
        seen.add(parent)
        if any(parameter.requires_grad for parameter in parent.parameters(recurse=False)):
            yield parent
            return
        for child in parent.children():
            yield from walk(child)

    return walk(module)


def _holds_gradients(value: Any) -> bool:
    if isinstance(value, Tensor):
        return value.requires_grad
    if isinstance(value, dict):
        return any(map(_holds_gradients, value.values()))
    return isinstance(value, (list, tuple)) and any(map(_holds_gradients, value))


def _pads_otherwise(unit: Any) -> bool:
    """Whether a convolution pads with something else than a number of zeros on each side."""
    return getattr(unit, "padding_mode", "zeros") != "zeros" or isinstance(getattr(unit, "padding", 0), str)


def _accumulate(parameter: Tensor, gradient: Tensor) -> None:
    if parameter.grad is None:
        parameter.grad = gradient
    else:
        parameter.grad.add_(gradient)


def _add_convolution_gradients(module: Any, input: Tensor, gradOutput: Tensor) -> None:
    if gradOutput.dim() == module.weight.dim() - 1:  # one sample without a batch dimension
        input, gradOutput = input.unsqueeze(0), gradOutput.unsqueeze(0)
    trainable_bias = module.bias is not None and module.bias.requires_grad
    _, weight_gradient, bias_gradient = torch.ops.aten.convolution_backward(
        gradOutput,
        input,
        module.weight,
        [module.out_channels],
        module.stride,
        module.padding,
        module.dilation,
        False,
        [0] * len(module.stride),
        module.groups,
        [False, module.weight.requires_grad, trainable_bias],
    )
    if weight_gradient is not None:
        _accumulate(module.weight, weight_gradient)
    if bias_gradient is not None:
        _accumulate(module.bias, bias_gradient)


def _add_linear_gradients(module: Any, input: Tensor, gradOutput: Tensor) -> None:
    rows = gradOutput.reshape(-1, module.out_features)
    if module.weight.requires_grad:
        inputs = input.reshape(-1, module.in_features)
        if module.weight.grad is None:
            module.weight.grad = rows.t() @ inputs
        else:
            module.weight.grad.addmm_(rows.t(), inputs)
    if module.bias is not None and module.bias.requires_grad:
        _accumulate(module.bias, rows.sum(0))


_DIRECT_GRADIENTS: dict[type, Callable[[Any, Tensor, Tensor], None]] = {
    nn.Conv1d: _add_convolution_gradients,
    nn.Conv2d: _add_convolution_gradients,
    nn.Conv3d: _add_convolution_gradients,
    nn.Linear: _add_linear_gradients,
}
