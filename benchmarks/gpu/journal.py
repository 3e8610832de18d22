"""The journal of a part: a line of JSON for each step, written and flushed when the step ends."""

import json
import os
from pathlib import Path
from typing import Any

SCHEMA = "convnet-benchmarks/gpu/1"
OK, FAILED, TIMED_OUT, SKIPPED, NOT_STARTED = "ok", "failed", "timed out", "skipped", "not started"
STATUSES = (OK, FAILED, TIMED_OUT, SKIPPED, NOT_STARTED)


def journal_file(out: Path, part: int) -> Path:
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
    return [record for part in sorted(out.glob("part[1-9].jsonl")) for record in read(part)]


def summary(out: Path) -> str:
    """Returns what ran and what did not, in words: the content of OUT/summary.txt."""
    records = read_parts(out)
    lines = []
    for part in sorted({record["part"] for record in records}):
        steps = [record for record in records if record["part"] == part]
        counts = ((status, sum(record["status"] == status for record in steps)) for status in STATUSES)
        told = ", ".join(f"{count} {status}" for status, count in counts if count)
        lines.append(f"part {part}: {told}; {sum(record['seconds'] for record in steps):.0f} s")
        for record in steps:
            reason = f": {record['reason']}" if record["reason"] else ""
            lines.append(f"  {record['status']:11}  {record['seconds']:5.0f} s  {record['step']}{reason}")
    return "\n".join(lines) + "\n"
