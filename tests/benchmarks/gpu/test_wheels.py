"""Which wheels travel, and which of them are installed: those that are missing, for this Python."""

import re
import sys
from pathlib import Path

import pytest

from tests.helpers.commands import run_python
from tests.helpers.places import ROOT


def test_only_missing_packages_for_this_python_are_named(tmp_path: Path) -> None:
    ours = "cp{}{}".format(*sys.version_info)
    for name in (
        "numpy-1.0-py3-none-any.whl",
        f"no_such_package_a-1.0-{ours}-{ours}-manylinux_2_17_x86_64.whl",
        "no_such_package_b-1.0-cp27-cp27m-manylinux1_x86_64.whl",
        "no_such_package_c-1.0-py3-none-any.whl",
    ):
        (tmp_path / name).touch()
    done = run_python("benchmarks/gpu/missing_wheels.py", tmp_path)
    assert [Path(line).name[:17] for line in done.stdout.splitlines()] == [
        "no_such_package_a",
        "no_such_package_c",
    ]
    assert run_python("benchmarks/gpu/missing_wheels.py", tmp_path / "none").stdout == ""


def test_what_this_project_requires_travels() -> None:
    tomllib = pytest.importorskip("tomllib")  # from Python 3.11 on
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    required = {re.split(r"[<>=\[ ]", one)[0] for one in project["dependencies"]} - {"torch"}
    fetched = (ROOT / "benchmarks/gpu/fetch_wheels.sh").read_text(encoding="utf-8").split()
    assert required <= set(fetched)
