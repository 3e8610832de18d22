"""Checkpoints: what one side has written continues on both, and prints the same numbers."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.compatibility import programs
from tests.compatibility.repository import Checkpoint, Run

# In double precision rounding stays far below this; scripts that print float32 are followed for few steps.
_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Side:
    """A th: how a command of the list becomes one of its command lines, run in a folder."""

    name: str
    command: Any  # (run, folder) -> words


def compare(
    checkpoint: Checkpoint,
    sides: Sequence[Side],
    folder: Path,
    place: Path,
    rocks: Sequence[Path],
    limit: float,
) -> list[dict[str, Any]]:
    """Returns, for each side that writes, how many numbers both sides printed from its checkpoint, or the
    first problem. ``folder``: the repository with its data; ``place``: where copies of it may be made."""
    found: list[dict[str, Any]] = []
    for writer in sides:
        written = shutil.copytree(folder, place / f"written by {writer.name}", symlinks=True)
        entry: dict[str, Any] = {
            "written_by": writer.name,
            "problem": _run(checkpoint.write, writer, written, rocks, limit)[1],
        }
        found.append(entry)
        if entry["problem"]:
            continue
        printed = {}
        for reader in sides:
            read = shutil.copytree(written, place / f"{writer.name} on {reader.name}", symlinks=True)
            printed[reader.name], problem = _run(checkpoint.resume, reader, read, rocks, limit)
            entry["problem"] = entry["problem"] or problem
        ours, theirs = printed.values()
        entry["numbers"] = len(theirs)
        entry["same_digits"] = ours == theirs
        if not entry["problem"] and not (theirs and programs.agree(ours, theirs, _TOLERANCE)):
            pairs = [f"{a} for {b}" for a, b in zip(ours, theirs, strict=False) if a != b]
            entry["problem"] = (
                f"numbers differ: {pairs[0]}" if pairs else f"{len(ours)} numbers for {len(theirs)}"
            )
    return found


def _run(run: Run, side: Side, folder: Path, rocks: Sequence[Path], limit: float) -> tuple[list[str], str]:
    """Returns the numbers a command prints, and what is wrong with it."""
    inside = folder / run.folder
    environment = programs.surroundings(rocks, run.environment)
    outcome = programs.run(side.command(run, inside), inside, environment, limit, run.stdin)
    problem = outcome.problem or (
        "" if run.ended_in(outcome.stdout) else outcome.stdout.strip()[-200:] or "stopped"
    )
    return programs.numbers(
        outcome.stdout, run.printed
    ) if run.printed else [], f"{side.name}: {problem}" if problem else ""
