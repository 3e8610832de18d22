"""Measuring what a file of points lacks."""

import argparse
import sys
from dataclasses import dataclass, replace
from typing import Any

from convnet_benchmarks.commands.sweep.largest_batch import find_largest_batch
from convnet_benchmarks.points.file import Identity, PointFile, identity, latest
from convnet_benchmarks.points.point import FAILED, OUT_OF_MEMORY, UNSUPPORTED, Point
from convnet_benchmarks.points.process import measure_apart
from convnet_benchmarks.progress import Progress
from convnet_benchmarks.timing.loops import Settling
from convnet_benchmarks.workload import backends
from convnet_benchmarks.workload.devices import device_type
from convnet_benchmarks.workload.memory import SHARE_OF_MEMORY, available_bytes

THROUGHPUT, LARGEST_BATCH = "point", "largest batch"


@dataclass(frozen=True)
class Task:
    """One thing to find out on one machine (``environment.machine``). A search's point has batch size 1."""

    kind: str  # as in the file
    point: Point
    machine: dict[str, str]

    def __str__(self) -> str:
        if self.kind == THROUGHPUT:
            return str(self.point)
        return str(self.point).replace("batch 1,", "largest batch,")

    @property
    def identity(self) -> Identity:
        return identity({"kind": self.kind, "point": self.point.as_dict(), "machine": self.machine})

    @property
    def combination(self) -> Point:
        """Returns the point but for its batch size."""
        return replace(self.point, batch_size=1)

    @property
    def device_type(self) -> str:
        return device_type(self.point.device)


def measure_missing(tasks: list[Task], file: PointFile, options: argparse.Namespace) -> None:
    """Appends to ``file`` what it has no final record of; a combination's batches rise in ``tasks``."""
    available = available_bytes()
    budget = options.memory_budget or (available and int(available * SHARE_OF_MEMORY))
    found = latest(file.records)
    final = {
        task.identity for task in tasks if _is_final(found.get(task.identity), task, options.memory_budget)
    }
    if final:
        print(f"{len(final)} of {len(tasks)} points are in {options.points} already", file=sys.stderr)
    progress = Progress(len(tasks) - len(final))
    too_large: dict[Point, int] = {}
    try:
        for task in tasks:
            if task.identity in final:
                record = found[task.identity]
            else:
                progress.start(str(task))
                record = _record(task, too_large.get(task.combination), budget, options)
                file.append(record)
                if record["status"] == FAILED:
                    progress.clear()
                    print(f"failed: {task}: {record['reason']}", file=sys.stderr)
            if task.kind == THROUGHPUT and record["status"] == OUT_OF_MEMORY:
                too_large.setdefault(task.combination, task.point.batch_size)
    finally:
        progress.clear()


def _is_final(record: dict[str, Any] | None, task: Task, budget: int | None) -> bool:
    """Returns whether ``record`` answers ``task``. Another memory ``budget`` (None: any) may give another
    answer.
    """
    if record is None or record["status"] == FAILED:
        return False
    if task.device_type != "cpu" or budget is None:
        return True
    depends_on_budget = task.kind == LARGEST_BATCH or record["status"] == OUT_OF_MEMORY
    return not depends_on_budget or bool(record["memory_budget_bytes"] == budget)


def _record(
    task: Task, too_large: int | None, budget: int | None, options: argparse.Namespace
) -> dict[str, Any]:
    """Returns the line of the file. ``too_large``: a batch of the same combination that was out of memory."""
    on_cpu = task.device_type == "cpu"
    why_not = backends.find(task.point.backend).why_not_on(task.device_type)
    limits = {
        "memory_budget": budget if on_cpu else None,
        "time_limit": options.time_limit,
        "cores": options.cores,
    }
    result: dict[str, Any]
    if why_not:
        result = {"status": UNSUPPORTED, "reason": why_not}
    elif task.kind == LARGEST_BATCH:
        result = find_largest_batch(task.point, **limits)
    elif too_large is not None:
        result = {"status": OUT_OF_MEMORY, "reason": f"batch {too_large} was out of memory already"}
    else:
        settling = Settling(least_seconds=min(0.5, options.seconds), most_seconds=options.seconds)
        result = measure_apart(task.point, settling, **limits)
    return {
        "kind": task.kind,
        "machine": task.machine,
        "memory_budget_bytes": limits["memory_budget"],
        "cores": options.cores,
        **result,
        "point": task.point.as_dict(),
    }
