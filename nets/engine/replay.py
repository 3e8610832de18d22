"""Steps of a plan that are recorded once, and then run without Python between them."""

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter, methodcaller
from typing import Any

from torch import nn

from nets.engine.kernels.compiled.recording import Recording
from nets.engine.kernels.compiled.sequence import CallsInTurn

Action = Callable[[], None]

_ADDRESS, _VERSION = methodcaller("data_ptr"), attrgetter("_version")


class Replay:
    """Runs ``steps``, which read and write the same memory every time as long as the parameters and buffers
    of ``module`` stay as they are.

    The first run after a change of these does what is needed to be ready for them (copies of weights in
    another layout, scratch memory); the next one is recorded. From then on the calls of compiled code of
    steps that do nothing else are made from C, those of neighbouring steps together.
    """

    def __init__(self, steps: Sequence[Action], module: nn.Module) -> None:
        self._steps = steps
        self._holders = [held for part in module.modules() for held in (part._parameters, part._buffers)]
        self._ready_for: tuple[int, ...] = ()
        self._recorded: Sequence[Action] | None = None
        self._has_run = False

    def run(self) -> None:
        state = _state(self._holders)
        if not self._has_run or state != self._ready_for:
            self._recorded = None
            for step in self._steps:
                step()
            self._ready_for, self._has_run = state, True
        elif self._recorded is None:
            self._recorded = _record(self._steps)
        else:
            for step in self._recorded:
                step()

    def forget(self) -> None:
        """Makes the next run one of all steps, as after a change of a parameter."""
        self._has_run = False


def _state(holders: Iterable[dict[str, Any]]) -> tuple[int, ...]:
    """Returns what changes with the tensors, or with what is in them."""
    tensors = [tensor for held in holders for tensor in held.values() if tensor is not None]
    return (*map(_ADDRESS, tensors), *map(_VERSION, tensors))


def _record(steps: Iterable[Action]) -> list[Action]:
    """Runs ``steps``, and returns what does the same in less time."""
    found: list[Action] = []
    waiting: list[Any] = []

    def settle() -> None:
        if waiting:
            found.append(CallsInTurn(waiting))
            waiting.clear()

    for step in steps:
        with Recording() as recording:
            step()
        if recording.complete:
            waiting += recording.calls
        else:
            settle()
            found.append(step)
    settle()
    return found
