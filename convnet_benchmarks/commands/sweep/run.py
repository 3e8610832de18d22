"""Measuring what a file of points lacks."""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from convnet_benchmarks.commands.sweep.largest_batch import find_largest_batch
from convnet_benchmarks.points.between_processes import in_rounds, merged, processes
from convnet_benchmarks.points.cluster import Job, WorkersLost
from convnet_benchmarks.points.file import Identity, PointFile, identity, latest
from convnet_benchmarks.points.point import FAILED, OK, OUT_OF_MEMORY, UNSUPPORTED, Point
from convnet_benchmarks.points.process import describe_device, measure_apart
from convnet_benchmarks.points.scenario import Scenario
from convnet_benchmarks.progress import Progress
from convnet_benchmarks.timing.loops import Settling
from convnet_benchmarks.workload import backends
from convnet_benchmarks.workload.devices import device_type
from convnet_benchmarks.workload.memory import memory_budget

if TYPE_CHECKING:
    from convnet_benchmarks.points.cluster import Cluster

THROUGHPUT, LARGEST_BATCH = "point", "largest batch"
About = tuple[str, Point]


@dataclass(frozen=True)
class Task:
    """One thing to find out on one of ``machines`` (``environment.machine``). A search's point has batch
    size 1.
    """

    kind: str  # as in the file
    point: Point
    machines: tuple[dict[str, str], ...]
    scenario: Scenario | None = None

    def __str__(self) -> str:
        if self.scenario:
            return f"{self.point}, {self.kind}"
        if self.kind == THROUGHPUT:
            return str(self.point)
        return str(self.point).replace("batch 1,", "largest batch,")

    def record_in(self, found: Mapping[Identity, dict[str, Any]]) -> dict[str, Any] | None:
        """Returns the task's record in what ``latest`` found: the newest that did not fail, if any."""
        about = {"kind": self.kind, "point": self.point.as_dict(), **self.target}
        records = [found.get(identity({**about, "machine": machine})) for machine in self.machines]
        kept = [record for record in records if record is not None]
        return max(kept, key=lambda one: (one["status"] != FAILED, one.get("time", ""))) if kept else None

    @property
    def target(self) -> dict[str, Any]:
        """Returns the field that a record under a load has besides kind and point."""
        return {"latency_target_ms": self.scenario.latency_target_ms} if self.scenario else {}

    @property
    def about(self) -> About:
        """Returns what tells it from the other tasks of a sweep."""
        return self.kind, self.point

    @property
    def combination(self) -> Point:
        """Returns the point but for its batch size."""
        return replace(self.point, batch_size=1)

    @property
    def device_type(self) -> str:
        return device_type(self.point.device)


TooLarge = dict[Point, dict[str, Any]]


@dataclass(frozen=True)
class Limits:
    """The resources that a point may take, wherever it is measured. ``seconds``: for a timed loop.

    ``memory_budget``: bytes of main memory for a point on a CPU; None: a share of what is available there.
    ``time_limit``: seconds for a point. ``cores``: the only ones to use.
    """

    seconds: float
    memory_budget: int | None
    time_limit: float | None
    cores: Sequence[int] | None


def measure_missing(
    tasks: list[Task], file: PointFile, options: argparse.Namespace, cluster: "Cluster | None"
) -> None:
    """Appends to ``file`` what it has no final record of; a combination's batches rise in ``tasks``.

    They are measured here one after the other, or by the workers of ``cluster``.
    """
    limits = Limits(options.seconds, options.memory_budget, options.time_limit, options.cores)
    found = latest(file.records)
    known = {task.about: _known(task, found, options.memory_budget) for task in tasks}
    lacking = {task.about: _processes_lacking(task, known[task.about], options.processes) for task in tasks}
    too_large: TooLarge = {}  # the smallest batch that was out of memory, by combination
    for task in tasks:
        if (record := known[task.about]) is not None:
            _note_too_large(too_large, task, record)
    there = sum(not count for count in lacking.values())
    if there:
        print(f"{there} of {len(tasks)} points are in {options.points} already", file=sys.stderr)
    progress = Progress(sum(lacking.values()))
    named = {task.about: task for task in tasks}

    def measure(missing: list[About]) -> Iterator[tuple[About, dict[str, Any]]]:
        asked = [named[about] for about in missing]
        measured = (
            _spread(cluster, asked, too_large, limits, progress)
            if cluster
            else _in_turn(asked, too_large, limits, progress)
        )
        return ((task.about, record) for task, record in measured)

    try:
        for about, record in in_rounds(lacking, known, measure, merged):
            file.append(record)
            _note_too_large(too_large, named[about], record)
            if record["status"] == FAILED:
                progress.clear()
                print(f"failed: {named[about]}: {record['reason']}", file=sys.stderr)
    finally:
        progress.clear()


def _known(task: Task, found: Mapping[Identity, dict[str, Any]], budget: int | None) -> dict[str, Any] | None:
    """Returns the record in what ``latest`` found that answers ``task``, if any."""
    record = task.record_in(found)
    return record if record is not None and _is_final(record, task, budget) else None


