"""How a test runs a command as a person types it, and what every test starts with."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.places import GOLDEN, ROOT

Command = Callable[..., subprocess.CompletedProcess[str]]


def pytest_configure() -> None:
    """Where several test processes share the cores (``-n 2``), threads without work must let go of theirs: by
    default OpenMP's go on for milliseconds, and the engine's tests take five times as long."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")


@pytest.fixture(scope="session", autouse=True)
def thread_count() -> int:
    """PyTorch's threads as the tests begin with."""
    import torch

    return torch.get_num_threads()


@pytest.fixture(autouse=True)
def same_thread_count(thread_count: int) -> None:
    """Commands run in this process, and fixtures of a module, may set PyTorch's threads."""
    import torch

    if torch.get_num_threads() != thread_count:
        torch.set_num_threads(thread_count)


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
