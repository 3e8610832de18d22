"""The three phases on a GPU, each layer's by its fastest way."""

import os
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from convnet_benchmarks.nets.gpu_engine.choice import Chooser, Chosen, compile_ahead
from convnet_benchmarks.nets.gpu_engine.shape import Convolution
from convnet_benchmarks.nets.gpu_engine.ways import Pass
from convnet_benchmarks.nets.phases import (
    FORWARD,
    INPUT_GRADIENT,
    WEIGHT_GRADIENT,
    AutogradPhases,
    Calls,
    Recorder,
    add_gradient,
    autocasts,
    check_differentiated_once,
    convolves_plainly,
    edge_to,
    has_plain_parameters,
    recorder_of,
)


class ChosenPhases(AutogradPhases):
    """Like :class:`AutogradPhases`, with ways chosen for each Conv2d and Linear."""

    def __init__(self, module: nn.Module, chooser: Chooser) -> None:
        self.layers: list[Layer] = []
        self.chooser = chooser
        super().__init__(module, self._recorder)

    def __enter__(self) -> "ChosenPhases":
        return self

    def _recorder(self, unit: nn.Module, calls: Calls) -> Recorder:
        plain = recorder_of(unit, calls)
        if not _applies(unit):
            return plain
        layer = Layer(unit, plain, calls, self.chooser)
        self.layers.append(layer)
        return layer

    def by_pytorch(self, on: bool) -> None:
        """Runs every layer by PyTorch's own kernels, or again by the chosen ways."""
        for layer in self.layers:
            layer.by_pytorch = on

    def choose(self, input: Tensor, told: Callable[[int, int], None] | None = None) -> None:
        """Chooses during a pass over ``input`` with the output as its own gradient; restores gradients.

        ``told(layer, layers)`` is called before a layer's ways are tried, counted from 1.
        """
        output = self.updateOutput(input)
        self.updateGradInput(input, output)
        assert self._gradients is not None
        passes: list[tuple[Layer, Pass]] = []
        for (recorder, _, one), gradients in zip(self._calls, self._gradients, strict=True):
            if isinstance(recorder, Layer) and gradients[0] is not None:
                one.gradient = recorder.as_image(gradients[0])
                passes.append((recorder, one))
        compile_ahead(self.chooser, (one for _, one in passes), os.cpu_count() or 1)
        try:
            with torch.no_grad():
                for count, (layer, one) in enumerate(passes, 1):
                    if told is not None:
                        told(count, len(passes))
                    layer.chosen[one.shape] = self.chooser.choose(one)
        finally:
            self.chooser.save()


class Layer:
    """Replaces the forward of a Conv2d or Linear."""

    def __init__(self, module: Any, plain: Recorder, calls: Calls, chooser: Chooser) -> None:
        self.module = module
        self._parameters = module._parameters
        self._plain = plain
        self._calls = calls
        self._chooser = chooser
        self._is_linear = isinstance(module, nn.Linear)
        self.chosen: dict[Convolution, Chosen] = {}
        self.by_pytorch = False

    def shape(self, input: Tensor) -> Convolution:
        outputs, inputs, *_ = self._parameters["weight"].shape
        if self._is_linear:
            rows = input.numel() // inputs
            return Convolution(rows, inputs, outputs, (1, 1), (1, 1), (1, 1), (0, 0), input.dtype)
        batch, _, height, width = input.shape
        of = self.module
        sizes = (of.kernel_size, of.stride, of.padding)
        return Convolution(batch, inputs, outputs, (height, width), *sizes, input.dtype)

    def forward(self, input: Tensor) -> Tensor:
        differentiates = torch.is_grad_enabled()
        unfit = (not self._is_linear and input.dim() != 4) or (differentiates and not input.requires_grad)
        if self.by_pytorch or unfit or autocasts():
            return self._plain.forward(input)
        shape = self.shape(input)
        weight, bias = self._parameters["weight"], self._parameters["bias"]
        x = self.as_image(input.detach())
        one = Pass(shape, x, self._weight(weight), None if bias is None else bias.detach())
        chosen = self.chosen.get(shape)
        if not differentiates:
            chosen = chosen or self.chosen.setdefault(shape, self._chooser.choose(one, (FORWARD,)))
            return self.as_given(chosen.compute[FORWARD](one), input)
        chosen = chosen or self.chosen.setdefault(shape, self._chooser.plainest(shape))
        output: Tensor = _Function.apply(self, chosen, one, input)
        self._calls.append((self, (edge_to(output),), one))
        return output

    def as_image(self, x: Tensor) -> Tensor:
        if self._is_linear:
            return x.reshape(-1, x.shape[-1])[:, :, None, None]
        return (
            x.contiguous(memory_format=torch.channels_last) if self._chooser.channels_last else x.contiguous()
        )

    def as_given(self, x: Tensor, like: Tensor) -> Tensor:
        return x.reshape(*like.shape[:-1], x.shape[1]) if self._is_linear else x

    def _weight(self, weight: Tensor) -> Tensor:
        return weight.detach()[:, :, None, None] if self._is_linear else weight.detach()

    def accumulate(self, saved: Pass, gradients: tuple[Tensor | None, ...]) -> None:
        if gradients[0] is None:
            return
        weight, bias = self._parameters["weight"], self._parameters["bias"]
        chosen = self.chosen[saved.shape]
        if self._is_linear and chosen.names[WEIGHT_GRADIENT] == "mm":  # which adds to the gradient itself
            self._plain.accumulate((saved.x, weight, bias), gradients)
            return
        saved.gradient = self.as_image(gradients[0])
        if weight.requires_grad:
            found = chosen.compute[WEIGHT_GRADIENT](saved)
            add_gradient(weight, found.reshape(weight.shape))
        if bias is not None and bias.requires_grad:
            add_gradient(bias, saved.gradient.sum((0, 2, 3)))

    def reads(self, saved: Any) -> list[nn.Parameter]:
        return []

    def without(self, saved: Any, apart: set[nn.Parameter]) -> Any:
        return saved


class _Function(torch.autograd.Function):
    """Joins a layer to the graph: its backward computes the input gradient alone."""

    @staticmethod
    def forward(ctx: Any, layer: Layer, chosen: Chosen, one: Pass, input: Tensor) -> Tensor:
        ctx.layer, ctx.chosen, ctx.one, ctx.like = layer, chosen, one, input
        # Detached, it is not a view, so that an in-place layer may follow.
        return layer.as_given(chosen.compute[FORWARD](one), input).detach()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, None, None, Tensor]:
        check_differentiated_once()
        layer, one = ctx.layer, ctx.one
        given = Pass(one.shape, one.x, one.weight, one.bias, layer.as_image(gradients[0]))
        found = ctx.chosen.compute[INPUT_GRADIENT](given)
        one.kept.update(given.kept)
        return None, None, None, layer.as_given(found, ctx.like)


def _applies(unit: nn.Module) -> bool:
    if isinstance(unit, nn.Conv2d):
        return convolves_plainly(unit) and unit.groups == 1 and unit.dilation == (1, 1)
    return type(unit) is nn.Linear and has_plain_parameters(unit)
