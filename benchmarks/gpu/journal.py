"""The journal of a part: a line of JSON for each step, written and flushed when the step ends."""

import json
import os
import re
from pathlib import Path
from typing import Any

SCHEMA = "convnet-benchmarks/gpu/1"
OK, FAILED, TIMED_OUT, SKIPPED, NOT_STARTED = "ok", "failed", "timed out", "skipped", "not started"
_LONGEST, _WIDEST = 11_000, 160
# What test suites say at their end.
_OUTCOME = re.compile(
    r"Completed \d+ asserts|\[(ERROR|FAIL)\]$|\b\d+ passed|^(FAILED|ERROR) |; losses differ by|TOTAL:"
    r"|^ModelType|moyen|\[100%\]"
)
_COLORS = re.compile(r"\x1b\[[0-9;]*m")
STATUSES = (OK, FAILED, TIMED_OUT, SKIPPED, NOT_STARTED)


def journal_file(out: Path, part: str) -> Path:
    return out / f"part{part}.jsonl"


def append(out: Path, record: dict[str, Any]) -> None:
    """Adds a record, whole, to the journal of its part."""
    with journal_file(out, record["part"]).open("a", encoding="utf-8") as file:
        file.write(json.dumps({"schema": SCHEMA, **record}) + "\n")
        file.flush()
        os.fsync(file.fileno())


def read(path: Path) -> list[dict[str, Any]]:
    """Returns the last record of each step, in the order of the steps' first ones.

    A last line that was cut off is left out. Raises ValueError, naming the line, for anything else that is
    not a record.
    """
    found: dict[str, dict[str, Any]] = {}
    lines = path.read_text(encoding="utf-8").split("\n")
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        try:
            record = json.loads(line)
        except ValueError:
            if number == len(lines):
                break
            raise ValueError(f"{path}, line {number}: not JSON") from None
        if not isinstance(record, dict) or record.get("schema") != SCHEMA:
            raise ValueError(f'{path}, line {number}: not a step; accepted: "schema": "{SCHEMA}"')
        found[record["step"]] = record
    return list(found.values())


def read_parts(out: Path) -> list[dict[str, Any]]:
    """Returns the records of every part that ``out`` holds."""
    return [record for part in sorted(out.glob("part*.jsonl")) for record in read(part)]


def summary(out: Path) -> str:
    """Returns what ran and what did not, and the main figures: the content of OUT/summary.txt.

    At most ``_LONGEST`` characters: where there are more, fewer of the figures.
    """
    for most in (40, 20, 10, 5, 2, 0):
        text = _summary(out, most)
        if len(text) <= _LONGEST:
            break
    return text[:_LONGEST]


def _summary(out: Path, most: int) -> str:
    records = read_parts(out)
    lines = []
    for part in sorted({str(record["part"]) for record in records}):
        steps = [record for record in records if str(record["part"]) == part]
        counts = ((status, sum(record["status"] == status for record in steps)) for status in STATUSES)
        told = ", ".join(f"{count} {status}" for status, count in counts if count)
        lines.append(f"part {part}: {told}; {sum(record['seconds'] for record in steps):.0f} s")
        for record in steps:
            reason = f": {record['reason']}" if record["reason"] else ""
            lines.append(
                f"  {record['status']:11}  {record['seconds']:5.0f} s  {record['step']}{reason}"[:300]
            )
            lines += [f"      {line}"[:_WIDEST] for line in main_figures(record)[:most]]
    return "\n".join(lines) + "\n"


def outcome(said: str) -> list[str]:
    """Returns the lines of a step's output that say how it went: a suite's counts, and which tests failed."""
    lines = [_COLORS.sub("", line).strip() for line in said.splitlines()]
    found = [line for line in lines if _OUTCOME.search(line)]
    passed = sum(line.endswith("[PASS]") for line in lines)
    if passed and not any(line.startswith("Completed") for line in found):  # it was cut off
        found.append(f"{passed} tests had passed")
    return found


def main_figures(record: dict[str, Any]) -> list[str]:
    """Returns what the summary says of a step: what its result has under ``told``, or its outcome."""
    result = record.get("result")
    if isinstance(result, dict) and isinstance(result.get("told"), list):
        return [str(line) for line in result["told"]]
    return list(map(str, record.get("outcome", [])))