def _processes_lacking(task: Task, record: dict[str, Any] | None, wanted: int) -> int:
    """Returns in how many more processes ``task`` is to be measured; a search, or what fails, in one."""
    if record is None:
        return wanted if task.kind == THROUGHPUT else 1
    if task.kind != THROUGHPUT or record["status"] != OK:
        return 0
    return max(0, wanted - processes(record))


def _note_too_large(too_large: TooLarge, task: Task, record: dict[str, Any]) -> None:
    if task.kind != THROUGHPUT or record["status"] != OUT_OF_MEMORY:
        return
    known = too_large.get(task.combination)
    if known is None or task.point.batch_size < known["point"]["batch_size"]:
        too_large[task.combination] = record


def _smaller_too_large(too_large: TooLarge, task: Task) -> dict[str, Any] | None:
    """Returns the record of a smaller batch of the combination that was out of memory, if any."""
    known = too_large.get(task.combination) if task.kind == THROUGHPUT else None
    return known if known and known["point"]["batch_size"] < task.point.batch_size else None


def _in_turn(
    tasks: Sequence[Task], too_large: TooLarge, limits: Limits, progress: Progress
) -> Iterator[tuple[Task, dict[str, Any]]]:
    """Yields each task with its record as it is measured on this machine."""
    for task in tasks:
        progress.start(str(task))
        smaller = _smaller_too_large(too_large, task)
        yield task, _not_tried(task, smaller) if smaller else _measured(task, task.machines[0], limits)


def _spread(
    cluster: "Cluster",
    tasks: Sequence[Task],
    too_large: TooLarge,
    limits: Limits,
    progress: Progress,
) -> Iterator[tuple[Task, dict[str, Any]]]:
    """Yields each task with its record as a worker of ``cluster`` has measured it.

    All are on their way from the start; of what is too large to run, the larger ones are taken back.
    """
    jobs = [Job((task, limits), task.point.device, task.combination) for task in tasks]
    calls = cluster.run(measure_on_worker, jobs)
    for index, record in calls:
        task = tasks[index]
        progress.start(str(task))
        if isinstance(record, WorkersLost):
            record = _record(task, task.machines[0], limits, {"status": FAILED, "reason": record.reason})
        yield task, record
        if task.combination not in too_large:
            continue
        for other, later in enumerate(tasks):
            smaller = _smaller_too_large(too_large, later)
            if smaller and calls.drop(other):
                progress.start(str(later))
                yield later, _not_tried(later, smaller)


def _is_final(record: dict[str, Any], task: Task, budget: int | None) -> bool:
    """Returns whether ``record`` answers ``task``. Another memory ``budget`` (None: any) may give another
    answer.
    """
    if record["status"] == FAILED:
        return False
    if task.device_type != "cpu" or budget is None:
        return True
    depends_on_budget = task.kind == LARGEST_BATCH or record["status"] == OUT_OF_MEMORY
    return not depends_on_budget or bool(record["memory_budget_bytes"] == budget)


def measure_on_worker(task: Task, limits: Limits) -> dict[str, Any]:
    """Measures a task on the machine that this runs on; returns the line of the file."""
    return _measured(task, describe_device(task.point.device, "--devices"), limits)


def _measured(task: Task, machine: dict[str, str], limits: Limits) -> dict[str, Any]:
    budget = memory_budget(limits.memory_budget) if task.device_type == "cpu" else None
    limits = replace(limits, memory_budget=budget)
    given = {name: getattr(limits, name) for name in ("memory_budget", "time_limit", "cores")}
    why_not = backends.find(task.point.backend).why_not_on(task.device_type)
    result: dict[str, Any]
    if why_not:
        result = {"status": UNSUPPORTED, "reason": why_not}
    elif task.kind == LARGEST_BATCH:
        result = find_largest_batch(task.point, **given)
    elif task.scenario:
        result = measure_apart(task.point, scenario=task.scenario, **given)
    else:
        settling = Settling(least_seconds=min(0.5, limits.seconds), most_seconds=limits.seconds)
        result = measure_apart(task.point, settling, **given)
    return _record(task, machine, limits, result)


def _not_tried(task: Task, smaller: dict[str, Any]) -> dict[str, Any]:
    """Returns the line for a batch above one that was out of memory."""
    reason = f"batch {smaller['point']['batch_size']} was out of memory already"
    shared = {name: smaller[name] for name in ("kind", "machine", "memory_budget_bytes", "cores")}
    return {**shared, "status": OUT_OF_MEMORY, "reason": reason, "point": task.point.as_dict()}


def _record(task: Task, machine: dict[str, str], limits: Limits, result: dict[str, Any]) -> dict[str, Any]:
    return {
        "kind": task.kind,
        "machine": machine,
        "memory_budget_bytes": limits.memory_budget,
        "cores": limits.cores,
        **result,
        **task.target,
        "point": task.point.as_dict(),
    }
