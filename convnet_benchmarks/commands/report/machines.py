"""Lines on what the results were measured on: processor or GPU, cores, threads, versions, and when."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from convnet_benchmarks.points.fields import is_whole
from convnet_benchmarks.results.load import ResultFile
from convnet_benchmarks.tables import counted


def machines(files: Sequence[ResultFile]) -> list[str]:
    """Returns a line for each machine and software that the files name; none for legacy logs."""
    days: dict[str, list[str]] = {}
    for file in files:
        for environment, time in recorded(file):
            line = _line(environment)
            if line:
                days.setdefault(line, []).append(time[:10])
    return [f"{line}{_period(found)}" for line, found in days.items()]


def recorded(file: ResultFile) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Yields the recorded environments with the time of each (ISO 8601), '' if it is not reported."""
    for record in _records(file):
        for each in (record, *_inner(record, "results").values()):
            if isinstance(each, Mapping) and isinstance(each.get("environment"), Mapping):
                yield each["environment"], str(record.get("time") or "")


def label(file: ResultFile) -> str:
    """Returns the label that the file's last result was given; '' without one."""
    found = [str(record["label"]) for record in _records(file) if record.get("label")]
    return found[-1] if found else ""


def _records(file: ResultFile) -> Iterator[Mapping[str, Any]]:
    """Yields the JSON objects of a file that may say where and when they were measured."""
    records: list[Any] = list(file.records)
    if file.document is not None:
        records = [file.document]
        for name in ("points", "comparisons"):
            more = file.document.get(name)
            records += more if isinstance(more, list) else []
    yield from (record for record in records if isinstance(record, Mapping))


def _line(environment: Mapping[str, Any]) -> str:
    """Returns one environment in a line; '' where it lacks what every version has recorded."""
    cpu, torch, gpu, software = (_inner(environment, name) for name in ("cpu", "torch", "gpu", "software"))
    if not cpu.get("model"):
        return ""
    affinity, threads = cpu.get("affinity"), torch.get("threads")
    cores = len(affinity) if isinstance(affinity, list) else cpu.get("logical_cores")
    parts = [
        str(cpu["model"]) + (f", {gpu['name']}" if gpu.get("name") else ""),
        _counted(cores, "core"),
        _counted(threads, "thread"),
        f"torch {torch['version']}" if torch.get("version") else "",
        f"Python {software['python']}" if software.get("python") else "",
        str(software.get("os") or ""),
    ]
    return ", ".join(filter(None, parts))


def _counted(number: Any, noun: str) -> str:
    return counted(number, noun) if is_whole(number) else ""


def _inner(content: Any, name: str) -> Mapping[str, Any]:
    """Returns an object in another one, an empty one where it is not there: nothing here is refused."""
    found = content.get(name) if isinstance(content, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _period(days: Sequence[str]) -> str:
    known = sorted(filter(None, set(days)))
    if not known:
        return ""
    return f"; measured {known[0]}" + (f" to {known[-1]}" if len(known) > 1 else "")
