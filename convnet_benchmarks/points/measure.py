"""Measuring a point in this process: throughput, latency, the phases of training, and memory."""

import contextlib
import gc
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from convnet_benchmarks import environment
from convnet_benchmarks.errors import UserError
from convnet_benchmarks.nets.registry import parameter_count
from convnet_benchmarks.points.point import FAILED, OK, OUT_OF_MEMORY, UNSUPPORTED, Point
from convnet_benchmarks.points.workload import PointWorkload, open_point
from convnet_benchmarks.timing.conditions import Conditions, watched
from convnet_benchmarks.timing.loops import (
    Clock,
    HostClock,
    Loop,
    Settling,
    run_loop,
    run_until_settled,
    warm_up,
)
from convnet_benchmarks.timing.statistics import percentile
from convnet_benchmarks.workload.author_errors import text_of
from convnet_benchmarks.workload.backends import UnsupportedError
from convnet_benchmarks.workload.memory import is_out_of_memory, resident_bytes
from convnet_benchmarks.workload.tensors import tensors_in

if TYPE_CHECKING:
    import torch

# Of the latency, with the fewest passes that tell them: MLPerf's early stopping needs 64 for the 90th and 662
# for the 99th, as the slowest passes must have been met.
FEWEST_FOR_PERCENTILE = {50: 1, 90: 64, 99: 662}
# Below this many passes a point takes longer rather than say less.
_FEWEST_PASSES = 3


def measure(point: Point, settling: Settling | None = None) -> dict[str, Any]:
    """Measures a point as docs/results.md describes it: plain JSON values, whatever happens to the point.

    A point that does not run (out of memory, unsupported, any error of PyTorch) has its ``status`` and
    ``reason`` and no figures; the memory it took is given back.
    """
    kept = settling or Settling()
    return measure_with(point, lambda workload: figures(workload, kept))


def measure_with(point: Point, figures: Callable[[PointWorkload], dict[str, Any]]) -> dict[str, Any]:
    """Returns the record of ``point`` with what ``figures`` finds out about it once it is open."""
    begin = time.perf_counter()
    with outcome_of() as outcome:
        outcome.figures = _measured(point, figures)
    _give_memory_back()
    return record_of(point, outcome, begin)


def record_of(point: Point, outcome: "Outcome", begin: float) -> dict[str, Any]:
    """Returns the record of a point whose measurement began at ``begin``, by ``time.perf_counter``."""
    return {
        "point": point.as_dict(),
        "status": outcome.status,
        "reason": outcome.reason,
        "time": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "seconds": time.perf_counter() - begin,
        **outcome.figures,
    }


def try_point(point: Point) -> dict[str, Any]:
    """Runs ``point`` twice, untimed: its ``status``, ``reason`` and ``peak_memory_bytes``."""
    with outcome_of() as outcome:
        outcome.figures = _tried(point)
    _give_memory_back()
    return {"status": outcome.status, "reason": outcome.reason, **outcome.figures}


# Functions of their own, so that no variable of a caller still holds the net when memory is given back.
def _measured(point: Point, figures: Callable[[PointWorkload], dict[str, Any]]) -> dict[str, Any]:
    with open_point(point) as workload:
        return figures(workload)


def _tried(point: Point) -> dict[str, Any]:
    with open_point(point, drawn=False) as workload, memory_counted(workload.device) as memory:
        for _ in range(2):  # the second pass meets the buffers that the first has left
            workload.run()
            workload.clock.synchronise()
    return {"ran": workload.ran.as_dict(), **memory}


@dataclass
class Outcome:
    """The outcome of a point."""

    status: str
    reason: str
    figures: dict[str, Any]


@contextlib.contextmanager
def outcome_of() -> Iterator[Outcome]:
    """Turns what its block raises into a status and a reason."""
    outcome = Outcome(OK, "", {})
    try:
        yield outcome
    except UnsupportedError as error:
        outcome.status, outcome.reason = UNSUPPORTED, str(error)
    except UserError as error:
        outcome.status, outcome.reason = FAILED, str(error)
    except Exception as error:
        first_line = next(iter(text_of(error).splitlines()), "")
        outcome.reason = f"{type(error).__name__}: {first_line}" if first_line else type(error).__name__
        if is_out_of_memory(error):
            outcome.status = OUT_OF_MEMORY
        elif isinstance(error, NotImplementedError) or "not implemented for" in first_line:
            outcome.status = (
                UNSUPPORTED  # as PyTorch says of an operator without a kernel for a number format
            )
        else:
            outcome.status = FAILED


