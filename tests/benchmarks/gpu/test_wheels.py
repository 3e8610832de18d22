"""Which of the wheels that travelled are installed: those that are missing, for this Python."""

import sys
from pathlib import Path

from tests.helpers.commands import run_python


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
