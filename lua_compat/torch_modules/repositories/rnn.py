"""Recurrent layers of rnn and torch-rnn, which keep a state from one step, or one sequence, to the next.

A new layer has no state; ``forget`` removes the state again.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from lua_compat.torch_modules.base import Torch7Module


class Stateful(Torch7Module):
    """Keeps ``state`` from one call to the next."""

    def __init__(self, **fields: Any) -> None:
        super().__init__(**fields)
        self.state: Any = None

    def forget(self) -> None:
        self.state = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "state": mapped(Tensor.detach, self.state)}


def mapped(function: Callable[[Tensor], Tensor], value: Any) -> Any:
    """Returns tables (lists) of tensors with the function's results in place of the tensors."""
    if value is None or isinstance(value, Tensor):
        return None if value is None else function(value)
    return [mapped(function, item) for item in value]


def forget(module: nn.Module) -> None:
    """Resets all states in the module."""
    for inner in module.modules():
        if isinstance(inner, Stateful):
            inner.forget()


def _forget_graph(module: nn.Module) -> None:
    """Keeps the states without their graph: gradients end where a sequence begins."""
    for inner in module.modules():
        if isinstance(inner, Stateful):
            inner.state = mapped(Tensor.detach, inner.state)


class Remembering(Torch7Module):
    """Forgets before each sequence.

    ``remember``: the mode in which it does not: 'train', 'eval', 'both' or 'neither'. ``forgets_with_mode``:
    whether a change of mode makes it forget, too.
    """

    remember: str = "neither"
    forgets_with_mode: bool = True

    def train(self, mode: bool = True) -> Any:
        if mode != self.training and self.forgets_with_mode:
            forget(self)
        return super().train(mode)

    def begin(self) -> None:
        """Prepares for a new sequence."""
        if self.remember in ("both", "train" if self.training else "eval"):
            _forget_graph(self)
        else:
            forget(self)


# One step at a time


class Cell(Stateful):
    """``module`` of {input, state 1, ...} gives the new states, the first of which is the output: nn.LSTM,
    nn.FastLSTM, nn.GRU and their like. ``sizes``: of the states, zeros at the beginning."""

    module: nn.Module
    sizes: Sequence[int]
    lua_class: str = ""

    def forward(self, input: Tensor) -> Tensor:
        state = self.state
        if state is None:
            state = [input.new_zeros(*input.shape[:-1], size) for size in self.sizes]
        found = self.module([input, *state])
        self.state = [found] if isinstance(found, Tensor) else list(found)
        return self.state[0]


class Recurrence(Stateful):
    """``module`` of {input, its own last output}: zeros of ``outputSize`` at first, for each sample where the
    input has more than ``nInputDim`` dimensions."""

    module: nn.Module
    outputSize: Any
    nInputDim: int

    def forward(self, input: Any) -> Any:
        if self.state is None:
            first = _first(input)
            batch = first.shape[:1] if first.dim() > self.nInputDim else ()
            self.state = _zeros(self.outputSize, batch, first)
        self.state = self.module([input, self.state])
        return self.state


def _zeros(size: Any, batch: Sequence[int], like: Tensor) -> Any:
    if isinstance(size[0], int | float):
        return like.new_zeros(*batch, *(int(n) for n in size))
    return [_zeros(inner, batch, like) for inner in size]


def _first(value: Any) -> Tensor:
    return value if isinstance(value, Tensor) else _first(value[0])


class Recurrent(Stateful):
    """``initial`` of the first input, then ``module`` of {input, last output}."""

    initial: nn.Module
    module: nn.Module

    def forward(self, input: Any) -> Any:
        self.state = self.initial(input) if self.state is None else self.module([input, self.state])
        return self.state


class LazyDropout(Stateful):
    """Dropout with one choice for all steps of a sequence; for all samples, too, if ``mono``."""

    p: float = 0.5
    mono: bool = False
    v2: bool = True

    def forward(self, input: Tensor) -> Tensor:
        if self.p <= 0 or not self.training:
            return input if self.v2 or self.p <= 0 else input * (1 - self.p)
        if self.state is None:
            shape = (1, *input.shape[1:]) if self.mono else input.shape
            kept = input.new_empty(shape).bernoulli_(1 - self.p)
            self.state = kept / (1 - self.p) if self.v2 else kept
        return input * self.state


