"""``python -m convnet_benchmarks.points.worker``: the process that measures points, one after the other.

It reads requests from stdin and answers each on stdout, a line of JSON either way; it ends when its stdin
does, and so with whoever started it. ``points/process.py`` is the other end. A request is an object with the
method of Requests that it wants under ``do``, and that method's arguments.
"""

import contextlib
import json
import os
import signal
import sys
import threading
from queue import SimpleQueue
from typing import Any

from convnet_benchmarks import environment
from convnet_benchmarks.child_process import stdout_for_answers
from convnet_benchmarks.errors import UserError
from convnet_benchmarks.points.measure import measure, outcome_of, try_point
from convnet_benchmarks.points.point import Point
from convnet_benchmarks.points.scenario import Scenario
from convnet_benchmarks.points.under_load import measure_scenario
from convnet_benchmarks.points.workload import PointWorkload, open_point
from convnet_benchmarks.timing.conditions import Conditions, watched
from convnet_benchmarks.timing.loops import Settling, run_loop, warm_up, watched_loop
from convnet_benchmarks.workload.devices import open_device
from convnet_benchmarks.workload.tensors import tensors_in

Answer = dict[str, Any]


class Requests:
    """The requests that a worker answers. torch is imported by the first, after its cores are chosen."""

    def __init__(self) -> None:
        self._kept = contextlib.ExitStack()
        self._workload: PointWorkload | None = None
        self._conditions: Conditions | None = None

    def start(self, cores: list[int] | None) -> Answer:
        """Keeps to the processor cores ``cores``; null for all there are."""
        if cores is not None:
            os.sched_setaffinity(0, cores)
        import torch  # noqa: F401  (its threads take over the affinity)

        return {}

    def describe(self, device: str) -> Answer:
        """Returns the ``machine`` of a device, or an ``error``."""
        try:
            open_device(device)
        except UserError as error:
            return {"error": str(error)}
        return {"machine": environment.machine(device)}

    def measure(self, point: Answer, settling: Answer) -> Answer:
        """Measures a point: see ``points/measure.py``."""
        return measure(Point.from_dict(point), Settling(**settling))

    def measure_scenario(self, point: Answer, scenario: Answer) -> Answer:
        """Measures a point under a load: see ``points/under_load.py``."""
        return measure_scenario(Point.from_dict(point), Scenario(**scenario))

    def try_point(self, point: Answer) -> Answer:
        """Tries a point: see ``points/measure.py``."""
        return try_point(Point.from_dict(point))

    def open(self, point: Answer, warm_up_seconds: float) -> Answer:
        """Keeps the point ready for ``time``, ``conditions`` and ``output``.

        Answers with its ``status``, ``reason`` and environment.
        """
        with outcome_of() as outcome:
            self._workload = self._kept.enter_context(open_point(Point.from_dict(point)))
            run, clock = self._workload.infer, self._workload.clock
            warm_up(run, clock, most_seconds=warm_up_seconds)
            self._conditions = self._kept.enter_context(watched(self._workload.device, clock))
            outcome.figures = {
                "ran": self._workload.ran.as_dict(),
                "pass_ms": run_loop(run, 1, clock).ms_per_pass,
                "environment": environment.collect(self._workload.device),
            }
        return {"status": outcome.status, "reason": outcome.reason, **outcome.figures}

    def time(self, passes: int, waiting: bool) -> Answer:
        """Times passes: ``ms`` per pass; ``waiting``: the device is waited for after each, not only the
        last.
        """
        assert self._workload is not None, "open has been asked for before"
        run, clock = self._workload.infer, self._workload.clock

        def run_and_wait() -> None:
            run()
            clock.synchronise()

        loop = watched_loop(run_and_wait if waiting else run, passes, clock, self._conditions)
        return {"ms": loop.ms_per_pass}

    def conditions(self) -> Answer:
        """Returns what the machine was like in all that was timed: ``Conditions.as_dict``."""
        assert self._conditions is not None, "open has been asked for before"
        return self._conditions.as_dict()

    def output(self, path: str) -> Answer:
        """Writes the output for the point's input to a file of numpy: one float32 array, or several."""
        import numpy as np

        assert self._workload is not None, "open has been asked for before"
        found = tensors_in(self._workload.infer())
        np.savez(path, *[tensor.detach().float().cpu().numpy() for tensor in found])
        return {}


def main() -> int:
    """Answers requests until stdin ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then ends this process
    answers = stdout_for_answers()
    lines: SimpleQueue[str] = SimpleQueue()
    threading.Thread(target=_read_requests, args=(lines,), daemon=True).start()
    requests = Requests()
    while True:
        request = json.loads(lines.get())
        answer = getattr(requests, request.pop("do"))(**request)
        answers.write(json.dumps(answer, allow_nan=False) + "\n")
        answers.flush()


def _read_requests(lines: "SimpleQueue[str]") -> None:
    """Reads in a thread of its own: the end of the parent ends this process in the middle of a pass, too."""
    for line in sys.stdin:
        lines.put(line)
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
