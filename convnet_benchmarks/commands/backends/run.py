"""A sitting: one net under every variant, timed in turns. Each variant keeps its process."""

import contextlib
import math
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

from convnet_benchmarks.points.point import FAILED, OK, UNSUPPORTED, Point
from convnet_benchmarks.points.process import PointWorker, WorkerEndedError, describe_device
from convnet_benchmarks.timing.statistics import summarise, waiting_share
from convnet_benchmarks.timing.verdicts import speed_up
from convnet_benchmarks.workload.devices import device_type
from convnet_benchmarks.workload.memory import memory_budget
from convnet_benchmarks.workload.variants import Variant

# A sample lasts at least this long, by as many passes as that takes.
_SAMPLE_MS = 50.0


@dataclass(frozen=True)
class Sitting:
    """How long to measure: ``pairs`` rounds, fewer when ``seconds`` are over.

    ``waiting``: a pass is waited for before the next (latency), not only the last of a sample (throughput).
    ``limits``: as PointWorker's.
    """

    pairs: int
    seconds: float
    waiting: bool
    limits: Mapping[str, Any]


@dataclass(frozen=True)
class Comparison:
    """One line of the file of points to make: ``head`` is its kind, point, machine and variants."""

    head: Mapping[str, Any]
    point: Point
    without: Variant
    others: tuple[Variant, ...]
    sitting: Sitting

    def __str__(self) -> str:
        return f"{self.point.net}, batch {self.point.batch_size}"

    def measured(self) -> dict[str, Any]:
        """Returns the line, measured on this machine."""
        limits = dict(self.sitting.limits)
        on_cpu = self.point.device == "cpu"
        limits["memory_budget"] = (
            memory_budget(limits["memory_budget"], 1 + len(self.others)) if on_cpu else None
        )
        found = compare(self.point, self.without, self.others, replace(self.sitting, limits=limits))
        return {**self.head, "cores": limits["cores"], **found}

    def failed(self, reason: str) -> dict[str, Any]:
        """Returns the line of a comparison that failed."""
        results = {name: {"status": FAILED, "reason": reason} for name in self.head["variants"]}
        found = {"status": FAILED, "reason": reason, "waiting": self.sitting.waiting, "results": results}
        return {**self.head, "cores": self.sitting.limits["cores"], **found}


def measure_on_worker(comparison: Comparison) -> dict[str, Any]:
    """Returns the line, measured on the machine that this runs on."""
    machine = describe_device(comparison.point.device, "--device")
    return replace(comparison, head={**comparison.head, "machine": machine}).measured()


def compare(point: Point, without: Variant, others: Sequence[Variant], sitting: Sitting) -> dict[str, Any]:
    """Returns every variant's times and outputs, and those of ``others`` against ``without``, as plain
    JSON values.

    ``point``: the net and its input; backend and number format are the variants'. A variant that does not
    run has its ``status`` and ``reason``; FAILED as a whole when one of them failed.
    """
    begin = time.perf_counter()
    with contextlib.ExitStack() as stack:
        variants = (without, *others)
        opened = {variant.name: _open(point, variant, sitting, stack) for variant in variants}
        workers = {name: worker for name, (worker, _) in opened.items() if worker is not None}
        results = {name: dict(answer) for name, (_, answer) in opened.items()}
        samples = _in_turns(workers, results, sitting)
        _note_conditions(workers, results)
        outputs = _outputs(workers, results)
    for name, found in samples.items():
        if results[name]["status"] == OK and found:
            _describe(results[name], point.batch_size, found)
    for variant in others:
        if results[variant.name]["status"] == OK and results[without.name]["status"] == OK:
            _against(results, samples, outputs, variant.name, without.name)
    failed = [name for name, result in results.items() if result["status"] == FAILED]
    return {
        "status": FAILED if failed else OK,
        "reason": "; ".join(f"{name}: {results[name]['reason']}" for name in failed),
        "variants": [variant.name for variant in variants],
        "waiting": sitting.waiting,
        "results": results,
        "time": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "seconds": time.perf_counter() - begin,
    }


def variant_point(point: Point, variant: Variant) -> Point:
    return replace(point, backend=variant.backend.name, dtype=variant.dtype)