# Sequences of steps


class Sequencer(Remembering):
    """``module`` of each step of a sequence: a table of steps, or a tensor along its first dimension."""

    module: nn.Module

    def forward(self, input: Any) -> Any:
        self.begin()
        outputs = [self.module(step) for step in input]
        return torch.stack(outputs) if isinstance(input, Tensor) else outputs


class Repeater(Torch7Module):
    """Applies ``module`` to the same input ``rho`` times."""

    module: nn.Module
    rho: int

    def forward(self, input: Any) -> list[Any]:
        forget(self.module)
        return [self.module(input) for _ in range(self.rho)]


class BiSequencerLM(Torch7Module):
    """Merges, at each step, the result of the steps before it with that of the steps after it."""

    ahead: nn.Module
    back: nn.Module
    merge: nn.Module

    def forward(self, input: list[Any]) -> Any:
        ahead, back = self.ahead(list(input[:-1])), self.back(list(input[1:]))
        return self.merge(
            [[mapped(torch.zeros_like, ahead[0]), *ahead], [*back, mapped(torch.zeros_like, back[0])]]
        )


class ReverseTable(Torch7Module):
    def forward(self, input: list[Any]) -> list[Any]:
        return list(reversed(input))


class SeqReverseSequence(Torch7Module):
    dim: int

    def forward(self, input: Tensor) -> Tensor:
        return input.flip(self.dim - 1)


class MaskZero(Torch7Module):
    """``module``; its output is zero for the samples whose input is zero.

    In Torch7, masked samples also contribute to the gradient of a last layer's bias; here they do not.
    """

    module: nn.Module
    nInputDim: int

    def masked(self, input: Any) -> Tensor:
        """Returns which samples are zero; for one sample without a batch, whether it is, as a tensor of no
        dimension."""
        first = _first(input)
        if first.dim() not in (self.nInputDim, self.nInputDim + 1):
            raise ValueError(
                f"{type(self).__name__}: {first.dim()} dimensions, not {self.nInputDim} or one more"
            )
        dims = tuple(range(first.dim() - self.nInputDim, first.dim()))
        return (first == 0).all(dims)

    def forward(self, input: Any) -> Any:
        mask = self.masked(input)

        def without(output: Tensor) -> Tensor:
            return output.masked_fill(mask.reshape(-1, *[1] * (output.dim() - 1)) if mask.dim() else mask, 0)

        return mapped(without, self.module(input))


class TrimZero(MaskZero):
    """Like MaskZero, but ``module`` does not get those samples at all.

    Torch7's gradient is wrong (not that of its output) where a step is zero for all samples.
    """

    def forward(self, input: Any) -> Any:
        mask = self.masked(input)
        if not mask.dim():
            return super().forward(input)
        kept = (~mask).nonzero().flatten()
        taken = kept if len(kept) else mask.new_zeros(1, dtype=torch.long)
        seen = mapped(lambda t: t.index_select(0, taken) * bool(len(kept)), input)

        def put_back(output: Tensor) -> Tensor:
            return output.new_zeros(len(mask), *output.shape[1:]).index_copy(0, kept, output[: len(kept)])

        return mapped(put_back, self.module(seen))


class LookupTableMaskZero(nn.Embedding):
    """nn.Embedding of indices in any number type, with zeros for index 0."""

    def forward(self, input: Tensor) -> Tensor:
        with torch.no_grad():
            self.weight[0].zero_()
        return super().forward(input.long())


# Whole sequences at once


class _Sequence(Stateful, Remembering):
    """A recurrent layer of (steps, batch, features); with ``batchfirst``, (batch, steps, features).

    Or of a table: {first states..., sequence}. ``weight``: rows for the features, then for the outputs.
    ``maskzero``: states and outputs are zero after steps that are zero.
    """

    weight: nn.Parameter
    bias: nn.Parameter
    batchfirst: bool = False
    maskzero: bool = False

    def first_states(self, x: Tensor) -> list[Tensor]:
        """Returns zeros for the states passed from step to step, the output first."""
        raise NotImplementedError

    def step(self, of_input: Tensor, states: list[Tensor]) -> list[Tensor]:
        """Returns the next states. ``of_input``: the step's input times its rows of the weight, plus the
        bias."""
        raise NotImplementedError

    def forward(self, input: Any) -> Tensor:
        *given, x = [input] if isinstance(input, Tensor) else input
        x = x.transpose(0, 1) if self.batchfirst else x
        self.begin()
        states = list(self.state or self.first_states(x))
        states[: len(given)] = reversed(given)  # {cell, output, sequence}
        of_input = x @ self.weight[: x.shape[2]] + self.bias
        outputs = []
        for place, step in enumerate(of_input):
            states = self.step(step, states)
            if self.maskzero:
                mask = (x[place] == 0).all(1, keepdim=True)
                states = [state.masked_fill(mask, 0) for state in states]
            outputs.append(states[0])
        self.state = states
        found = torch.stack(outputs)
        return found.transpose(0, 1) if self.batchfirst else found


