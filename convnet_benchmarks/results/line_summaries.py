"""The statistics of the legacy scripts' lines, from what ``--json`` wrote: also of lines that are sums."""

from collections.abc import Mapping
from typing import Any

from convnet_benchmarks.legacy.sums import sums_of
from convnet_benchmarks.timing.several_processes import noise_of
from convnet_benchmarks.timing.statistics import STABLE


def line_summaries(document: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Returns median, low, high, samples and noise of each line that was timed in a loop, in ms per pass."""
    several = len(document.get("runs", ())) > 1
    summaries: dict[str, Mapping[str, Any]] = {
        label: {**phase["summary"], "noise": noise_of(phase["summary"].get("verdict", STABLE), several)}
        for label, phase in document.get("phases", {}).items()
    }
    for label, parts in sums_of(document["kind"]).items():
        if label in document["lines"] and all(part in summaries for part in parts):
            summaries[label] = _sum([summaries[part] for part in parts])
    return summaries


def per_sample(summary: Mapping[str, Any], batch: int) -> dict[str, Any]:
    """Returns a line's figures as ``Measurement`` has them: in ms per sample of ``batch``."""
    ends = {name: float(summary[name]) / batch for name in ("low", "high")}
    same = {name: summary[name] for name in ("samples", "noise")}
    return {"value": float(summary["median"]) / batch, **ends, **same}


def _sum(summaries: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Adds up phases timed one after the other. The sums of the intervals' ends bound the sum as surely."""
    total: dict[str, Any] = {
        name: sum(summary[name] for summary in summaries) for name in ("median", "low", "high")
    }
    noise = next(filter(None, (summary["noise"] for summary in summaries)), "")
    return total | {"samples": min(summary["samples"] for summary in summaries), "noise": noise}
