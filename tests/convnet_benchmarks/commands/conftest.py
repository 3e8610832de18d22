"""Commands run in this process, which has PyTorch loaded."""

import json
from pathlib import Path
from typing import Any

import pytest

from convnet_benchmarks.cli import main
from tests.helpers.crosscheck_files import Command


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs a subcommand in this process; gives its exit code, stdout and stderr."""

    def run(*arguments: object) -> tuple[Any, ...]:
        code = main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def crosscheck(command: Command, tmp_path: Path) -> Command:
    """Runs the command; gives its exit code, stdout, stderr and what --json wrote."""

    def run(*arguments: object) -> tuple[Any, ...]:
        document = tmp_path / "report.json"
        document.unlink(missing_ok=True)
        done = command("crosscheck", *arguments, "--json", document)
        return *done, json.loads(document.read_text()) if document.exists() else None

    return run
