"""Where the recorded facts are, and how a test runs a command as a person types it."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = Path(__file__).resolve().parent / "golden"

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(autouse=True)
def unchanged_thread_count() -> Iterator[None]:
    """Commands run in this process may set PyTorch's threads; the next test finds them as they were."""
    import torch

    before = torch.get_num_threads()
    yield
    if torch.get_num_threads() != before:
        torch.set_num_threads(before)


@pytest.fixture
def golden() -> Path:
    """The folder of what real Torch7 computed."""
    return GOLDEN


@pytest.fixture
def run_python() -> Command:
    """``run_python("benchmark.py", "-iter", "1")``: a finished process with its stdout and stderr."""

    def run(*arguments: str, stdin: str | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            env={**os.environ, **variables},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    return run