def _give_memory_back() -> None:
    """Frees what the point held for the next one, once the exception and its frames are gone."""
    import torch

    gc.collect()
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def figures(workload: PointWorkload, settling: Settling) -> dict[str, Any]:
    """Measures an open workload: the figures of a point's record."""
    run, clock = workload.run, workload.clock
    with memory_counted(workload.device) as memory:
        passes = warm_up(run, clock, most_seconds=settling.most_seconds)
        with watched(workload.device, clock) as conditions:
            throughput = _settled(run, clock, settling, conditions)
    latency = throughput
    if workload.device.type == "cuda":  # a pass that nothing waits for overlaps the issue of the next one

        def run_and_wait() -> None:
            run()
            clock.synchronise()

        latency = _settled(run_and_wait, HostClock(clock.evict), settling)
    summary = throughput.summary()
    third = replace(settling, most_seconds=settling.most_seconds / 3)
    phases = {}
    for name, phase in workload.phases.items():
        with watched(workload.device, clock) as of_phase:
            phases[name] = _settled(phase, clock, third, of_phase)
    return {
        **about(workload),
        "samples_per_second": workload.ran.batch_size * 1e3 / summary.median,
        "latency_ms": _percentiles(latency.samples_ms),
        "pass_ms": summary.without_advice(),
        "conditions": throughput.conditions,
        "phases_ms": {name: loop.summary().without_advice() for name, loop in phases.items()},
        "warm_up_passes": passes,
        **memory,
    }


def about(workload: PointWorkload) -> dict[str, Any]:
    """Returns what ran, and where: the part of a record that is no measurement."""
    return {
        "ran": workload.ran.as_dict(),
        "parameters": parameter_count(workload.module),
        "input_shapes": [list(one.shape) for one in tensors_in(workload.input)],
        "engine": workload.engine and workload.engine.as_dict(),
        "environment": environment.collect(workload.device),
    }


def _percentiles(samples_ms: Sequence[float]) -> dict[str, float]:
    """Returns those percentiles that so many samples can tell."""
    return {
        f"p{percent}": percentile(samples_ms, percent)
        for percent, fewest in FEWEST_FOR_PERCENTILE.items()
        if len(samples_ms) >= fewest
    }


def _settled(
    work: Callable[[], object],
    clock: Clock,
    settling: Settling,
    conditions: Conditions | None = None,
) -> Loop:
    """Repeats as ``settling`` says, with fewer passes to begin with where it has no time for them."""
    seconds = run_loop(work, 1, clock).seconds
    affordable = int(settling.most_seconds / max(seconds, 1e-9))
    fewest = max(_FEWEST_PASSES, min(settling.fewest_passes, affordable))
    settling = replace(settling, fewest_passes=fewest)
    loop = run_until_settled(work, clock, settling, watch=conditions)
    return loop if conditions is None else replace(loop, conditions=conditions.as_dict())


@contextlib.contextmanager
def memory_counted(device: "torch.device") -> Iterator[dict[str, int | None]]:
    """Fills in, on leaving, the peak of the device's memory in bytes since the point was opened.

    On a GPU what PyTorch's allocator gave out and (``reserved``) held; on a CPU the resident memory of this
    process, Python and PyTorch included, since its start.
    """
    import torch

    memory: dict[str, int | None] = {}
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    yield memory
    if device.type == "cuda":
        memory["peak_memory_bytes"] = torch.cuda.max_memory_allocated(device)
        memory["reserved_memory_bytes"] = torch.cuda.max_memory_reserved(device)
    else:
        memory["peak_memory_bytes"] = resident_bytes(peak=True)
        memory["reserved_memory_bytes"] = None
