"""Recurrent layers over whole sequences, forward and gradient, with the parameters in one vector as in cuDNN.

A layer's input is (time, batch, features), or packed: (the sum of the lengths, features) with the number of
sequences that are still running at each time. States are (layers * directions, batch, hidden size). For each
layer and each of its directions, the vector holds the matrix for the input and the matrix for the state, each
with the rows of its gates in order; then, in the same order, both biases. This is cuDNN's order and
PyTorch's, also of the gates: input, forget, cell, output (LSTM); reset, update, new (GRU). With ``skip``
(CUDNN_SKIP_INPUT) the first layer has no matrix for the input: each gate gets the input itself, which is as
wide as the state.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from lua_compat.kernels.nn.layers import weighted_sums
from lua_compat.kernels.results import Out, write

__all__ = ["recurrent", "recurrent_gradient", "recurrent_parameters"]
SANDBOXED = __all__

_aten = torch.ops.aten

# cuDNN's name -> PyTorch's operator, gates
_MODES = {
    "CUDNN_RNN_RELU": (_aten.rnn_relu, 1),
    "CUDNN_RNN_TANH": (_aten.rnn_tanh, 1),
    "CUDNN_GRU": (_aten.gru, 3),
    "CUDNN_LSTM": (_aten.lstm, 4),
}


def _shapes(
    mode: str, features: int, hidden: int, layers: int, directions: int, skip: bool
) -> Iterator[tuple[int, ...]]:
    """Returns the shapes of the parameters, in the order of the vector; a missing one has no rows."""
    if mode not in _MODES:
        raise ValueError(f"unknown recurrent mode {mode}: one of {', '.join(_MODES)}")
    rows = _MODES[mode][1] * hidden
    for layer in range(layers):
        for _ in range(directions):
            yield 0 if skip and not layer else rows, hidden * directions if layer else features
            yield rows, hidden
    for _ in range(2 * layers * directions):
        yield (rows,)


def recurrent_parameters(
    mode: str, features: int, hidden: int, layers: int, directions: int, skip: bool
) -> int:
    """Returns the length of the vector."""
    shapes = _shapes(mode, features, hidden, layers, directions, skip)
    return sum(torch.Size(shape).numel() for shape in shapes)


class _Layers:
    """``layers`` recurrent layers; ``masks`` multiply the outputs passed from one to the next (dropout)."""

    def __init__(
        self, weight: Tensor, mode: str, features: int, hidden: int, layers: int, directions: int, skip: bool
    ) -> None:
        self.mode, self.hidden, self.layers, self.directions = mode, hidden, layers, directions
        shapes = list(_shapes(mode, features, hidden, layers, directions, skip))
        pieces = weight.split([torch.Size(shape).numel() for shape in shapes])
        self.parameters = [piece.view(shape) for piece, shape in zip(pieces, shapes, strict=True)]
        if skip:  # PyTorch's operators need a matrix here: the identity
            same = torch.eye(hidden, dtype=weight.dtype, device=weight.device).repeat(_MODES[mode][1], 1)
            self.parameters[0 : 2 * directions : 2] = [same] * directions

    def run(
        self, x: Tensor, states: list[Tensor], masks: Tensor | None, batches: tuple[int, ...]
    ) -> tuple[Tensor, list[Tensor]]:
        """Returns the output, and each state at the end."""
        if masks is None:
            return self._stack(0, self.layers, x, states, batches)
        ends = []
        for layer in range(self.layers):
            x, end = self._stack(layer, layer + 1, x, states, batches)
            ends.append(end)
            if layer < self.layers - 1:
                x = x * masks[layer]
        return x, [torch.cat(parts) for parts in zip(*ends, strict=True)]

    def _stack(
        self, first: int, last: int, x: Tensor, states: list[Tensor], batches: tuple[int, ...]
    ) -> tuple[Tensor, list[Tensor]]:
        """Layers ``first`` to ``last`` - 1, without dropout between them."""
        operator, lstm = _MODES[self.mode][0], self.mode == "CUDNN_LSTM"
        count, biases = self.directions, 2 * self.layers * self.directions
        here = [state[first * count : last * count] for state in states]
        parameters = []
        for place in range(first * count, last * count):
            for start in (2 * place, biases + 2 * place):
                parameters += self.parameters[start : start + 2]
        start_state: Any = here if lstm else here[0]
        options = (True, last - first, 0.0, torch.is_grad_enabled(), count == 2)
        if batches:
            result = operator.data(x, torch.tensor(batches), start_state, parameters, *options)
        else:
            result = operator.input(x, start_state, parameters, *options, False)
        return result[0], list(result[1:])


def _states(like: Tensor, shape: tuple[int, ...], mode: str, *given: Tensor | None) -> list[Tensor]:
    """Returns the states of the mode; those not given are zero."""
    wanted = given if mode == "CUDNN_LSTM" else given[:1]
    return [like.new_zeros(shape) if state is None else state for state in wanted]


def recurrent(
    out: Out,
    hidden_out: Out,
    cell_out: Out,
    x: Tensor,
    weight: Tensor,
    hidden_in: Tensor | None,
    cell_in: Tensor | None,
    masks: Tensor | None,
    mode: str,
    hidden: int,
    layers: int,
    directions: int,
    skip: bool,
    *batches: int,
) -> None:
    """Computes the outputs of the last layer at all times, and the states after the last time; ``batches``:
    for packed input, the number of sequences at each time."""
    shape = (layers * directions, batches[0] if batches else x.shape[1], hidden)
    net = _Layers(weight, mode, x.shape[-1], hidden, layers, directions, skip)
    with torch.no_grad():
        result, ends = net.run(x, _states(x, shape, mode, hidden_in, cell_in), masks, batches)
    write(out, result)
    for state, end in zip((hidden_out, cell_out), ends, strict=False):
        write(state, end)


def recurrent_gradient(
    grad_x: Out,
    grad_hidden: Out,
    grad_cell: Out,
    x: Tensor,
    weight: Tensor,
    hidden_in: Tensor | None,
    cell_in: Tensor | None,
    masks: Tensor | None,
    grad_out: Tensor,
    grad_hidden_out: Tensor | None,
    grad_cell_out: Tensor | None,
    grad_weight: Tensor | None,
    scale: float,
    of_input: bool,
    mode: str,
    hidden: int,
    layers: int,
    directions: int,
    skip: bool,
    *batches: int,
) -> None:
    """Computes the gradients of the input and of the first states if ``of_input``. Adds ``scale`` times the
    gradient of the parameters to ``grad_weight`` if it is given. Repeats the forward pass."""
    shape = (layers * directions, batches[0] if batches else x.shape[1], hidden)
    with torch.inference_mode(False), torch.enable_grad():
        leaves = [x, *_states(x, shape, mode, hidden_in, cell_in)]
        leaves = [leaf.detach().clone().requires_grad_(of_input) for leaf in leaves]
        vector = weight.detach().clone().requires_grad_(grad_weight is not None)
        masks = None if masks is None else masks.clone()  # autograd cannot save tensors of inference mode
        net = _Layers(vector, mode, x.shape[-1], hidden, layers, directions, skip)
        result, ends = net.run(leaves[0], leaves[1:], masks, batches)
        outputs, gradients = [result], [grad_out]
        for end, gradient in zip(ends, (grad_hidden_out, grad_cell_out), strict=False):
            if gradient is not None:
                outputs.append(end)
                gradients.append(gradient)
        wanted = (leaves if of_input else []) + ([vector] if grad_weight is not None else [])
        found = list(torch.autograd.grad(weighted_sums(outputs, gradients), wanted))
    if grad_weight is not None:
        grad_weight.add_(found.pop(), alpha=scale)
    for out, gradient in zip((grad_x, grad_hidden, grad_cell), found, strict=False):
        write(out, gradient)
