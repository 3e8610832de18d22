"""From the journals of a run to one file of figures: benchmarks/gpu/results/README.md describes it."""

import itertools
import json
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.gpu import journal
from convnet_benchmarks.errors import UserError
from convnet_benchmarks.results.load import load

SCHEMA = "convnet-benchmarks/gpu/figures/1"
# What the checks' results hold besides the machine's description.
CHECKS = ("agreement", "plain_loop", "peaks", "training", "autotuning", "tune", "out_of_memory", "nccl")


def collect(out: Path) -> dict[str, Any]:
    """Returns the figures of the journals in ``out``; raises UserError where no part says on which machine
    they were measured.
    """
    records = journal.read_parts(out)
    machines = [record for record in records if record["step"] == "machine" and record["result"]]
    if not machines:
        raise UserError(f"{out}: no step 'machine' that ended well in it; run part 1 (run.sh OUT 1)")
    machine = machines[-1]
    results = [record for record in records if record["status"] != journal.SKIPPED and record.get("result")]
    checks: dict[str, Any] = {}
    figures: list[dict[str, Any]] = []
    for record in results:
        found = record["result"]
        if record["step"] == "programs":
            checks["programs"] = {one["program"]: {**one, "losses": []} for one in found}
        elif isinstance(found, dict) and "kind" not in found:
            for name in CHECKS:  # a check of float32 and one of float64 give the same kind of figures
                checks[name] = {**checks.get(name, {}), **found.get(name, {})}
            for step, line in found.get("lines", {}).items():
                figures += [{"step": step, **figure} for figure in _measured(line, machine)]
        else:
            figures += [{"step": record["step"], **figure} for figure in _measured(found, machine)]
    kept = ("part", "step", "status", "reason", "seconds")
    return {
        "schema": SCHEMA,
        "date": machine["time"][:10],
        "time": machine["time"],
        "device": machine["result"]["device"],
        "environment": machine["result"]["environment"],
        "microseconds": machine["result"]["microseconds"],
        "steps": [{name: record[name] for name in kept} for record in records],
        "figures": figures,
        "checks": {name: found for name, found in checks.items() if found},
    }


def _measured(result: Any, machine: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns what a command measured on the GPU, read as ``report`` and ``compare`` read it."""
    lines = result if isinstance(result, list) else [result]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("points.jsonl" if isinstance(result, list) else "result.json")
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        try:
            found = load(str(path)).measurements
        except UserError:  # a study that was cut off before its first figure
            return []
    device = machine["result"]["device"]
    free = _issuing(lines[0])
    return [
        {name: value for name, value in asdict(one).items() if value not in (None, "")}
        | ({"value": free[one.phase]} if one.phase in free else {})
        for one in found
        if one.device == device
    ]


def _issuing(document: Any) -> dict[str, float]:
    """Returns the printed times of a legacy script's free loops by phase: the host's, for issuing the work.
    The events that a pass is timed by lie where the device does it.
    """
    lines = document.get("lines", {}) if isinstance(document, dict) else {}
    return {
        label.replace(":", "").replace("()", ""): value
        for label, value in lines.items()
        if label.startswith("free ")
    }


def read(path: Path) -> dict[str, Any]:
    """Returns a file of figures; raises UserError where it is none."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: {error}") from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise UserError(f'{path}: no file of figures; accepted: "schema": "{SCHEMA}"')
    return document


def write(path: Path, figures: dict[str, Any]) -> None:
    """Writes a file of figures, with a line for each step, figure and check."""
    path.write_text("{\n" + ",\n".join(_lines(figures)) + "\n}\n", encoding="utf-8")


def _lines(figures: dict[str, Any]) -> Iterator[str]:
    for key, value in figures.items():
        if isinstance(value, list) and value:
            text = "[\n" + ",\n".join(f"  {json.dumps(one)}" for one in value) + "\n ]"
        elif isinstance(value, dict) and value:
            rows = (f"  {json.dumps(name)}: {json.dumps(one)}" for name, one in value.items())
            text = "{\n" + ",\n".join(rows) + "\n }"
        else:
            text = json.dumps(value)
        yield f" {json.dumps(key)}: {text}"


def file_name(figures: dict[str, Any]) -> str:
    """Returns DATE-DEVICE.json, DATE-DEVICE-2.json for the second run of a day."""
    device = "".join(one if one.isalnum() else "-" for one in figures["device"].lower())
    run = figures.get("run", 1)
    return f"{figures['date']}-{device}{'' if run == 1 else f'-{run}'}.json"


def free_file(folder: Path, figures: dict[str, Any]) -> Path:
    """Returns the file for a run's figures; one of another run on the same day keeps its own."""
    for figures["run"] in itertools.count(1):
        path = folder / file_name(figures)
        if not path.exists() or read(path)["time"] == figures["time"]:
            return path
    raise AssertionError("the numbers have an end")


def title(figures: dict[str, Any]) -> str:
    """Returns what the run of a machine is called."""
    run = figures.get("run", 1)
    return f"{figures['device']}, {figures['date']}{'' if run == 1 else f', run {run}'}"
