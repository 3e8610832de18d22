"""A run of a legacy script in several new processes (--processes): each figure is the median of theirs."""

import dataclasses
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from convnet_benchmarks.child_process import call
from convnet_benchmarks.legacy.run import lua_number
from convnet_benchmarks.legacy.sums import sums_of
from convnet_benchmarks.progress import Progress
from convnet_benchmarks.timing.several_processes import combined, combined_conditions


@dataclass(frozen=True)
class Answer:
    """The run of one process. ``printed``: the lines of stdout, a label with its number, others with None.

    ``document``: of the result file; ``said``: the lines of stderr above the statistics.
    """

    printed: Sequence[tuple[str, float | None]]
    document: Mapping[str, Any]
    said: Sequence[str]


def run_in_new_processes(
    function: str, options: Any, report: Callable[[Mapping[str, Any], Sequence[str]], None]
) -> None:
    """Runs ``function`` ("module:name", which gives an Answer as JSON values) in as many new processes as
    ``options`` say, one after the other.

    Prints the lines, and gives ``report`` the result's document and the lines for stderr: also of those
    processes that had finished when something went wrong.
    """
    answers: list[Answer] = []
    progress = Progress(options.processes)
    status = "failed"
    request = {**dataclasses.asdict(options), "processes": 1, "json": None, "csv": None}
    try:
        for number in range(1, options.processes + 1):
            progress.start(f"process {number}")
            answers.append(Answer(**call(function, request)))
        status = "complete"
    except KeyboardInterrupt:
        status = "interrupted"
        raise
    finally:
        progress.clear()
        if answers:
            document = {**together(answers), "status": status, "options": dataclasses.asdict(options)}
            for note in document["notes"]:
                print(f"note: {note}", file=sys.stderr, flush=True)
            for text, figure in answers[-1].printed:
                line = text if figure is None else f"{text}\t{lua_number(document['lines'][text])}"
                print(line, flush=True)
            report(document, answers[-1].said)


def together(answers: Sequence[Answer]) -> dict[str, Any]:
    """Returns one document for those of several processes; ``runs`` keeps each process's own figures."""
    documents = [answer.document for answer in answers]
    last = documents[-1]
    lines = {label: statistics.median(one["lines"][label] for one in documents) for label in last["lines"]}
    for label, parts in sums_of(last["kind"]).items():
        if label in lines and all(part in lines for part in parts):
            lines[label] = sum(lines[part] for part in parts)
    phases = {label: _joined([one["phases"][label] for one in documents]) for label in last["phases"]}
    return {**last, "lines": lines, "phases": phases, "runs": [_own(one) for one in documents]}


def _joined(phases: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns one timed loop for those of several processes; its samples are process after process."""
    return {
        "passes": sum(phase["passes"] for phase in phases),
        "seconds": sum(phase["seconds"] for phase in phases),
        "samples_ms": [sample for phase in phases for sample in phase["samples_ms"]],
        "summary": combined([phase["summary"] for phase in phases]),
        "conditions": combined_conditions([phase["conditions"] for phase in phases]),
    }


def _own(document: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a process's figures, without the samples, which are in the joined phases."""
    kept = ("passes", "seconds", "summary", "conditions")
    phases = {label: {name: phase[name] for name in kept} for label, phase in document["phases"].items()}
    return {"lines": document["lines"], "phases": phases}
