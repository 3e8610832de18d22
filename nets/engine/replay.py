"""Steps of a plan that are recorded once, and then run without Python between them."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from torch import nn

from nets.engine.kernels.compiled.recording import Recording
from nets.engine.kernels.compiled.sequence import CallsInTurn
from nets.engine.module_state import Contents

Action = Callable[[], None]


class Replay:
    """Runs ``steps``, which read and write the same memory every time as long as the parameters and buffers
    of ``module`` stay as they are.

    The first run after a change of these does what is needed to be ready for them (copies of weights in
    another layout, scratch memory); the next one is recorded. From then on the calls of compiled code of
    steps that do nothing else are made from C, those of neighbouring steps together.
    """

    def __init__(self, steps: Sequence[Action], module: nn.Module) -> None:
        self._steps = steps
        self._contents = Contents(module)
        self._is_ready = False
        self._recorded: Sequence[Action] | None = None

    def look(self) -> None:
        """Sees whether the module has changed. To be called before what it does not change during: some
        runs."""
        if self._contents.changed():
            self.forget()

    def run(self) -> None:
        if not self._is_ready:
            for step in self._steps:
                step()
            self._is_ready = True
        elif self._recorded is None:
            self._recorded = _record(self._steps)
        else:
            for step in self._recorded:
                step()

    def forget(self) -> None:
        """Makes the next run one of all steps, as after a change of a parameter."""
        self._is_ready, self._recorded = False, None


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
