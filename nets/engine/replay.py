"""Steps of a plan that are recorded once, and then run without Python in between."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from torch import Tensor

from convnet_benchmarks.nets.engine.kernels.compiled.recording import Recording
from convnet_benchmarks.nets.engine.kernels.compiled.sequence import CallsInTurn

Action = Callable[[], None]


class Watch:
    """Counts the ``changes`` of what recorded steps depend on, besides the contents of their memory.

    ``changed`` returns whether anything has changed since its last call.
    """

    def __init__(self, changed: Callable[[], bool]) -> None:
        self._changed = changed
        self.changes = 0

    def look(self) -> None:
        """Checks for a change. Called before runs during which nothing changes."""
        if self._changed():
            self.changes += 1

    def accept(self) -> None:
        """Accepts changes since the last look as the plan's own, which its steps know of."""
        self._changed()

    def forget(self) -> None:
        """Counts a change that cannot be detected."""
        self.changes += 1


class Replay:
    """Runs ``steps``, which read and write the same memory every time as long as nothing ``watched`` changes.

    Steps communicate only through that memory. The first run after a change prepares it (copies of weights in
    another layout, scratch memory); the next one is recorded. From then on, steps that only call compiled
    code are called from C, adjacent ones together: ``recorded``. ``scratch``: the address of the memory that
    all steps use temporarily; if it has changed, they are recorded again. ``records``: whether to record.
    """

    def __init__(
        self,
        steps: Sequence[Action],
        *watched: Watch,
        scratch: Callable[[], int] = lambda: 0,
        records: bool = True,
    ) -> None:
        self.steps = steps
        self._watched = watched
        self._scratch = scratch
        self._records = records
        self._ready_since: list[int] | None = None  # changes of all that is watched
        self._recorded_with = 0  # the scratch memory
        self.recorded: Sequence[Action] | None = None

    def run(self) -> None:
        changes = [watch.changes for watch in self._watched]
        if changes != self._ready_since or not self._records:
            for step in self.steps:
                step()
            self._ready_since, self.recorded = changes, None
        elif self.recorded is None or self._scratch() != self._recorded_with:
            self.recorded, self._recorded_with = _record(self.steps), self._scratch()
        else:
            for step in self.recorded:
                step()


def _record(steps: Iterable[Action]) -> list[Action]:
    """Runs ``steps``, and returns what does the same in less time."""
    found: list[Action] = []
    waiting: list[Any] = []
    written: list[Tensor] = []

    def settle() -> None:
        if waiting:
            found.append(CallsInTurn(waiting, written))
            waiting.clear()
            written.clear()

    for step in steps:
        with Recording() as recording:
            step()
        if recording.complete:
            waiting += recording.calls
            written += recording.written
        else:
            settle()
            found.append(step)
    settle()
    return found