def _open(
    point: Point, variant: Variant, sitting: Sitting, stack: contextlib.ExitStack
) -> tuple[PointWorker | None, dict[str, Any]]:
    """Returns a worker with the variant warmed up, or None, and what it answered."""
    why_not = variant.backend.why_not_on(device_type(point.device))
    if why_not:
        return None, {"status": UNSUPPORTED, "reason": why_not}
    try:
        worker = stack.enter_context(PointWorker(variables=variant.variables, **sitting.limits))
        asked = variant_point(point, variant).as_dict()
        answer = worker.ask("open", point=asked, warm_up_seconds=min(5.0, sitting.seconds))
    except WorkerEndedError as ended:
        return None, {"status": ended.status, "reason": str(ended)}
    if answer["status"] != OK:
        worker.close()
        return None, answer
    return worker, answer


def _in_turns(
    workers: dict[str, PointWorker], results: dict[str, dict[str, Any]], sitting: Sitting
) -> dict[str, list[float]]:
    """Returns milliseconds per pass of every worker in every round; a worker that ends leaves ``workers``."""
    passes = {name: max(1, math.ceil(_SAMPLE_MS / results[name].pop("pass_ms"))) for name in workers}
    samples: dict[str, list[float]] = {name: [] for name in workers}
    begin = time.monotonic()
    for round in range(sitting.pairs):
        if round and time.monotonic() - begin > sitting.seconds:
            break
        # Every other round runs in reverse, so that no variant always follows the same one.
        for name in list(workers)[:: 1 if round % 2 == 0 else -1]:
            with _noted_end(name, workers, results):
                answer = workers[name].ask("time", passes=passes[name], waiting=sitting.waiting)
                samples[name].append(answer["ms"])
    return samples


def _note_conditions(workers: dict[str, PointWorker], results: dict[str, dict[str, Any]]) -> None:
    for name in list(workers):
        with _noted_end(name, workers, results):
            results[name]["conditions"] = workers[name].ask("conditions")


def _outputs(
    workers: dict[str, PointWorker], results: dict[str, dict[str, Any]]
) -> dict[str, list["np.ndarray[Any, Any]"]]:
    outputs = {}
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(list(workers)):
            path = str(Path(folder, f"{number}.npz"))
            with _noted_end(name, workers, results):
                workers[name].ask("output", path=path)
                with np.load(path) as arrays:
                    outputs[name] = [arrays[key] for key in arrays.files]
    return outputs


@contextlib.contextmanager
def _noted_end(
    name: str, workers: dict[str, PointWorker], results: dict[str, dict[str, Any]]
) -> Iterator[None]:
    """Leaves out a worker that ends in the block, and notes in its result why."""
    try:
        yield
    except WorkerEndedError as ended:
        workers.pop(name).close()
        results[name] = {"status": ended.status, "reason": str(ended)}


def _describe(result: dict[str, Any], batch_size: int, samples: list[float]) -> None:
    seen = result["conditions"]
    throttled, waiting = bool(seen["throttled_passes"]), waiting_share(seen)
    summary = summarise(samples, throttled=throttled, waiting=waiting)
    result["samples_ms"] = samples
    result["latency_ms"] = summary.median
    result["samples_per_second"] = batch_size * 1e3 / summary.median
    result["pass_ms"] = summary.without_advice()


def _against(
    results: dict[str, dict[str, Any]],
    samples: dict[str, list[float]],
    outputs: dict[str, list["np.ndarray[Any, Any]"]],
    name: str,
    without: str,
) -> None:
    pairs = min(len(samples[name]), len(samples[without]))
    if pairs:
        found = speed_up(samples[without][:pairs], samples[name][:pairs])
        results[name]["speed_up"] = found.as_dict()
    if name in outputs and without in outputs:
        results[name]["output_difference"] = output_difference(outputs[without], outputs[name])


def output_difference(
    expected: Sequence["np.ndarray[Any, Any]"], found: Sequence["np.ndarray[Any, Any]"]
) -> dict[str, float | None]:
    """Returns the largest ``absolute`` difference of two outputs; ``relative`` to the largest of
    ``expected``.

    None if the outputs differ in their shapes (a detector's number of boxes) or are not finite.
    """
    nothing: dict[str, float | None] = {"absolute": None, "relative": None}
    if [array.shape for array in expected] != [array.shape for array in found]:
        return nothing
    differences = [
        np.abs(a.astype(np.float64) - b).max(initial=0.0) for a, b in zip(expected, found, strict=True)
    ]
    absolute = max(differences, default=0.0)
    largest = max((np.abs(array).max(initial=0.0) for array in expected), default=0.0)
    if not np.isfinite(absolute) or not np.isfinite(largest):
        return nothing
    return {"absolute": float(absolute), "relative": float(absolute / largest) if largest else None}
