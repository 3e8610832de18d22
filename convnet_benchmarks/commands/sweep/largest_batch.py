"""The largest batch that a device's memory holds, by doubling and then bisection."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any

from convnet_benchmarks.points.point import OK, OUT_OF_MEMORY, Point
from convnet_benchmarks.points.process import PointWorker, WorkerEndedError

# The search ends when the smallest batch that failed is at most this much above the largest that ran.
TOLERANCE = 1 / 64
MOST = 2**20


def search(fits: Callable[[int], bool], most: int = MOST) -> tuple[int, int | None]:
    """Returns the largest batch found to fit (0: none), and the smallest found not to (None: ``most`` fits).

    They are neighbours up to 64, and within TOLERANCE of each other above. ``fits`` is asked for ever larger
    batches until one does not, and then between the two.
    """
    fitting, failing = 0, None
    while failing is None and fitting < most:
        batch = min(2 * fitting or 1, most)
        if fits(batch):
            fitting = batch
        else:
            failing = batch
    while failing is not None and failing - fitting > max(1, math.floor(fitting * TOLERANCE)):
        middle = (fitting + failing) // 2
        if fits(middle):
            fitting = middle
        else:
            failing = middle
    return fitting, failing


@dataclass
class _Tries:
    """Tries batches of ``point``; ``tried`` is what has come of them."""

    point: Point
    memory_budget: int | None
    limits: dict[str, Any]
    worker: PointWorker | None = None

    def __post_init__(self) -> None:
        self.tried: list[dict[str, Any]] = []
        self.ran: dict[int, dict[str, Any]] = {}

    def fits(self, batch: int) -> bool:
        """Returns whether ``batch`` runs in the memory there is; raises _Refused where it fails otherwise."""
        point = replace(self.point, batch_size=batch)
        try:
            if self.worker is None:
                self.worker = PointWorker(memory_budget=self.memory_budget, **self.limits)
            result = self.worker.try_point(point)
        except WorkerEndedError as ended:
            self.worker = None
            result = {"status": ended.status, "reason": str(ended)}
        peak = result.get("peak_memory_bytes")
        status = result["status"]
        if point.device == "cpu":
            self.close()  # a peak counts from the start of a process; a GPU's is counted for each try
            if status == OK and self.memory_budget is not None and (peak or 0) > self.memory_budget:
                status = OUT_OF_MEMORY  # a peak too short to be seen while it lasted
        self.tried.append({"batch_size": batch, "status": status, "peak_memory_bytes": peak})
        if "ran" in result:
            self.ran[batch] = result["ran"]
        if status not in (OK, OUT_OF_MEMORY):
            raise _Refused(status, result["reason"])
        return bool(status == OK)

    def close(self) -> None:
        if self.worker is not None:
            self.worker.close()
            self.worker = None


class _Refused(Exception):
    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status


def find_largest_batch(point: Point, memory_budget: int | None, **limits: Any) -> dict[str, Any]:
    """Returns the search for ``point``, whose own batch size does not matter, as plain JSON values.

    ``memory_budget``: bytes of main memory for the process that tries a batch; a GPU's limit is its memory.
    ``limits``: as PointWorker's. Keys: ``status``, ``reason``, ``largest_batch``, ``smallest_failing_batch``,
    ``peak_memory_bytes`` and ``ran`` of the largest, ``tried``, every batch with its status and peak,
    and when it was found and how long that took.
    """
    begin = time.perf_counter()
    tries = _Tries(point, memory_budget, limits)
    largest, failing = 0, None
    status, reason = OK, ""
    try:
        largest, failing = search(tries.fits)
    except _Refused as refused:
        status, reason = refused.status, str(refused)
    finally:
        tries.close()
    peaks = {entry["batch_size"]: entry["peak_memory_bytes"] for entry in tries.tried}
    return {
        **({"ran": tries.ran[largest]} if largest in tries.ran else {}),
        "status": status,
        "reason": reason,
        "largest_batch": largest if status == OK else None,
        "smallest_failing_batch": failing,
        "peak_memory_bytes": peaks.get(largest),
        "tried": tries.tried,
        "time": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "seconds": time.perf_counter() - begin,
    }
