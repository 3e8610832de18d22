"""PyTorch's recurrent layers over a fixed number of steps, as layers that torch.fx can trace."""

import copy
from typing import Any

import torch
from torch import Tensor, nn

Recurrent = nn.LSTM | nn.GRU | nn.RNN


def unrolled(module: nn.Module, steps: int) -> nn.Module:
    """Returns ``module`` with its recurrent layers unrolled for sequences of ``steps``.

    It shares the parameters. A recurrent layer itself returns only its outputs. Raises ValueError for layers
    that cannot be unrolled.
    """
    if isinstance(module, Recurrent):
        return _Outputs(Unrolled(module, steps))
    if not any(isinstance(inner, Recurrent) for inner in module.modules()):
        return module
    kept = {id(tensor): tensor for tensor in (*module.parameters(), *module.buffers())}
    changed = copy.deepcopy(module, kept)
    for name, inner in list(changed.named_modules()):
        if isinstance(inner, Recurrent):
            changed.set_submodule(name, Unrolled(inner, steps))
    return changed


class Unrolled(nn.Module):
    """A recurrent layer, unrolled for sequences of ``steps``, from zero states."""

    def __init__(self, layer: Any, steps: int) -> None:
        super().__init__()
        if layer.proj_size:
            raise ValueError(f"proj_size={layer.proj_size} cannot be unrolled")
        self.steps = steps
        self.axis = 1 if layer.batch_first else 0
        self.directions = 2 if layer.bidirectional else 1
        names = [f"l{n}{end}" for n in range(layer.num_layers) for end in ("", "_reverse")[: self.directions]]
        self.cells = nn.ModuleList([_cell(layer, name) for name in names])
        self.dropout = nn.Dropout(layer.dropout)
        self.train(layer.training)

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        if hx is not None:
            raise ValueError("a recurrent layer that is given its first state cannot be unrolled")
        inputs = [input[:, t] if self.axis else input[t] for t in range(self.steps)]
        last = []
        for place in range(0, len(self.cells), self.directions):
            if place and self.dropout.p:
                inputs = [self.dropout(step) for step in inputs]
            found = []
            for cell, order in zip(self.cells[place : place + self.directions], (1, -1), strict=False):
                outputs, states = _run(cell, inputs[::order])
                found.append(outputs[::order])
                last.append(states)
            inputs = (
                found[0] if len(found) == 1 else [torch.cat(both, 1) for both in zip(*found, strict=True)]
            )
        ends = [_stacked(list(each), 0) for each in zip(*last, strict=True)]
        return _stacked(inputs, self.axis), tuple(ends) if len(ends) > 1 else ends[0]


class _Outputs(nn.Module):
    def __init__(self, layer: Unrolled) -> None:
        super().__init__()
        self.layer = layer
        self.train(layer.training)

    def forward(self, input: Tensor) -> Any:
        return self.layer(input)[0]


def _run(cell: nn.Module, inputs: list[Tensor]) -> tuple[list[Tensor], tuple[Tensor, ...]]:
    """Returns the outputs and the last states."""
    states, outputs = None, []
    for step in inputs:
        states = cell(step, states)
        outputs.append(states[0])
    return outputs, states or ()


def _stacked(tensors: list[Tensor], dim: int) -> Tensor:
    single = [tensor.unsqueeze(dim) for tensor in tensors]
    return single[0] if len(single) == 1 else torch.cat(single, dim)


class _Cell(nn.Module):
    """One layer in one direction; ``states`` of a step are {output, ...}, or None before the first."""

    def __init__(self, layer: Any, name: str) -> None:
        super().__init__()
        self.size = layer.hidden_size
        self.of_input = _linear(layer, f"ih_{name}")
        self.of_state = _linear(layer, f"hh_{name}")

    def sums(self, x: Tensor, states: Any, count: int) -> tuple[Tensor, Tensor, Any]:
        """Returns the contributions of the input and of the last output to the gates, and the states."""
        of_input = self.of_input(x)
        states = states or (of_input[:, : self.size] * 0,) * count
        return of_input, self.of_state(states[0]), states

    def gate(self, sums: Tensor, number: int) -> Tensor:
        return sums[:, number * self.size : (number + 1) * self.size]


class _LSTM(_Cell):
    def forward(self, x: Tensor, states: Any) -> tuple[Tensor, ...]:
        of_input, of_state, (_, cell) = self.sums(x, states, 2)
        put, keep, new, show = (self.gate(of_input + of_state, number) for number in range(4))
        cell = keep.sigmoid() * cell + put.sigmoid() * new.tanh()
        return show.sigmoid() * cell.tanh(), cell


class _GRU(_Cell):
    def forward(self, x: Tensor, states: Any) -> tuple[Tensor, ...]:
        of_input, of_state, (last,) = self.sums(x, states, 1)
        reset, update = ((self.gate(of_input, n) + self.gate(of_state, n)).sigmoid() for n in range(2))
        new = (self.gate(of_input, 2) + reset * self.gate(of_state, 2)).tanh()
        return (new + update * (last - new),)


class _Tanh(_Cell):
    def forward(self, x: Tensor, states: Any) -> tuple[Tensor, ...]:
        of_input, of_state, _ = self.sums(x, states, 1)
        return ((of_input + of_state).tanh(),)


class _ReLU(_Cell):
    def forward(self, x: Tensor, states: Any) -> tuple[Tensor, ...]:
        of_input, of_state, _ = self.sums(x, states, 1)
        return ((of_input + of_state).relu(),)


_CELLS: dict[str, type[_Cell]] = {"LSTM": _LSTM, "GRU": _GRU, "RNN_TANH": _Tanh, "RNN_RELU": _ReLU}


def _cell(layer: Any, name: str) -> nn.Module:
    return _CELLS[layer.mode](layer, name)


def _linear(layer: Any, name: str) -> nn.Linear:
    """Returns the Linear of the layer's own parameters."""
    weight = getattr(layer, f"weight_{name}")
    linear = nn.Linear(weight.shape[1], weight.shape[0], layer.bias, device="meta")
    linear.weight = weight
    linear.register_parameter("bias", getattr(layer, f"bias_{name}") if layer.bias else None)
    return linear
