"""The command lines of 2015 on the GPU, one after the other in one process.

Alone a line of one sample takes seconds, of which it computes a tenth of one. What cuDNN has chosen for a
shape stays chosen from line to line.
"""

import contextlib
import gc
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks.gpu.checks.command import run
from benchmarks.gpu.command_lines import BENCHMARK, CRITERION, MISSION, small_sizes
from convnet_benchmarks.commands import benchmark, criterion

_COMMANDS: dict[str, Callable[[Sequence[str], str], int]] = {
    "benchmark.py": benchmark.main,
    "benchmark_criterion.py": criterion.main,
}
# Those that need a GPU.
_LINES = (
    ("benchmark.py", MISSION),
    *(("benchmark_criterion.py", words) for words in CRITERION if "-cuda true" in words),
    *(("benchmark.py", words) for words in BENCHMARK if "-cuda true" in words),
)


def measure(small: bool) -> Iterator[dict[str, Any]]:
    """Yields each line's complete result, and what it printed."""
    documents: dict[str, Any] = {}
    missed: list[str] = []
    told: list[str] = []
    for program, words in _LINES:
        start = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(sys.stderr):
            path = Path(folder) / "result.json"
            arguments = small_sizes(words.split()) if small else words.split()
            try:
                code = _COMMANDS[program]([*arguments, "--json", str(path)], program)
                problem = f"exit code {code}" if code else ""
            except Exception as error:
                problem = f"{type(error).__name__}: {error}"
            document = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
        line = f"{program} {words}"
        if problem:
            missed.append(f"{line}: {problem}")
        if document:
            documents[line] = document
            told.append(f"{_figures(document)}; {time.perf_counter() - start:.1f} s: {line}")
        gc.collect()
        torch.cuda.empty_cache()
        yield {"lines": documents, "told": told, "missed": missed}


def _figures(document: dict[str, Any]) -> str:
    """Returns the phases' milliseconds per sample, their sum, and how long the first pass took."""
    lines = document["lines"]
    labels = (":updateOutput():", ":updateGradInput():", ":accGradParameters():", ":TOTAL:")
    shown = " / ".join(f"{lines[label]:.4g}" for label in labels if label in lines)
    return f"{shown} ms, first pass {document['first_pass'].get('seconds', 0):.1f} s"


if __name__ == "__main__":
    run(measure)
