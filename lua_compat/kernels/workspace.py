"""State that kernels keep from call to call: scratch memory, and which algorithm is the fastest for a
shape."""

from collections.abc import Callable, Mapping

import torch

from nets.engine.choice.tuning import Tuner, cache_file
from nets.engine.memory import Memory


class Workspace:
    """Belongs to one Lua state, or to whoever calls kernels from Python; freed with it.

    ``memory`` has one block of scratch, as large as the largest request so far: kernels ask for pieces of a
    few MB, whatever the batch. ``copies`` has another, for what a kernel holds while it runs one of the
    engine's, which has scratch of its own.
    """

    def __init__(self) -> None:
        self.memory = Memory()
        self.copies = Memory()
        self._tuners: dict[int, Tuner] = {}  # by thread count
        self._picks: dict[tuple[str, int], str] = {}

    def fastest(self, work: str, candidates: Mapping[str, Callable[[], Callable[[], None]]]) -> str:
        """Returns which of ``candidates`` (functions that prepare a run and return it) is the fastest at
        ``work``.

        They are timed when ``work`` is first met, unless the engine's tuning file (docs/engine.md) knows it
        from an earlier process.
        """
        threads = torch.get_num_threads()
        pick = self._picks.get((work, threads))
        if pick is None:
            if threads not in self._tuners:
                self._tuners[threads] = Tuner(cache_file())
            tuner = self._tuners[threads]
            pick = self._picks[work, threads] = tuner.choose(work, candidates)
            tuner.save()
        return pick