class SeqLSTM(_Sequence):
    """Gates in the order input, forget, output, and the new value. ``weightO``: projects the output."""

    weightO: nn.Parameter | None

    def first_states(self, x: Tensor) -> list[Tensor]:
        cells = self.bias.numel() // 4
        outputs = cells if self.weightO is None else self.weightO.shape[1]
        return [x.new_zeros(x.shape[1], outputs), x.new_zeros(x.shape[1], cells)]

    def step(self, of_input: Tensor, states: list[Tensor]) -> list[Tensor]:
        last, cell = states
        return lstm_step(of_input + last @ self.weight[-last.shape[1] :], cell, self.weightO)


def lstm_step(gates: Tensor, cell: Tensor, projection: Tensor | None) -> list[Tensor]:
    """Returns {output, cell} from the sums of the gates: input, forget, output, new value."""
    size = cell.shape[1]
    put, keep, show = gates[:, : 3 * size].sigmoid().split(size, 1)
    cell = put * gates[:, 3 * size :].tanh() + keep * cell
    output = cell.tanh() * show
    return [output if projection is None else output @ projection, cell]


class SeqGRU(_Sequence):
    """Gates in the order reset, update, and the new value."""

    def first_states(self, x: Tensor) -> list[Tensor]:
        return [x.new_zeros(x.shape[1], self.bias.numel() // 3)]

    def step(self, of_input: Tensor, states: list[Tensor]) -> list[Tensor]:
        (last,) = states
        return [gru_step(of_input, last, self.weight[-last.shape[1] :])]


def gru_step(of_input: Tensor, last: Tensor, weight: Tensor) -> Tensor:
    size = last.shape[1]
    gates = of_input[:, : 2 * size] + last @ weight[:, : 2 * size]
    reset, update = gates.sigmoid().split(size, 1)
    new = (of_input[:, 2 * size :] + (reset * last) @ weight[:, 2 * size :]).tanh()
    return new - update * new + update * last


class SequenceRNN(_Sequence):
    """torch-rnn's VanillaRNN: tanh of the sums."""

    def first_states(self, x: Tensor) -> list[Tensor]:
        return [x.new_zeros(x.shape[1], self.bias.numel())]

    def step(self, of_input: Tensor, states: list[Tensor]) -> list[Tensor]:
        (last,) = states
        return [(of_input + last @ self.weight[-last.shape[1] :]).tanh()]


class StepLSTM(Torch7Module):
    """One step of SeqLSTM, of {input, output, cell}."""

    weight: nn.Parameter
    bias: nn.Parameter
    weightO: nn.Parameter | None

    def forward(self, input: list[Tensor]) -> list[Tensor]:
        x, last, cell = input
        return lstm_step(torch.cat([x, last], 1) @ self.weight + self.bias, cell, self.weightO)


class StepGRU(Torch7Module):
    """One step of SeqGRU, of {input, output}."""

    weight: nn.Parameter
    bias: nn.Parameter

    def forward(self, input: list[Tensor]) -> Tensor:
        x, last = input
        return gru_step(x @ self.weight[: x.shape[1]] + self.bias, last, self.weight[x.shape[1] :])


# Small layers


class SAdd(Torch7Module):
    """The input plus ``addend``, with the other sign if ``negate``."""

    addend: float
    negate: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return -(input + self.addend) if self.negate else input + self.addend


class ExpandAs(Torch7Module):
    """{a, b}: b in the shape of a."""

    def forward(self, input: list[Tensor]) -> list[Tensor]:
        return [input[0], input[1].expand_as(input[0])]
