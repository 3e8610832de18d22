"""Recurrent nets as functions: their states are inputs, and the new states outputs."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from lua_compat.torch_modules.repositories.rnn import (
    Recurrent,
    Remembering,
    Repeater,
    Stateful,
    forget,
    mapped,
)


class WithStates(nn.Module):
    """``net`` with additional inputs, the states before, and additional outputs, the states after.

    Zeros are the initial states. ``states`` has the name and the shape of each, for the input given to the
    constructor; there are none if the net has no recurrent layers, or one whose first step is another
    module's (rnn's Recurrent). Inputs are passed one after the other, even if the net takes a table.
    """

    def __init__(self, net: nn.Module, inputs: Sequence[Tensor]) -> None:
        super().__init__()
        self.net = net
        self._inputs = len(inputs)
        self._layers: list[tuple[str, nn.Module]] = []
        if not any(isinstance(layer, Recurrent) for layer in net.modules()):
            kinds = (Stateful, nn.RNNBase)
            repeaters = [each for each in net.modules() if isinstance(each, Repeater)]
            again = [each for repeater in repeaters for each in repeater.modules()]
            self._layers = [
                (name, each)
                for name, each in net.named_modules()
                if isinstance(each, kinds) and each not in again  # these start afresh in every call
            ]
        for layer in net.modules():
            if isinstance(layer, Remembering) and self._layers:
                layer.remember = "both"
        forget(net)
        self._templates: list[Any] = [None] * len(self._layers)
        with torch.no_grad(), self._given([None] * len(self._layers)) as found:
            self._run(inputs)
            self._templates = found()
        self.states = [
            (f"{name or 'net'}.{place}", tuple(tensor.shape))
            for (name, _), template in zip(self._layers, self._templates, strict=True)
            for place, tensor in enumerate(_tensors(template), 1)
        ]

    def forward(self, *given: Tensor) -> Any:
        inputs, states = given[: self._inputs], iter(given[self._inputs :])
        filled = [mapped(lambda _: next(states), template) for template in self._templates]
        with self._given(filled) as found:
            output = self._run(inputs)
            after = [tensor for template in found() for tensor in _tensors(template)]
        return (*_tensors(output), *after) if after else output

    def _run(self, inputs: Sequence[Tensor]) -> Any:
        return self.net(inputs[0] if len(inputs) == 1 else list(inputs))

    @contextmanager
    def _given(self, states: Sequence[Any]) -> Iterator[Callable[[], list[Any]]]:
        """Sets the layers' states; yields functions that return the new ones. Restores the layers
        afterwards."""
        told: dict[nn.Module, Any] = {}
        for (_, layer), state in zip(self._layers, states, strict=True):
            if isinstance(layer, Stateful):
                layer.state = state
            else:
                layer.forward = _telling(layer, state, told)
        try:
            yield lambda: [
                layer.state if isinstance(layer, Stateful) else told.get(layer) for _, layer in self._layers
            ]
        finally:
            for _, layer in self._layers:
                if isinstance(layer, Stateful):
                    layer.state = None
                else:
                    del layer.forward


def _telling(layer: Any, state: Any, told: dict[nn.Module, Any]) -> Callable[[Tensor], Any]:
    """Returns a forward of PyTorch's recurrent ``layer`` with an initial state, which reports the last
    one."""
    kind: Any = next(base for base in type(layer).__mro__ if base.__module__ == nn.RNNBase.__module__)
    whole = type(layer).forward is kind.forward  # otherwise only the outputs are returned

    def forward(input: Tensor) -> Any:
        hx = tuple(state) if isinstance(state, list) else state
        output, last = kind.forward(layer, input, hx)
        told[layer] = list(last) if isinstance(last, tuple) else last
        return (output, last) if whole else output

    return forward


def _tensors(value: Any) -> list[Tensor]:
    if value is None:
        return []
    return [value] if isinstance(value, Tensor) else [tensor for each in value for tensor in _tensors(each)]
