"""State that kernels keep from call to call: scratch memory, and which algorithm is the fastest for a
shape."""

from collections.abc import Callable, Mapping

import torch

from convnet_benchmarks.nets.engine import QUICK, Memory, Tuner, cache_file

# Runs after which candidates are timed. Timing takes about as long as this many runs: a script that runs a
# net once or twice never waits for it, and others wait no longer than they have worked.
_RUNS_BEFORE_TIMING = 10


class Workspace:
    """Belongs to one Lua state, or to whoever calls kernels from Python; freed with it.

    ``memory`` has one block of scratch, as large as the largest request so far: kernels ask for pieces of a
    few MB, whatever the batch. ``copies`` has another, for what a kernel holds while it runs one of the
    engine's, which has scratch of its own. ``timing``: candidates may be timed; otherwise the first is kept,
    and results do not depend on times.
    """

    def __init__(self, timing: bool = True) -> None:
        self._timing = timing
        self.memory = Memory()
        self.copies = Memory()
        self._tuners: dict[int, Tuner] = {}  # by thread count
        self._picks: dict[tuple[str, int], str] = {}
        self._runs: dict[tuple[str, int], int] = {}

    def fastest(self, work: str, candidates: Mapping[str, Callable[[], Callable[[], None]]]) -> str:
        """Returns which of ``candidates`` (functions that prepare a run and return it) is the fastest for
        ``work``, as far as is known.

        The engine's tuning file (docs/engine.md) may know it from an earlier process. If not, it is the first
        one until ``work`` has been asked for some times: then all are timed, once.
        """
        if not self._timing:
            return next(iter(candidates))
        threads = torch.get_num_threads()
        key = work, threads
        if key in self._picks:
            return self._picks[key]
        if threads not in self._tuners:
            self._tuners[threads] = Tuner(cache_file(), QUICK)
        tuner = self._tuners[threads]
        runs = self._runs[key] = self._runs.get(key, 0) + 1
        if runs <= _RUNS_BEFORE_TIMING and not tuner.knows(work, candidates):
            return next(iter(candidates))
        self._picks[key] = tuner.choose(work, candidates).name
        tuner.save()
        return self._picks[key]
