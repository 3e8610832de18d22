"""``python -m convnet_benchmarks.point_worker``: the process that measures points, one after the other.

It reads requests from stdin and answers each on stdout, a line of JSON either way; it ends when its stdin
does, and so with whoever started it. ``point_process.py`` is the other end. Requests:

    {"do": "start", "cores": [0, 1] or null}              before PyTorch is loaded: the cores to keep to
    {"do": "describe", "device": "cuda"}                  -> its machine, or an error
    {"do": "measure", "point": {...}, "settling": {...}}  -> the point, as point_measurement.measure gives it
    {"do": "try", "point": {...}}                         -> status, reason, peak_memory_bytes
"""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any


def main() -> int:
    """Answers requests until stdin ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then ends this process
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what libraries print must not look like an answer
    requests: SimpleQueue[str] = SimpleQueue()
    threading.Thread(target=_read_requests, args=(requests,), daemon=True).start()
    while True:
        request = json.loads(requests.get())
        answer = REQUESTS[request.pop("do")](**request)
        answers.write(json.dumps(answer, allow_nan=False) + "\n")
        answers.flush()


def _read_requests(requests: "SimpleQueue[str]") -> None:
    """In a thread of its own: the end of the parent ends this process in the middle of a pass, too."""
    for line in sys.stdin:
        requests.put(line)
    os._exit(0)


def _start(cores: list[int] | None) -> dict[str, Any]:
    if cores is not None:
        os.sched_setaffinity(0, cores)
    import torch  # noqa: F401  (loaded here: its threads take over the affinity)

    return {}


def _describe(device: str) -> dict[str, Any]:
    from convnet_benchmarks import environment
    from convnet_benchmarks.errors import UserError
    from convnet_benchmarks.point_workload import open_device

    try:
        open_device(device)
    except UserError as error:
        return {"error": str(error)}
    return {"machine": environment.machine(device)}


def _measure(point: dict[str, Any], settling: dict[str, Any]) -> dict[str, Any]:
    from convnet_benchmarks.point_measurement import measure
    from convnet_benchmarks.points import Point
    from convnet_benchmarks.timing import Settling

    return measure(Point.from_dict(point), Settling(**settling))


def _try(point: dict[str, Any]) -> dict[str, Any]:
    from convnet_benchmarks.point_measurement import try_point
    from convnet_benchmarks.points import Point

    return try_point(Point.from_dict(point))


REQUESTS: dict[str, Callable[..., dict[str, Any]]] = {
    "start": _start,
    "describe": _describe,
    "measure": _measure,
    "try": _try,
}


if __name__ == "__main__":
    sys.exit(main())
