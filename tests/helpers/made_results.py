"""Result files with numbers of one's choice, in the forms that the commands write."""

import json
from pathlib import Path
from typing import Any

from convnet_benchmarks.output import SCHEMA
from convnet_benchmarks.points.file import SCHEMA as POINTS_SCHEMA
from convnet_benchmarks.points.point import Point
from convnet_benchmarks.timing.statistics import summarise

ENVIRONMENT = {"cpu": {"model": "Testor 9000"}, "gpu": None}
PHASES = (":updateOutput():", ":updateGradInput():", ":accGradParameters():")


def samples_around(value: float, count: int = 20, spread: float = 0.001) -> list[float]:
    """``count`` samples evenly spread about ``value``."""
    return [value * (1 + spread * (place - (count - 1) / 2) / count) for place in range(count)]


def benchmark(milliseconds: float = 10.0, *, batch: int = 2, **about: Any) -> dict[str, Any]:
    """What benchmark.py --json writes; each phase takes ``milliseconds`` per image."""
    samples = samples_around(milliseconds * batch, about.get("count", 20), about.get("spread", 0.001))
    phase = {"samples_ms": samples, "summary": summarise(samples).as_dict()}
    lines = dict.fromkeys(PHASES, milliseconds)
    return {
        "schema": SCHEMA,
        "kind": "benchmark",
        "model": "",
        "net": {"name": about.get("net", "alexnet_owt")},
        "options": {"batch_size": batch, "tensor_4d": None, "dtype": "float32"},
        "backend": {"name": "mm"},
        "lines": {":dry-run():": 99.0, **lines, ":Forward:": milliseconds, ":TOTAL:": 3 * milliseconds},
        "phases": dict.fromkeys(PHASES, phase),
        "environment": ENVIRONMENT,
    }


def point(
    net: str, batch: int, rate: float, *, device: str = "cpu", name: str = "Testor 9000", **about: Any
) -> dict[str, Any]:
    """A record of a sweep: ``rate`` images a second, 100 MiB and 2 MiB per image."""
    summary = summarise(samples_around(batch * 1e3 / rate)).as_dict()
    return {
        "schema": POINTS_SCHEMA,
        "kind": "point",
        "machine": {"device": name, "torch": "2.13.0"},
        "point": Point(net, batch, device, **about).as_dict(),
        "status": "ok",
        "reason": "",
        "samples_per_second": rate,
        "latency_ms": {"p50": summary["median"]},
        "pass_ms": summary,
        "phases_ms": {},
        "peak_memory_bytes": (100 + 2 * batch) * 2**20,
    }


def search(net: str, largest: int, **about: Any) -> dict[str, Any]:
    """The record of a search for the largest batch."""
    return point(net, 1, 1.0, **about) | {"kind": "largest batch", "largest_batch": largest}


def under_load(kind: str, net: str, value: float, target: float | None = 50.0) -> dict[str, Any]:
    """A record of sweep --scenario: a rate per second, or a 90th percentile in ms; known to 2 %."""
    record = point(net, 1, value) | {"kind": kind, "latency_target_ms": target, "queries": 1000}
    bounds = {"low": 0.99 * value, "high": 1.01 * value}
    figures: dict[str, dict[str, Any]] = {
        "server": {
            "queries_per_second": value, "beyond_queries_per_second": 1.02 * value,
            "capacity_per_second": 2 * value,
        },
        "single-stream": {"latency_ms": {"p50": value / 2, "p90": value}, "p90_interval_ms": bounds},
        "offline": {"latency_target_ms": None},
    }  # fmt: skip
    return {**record, **figures[kind], "verdict": "stable" if kind == "offline" else "met"}


def comparison(net: str, batch: int = 1, factor: float = 2.0) -> dict[str, Any]:
    """A record of backends: stock is ``factor`` times as fast as no-onednn, with an interval of 2 %."""
    environment = {
        **ENVIRONMENT,
        "cpu": {"model": "Testor 9000", "affinity": [0, 1]},
        "torch": {"version": "2.13.0", "threads": 1},
    }
    times = {"no-onednn": 10.0 * factor, "stock": 10.0}
    results: dict[str, Any] = {}
    for name, ms in times.items():
        summary = summarise(samples_around(ms)).as_dict()
        results[name] = {
            "status": "ok", "reason": "", "pass_ms": summary, "latency_ms": ms,
            "samples_per_second": batch * 1e3 / ms, "environment": environment,
        }  # fmt: skip
    verdict = "FASTER" if factor > 1 else "SLOWER"
    bounds = {"low": 0.98 * factor, "high": 1.02 * factor}
    results["stock"]["speed_up"] = {"value": factor, **bounds, "pairs": 20, "verdict": verdict}
    return {
        **point(net, batch, 100.0, backend="no-onednn"),
        "kind": "latency comparison",
        "variants": list(times),
        "results": results,
        "time": "2026-01-02T03:04:05+00:00",
    }


def ops(net: str = "recognize_digits", layers: int = 3, runs: int = 10) -> dict[str, Any]:
    """What ops --json writes: layer n takes n + 1 ms in the first run, and 0.1 % more in each further one."""

    def entry(run: int) -> dict[str, Any]:
        times = [(place + 1) * (1 + run / 1000) for place in range(layers)]
        found = [
            {"path": f"layer{p}", "kind": "Conv2d" if p % 2 else "ReLU", "ms": t} for p, t in enumerate(times)
        ]
        return {"device": "cpu", "batch": 8, "total_ms": sum(times), "layers": found}

    return {
        "schema": SCHEMA,
        "kind": "ops",
        "net": net,
        "options": {"dtype": "float32"},
        "runs": [[entry(run)] for run in range(runs)],
        "environment": ENVIRONMENT,
        "tables": [],
    }


def flops() -> dict[str, Any]:
    """What flops --parts roofline --json writes, of three layers."""
    layers = [
        {"path": "0", "kind": "Conv2d", "operations": 2_000_000, "bytes": 20_000, "ms": 0.1, "gflops": 20.0,
         "intensity": 100.0, "bound": "compute", "share_of_roof": 0.2},
        {"path": "1", "kind": "ReLU", "operations": 1000, "bytes": 8000, "ms": 0.01, "gflops": 0.1,
         "intensity": 0.125, "bound": "memory", "share_of_roof": 0.08},
        {"path": "2", "kind": "Flatten", "operations": 0, "bytes": 8000, "ms": 0.001, "gflops": 0.0,
         "intensity": 0.0, "bound": "moves data", "share_of_roof": None},
    ]  # fmt: skip
    return {
        "schema": SCHEMA,
        "kind": "flops",
        "net": "alexnet_owt",
        "options": {"batch_size": 8, "dtype": "float32"},
        "roofline": {"roofs": {"gflops": 100.0, "gbytes": 10.0}, "layers": layers},
        "environment": ENVIRONMENT,
        "tables": [],
    }


def write(path: Path, *documents: dict[str, Any]) -> str:
    """The file's path; several documents, or one of a sweep, become a file of points."""
    text = "\n".join(json.dumps(document) for document in documents) + "\n"
    path.write_text(text, encoding="utf-8")
    return str(path)
