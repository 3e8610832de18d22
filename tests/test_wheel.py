"""The wheel in an environment without the clone: every command runs, so every data file is in it."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from convnet_benchmarks.cli import command_names
from tests.helpers.places import GOLDEN, ROOT

NET = ("--net", "recognize_digits")
SCRIPTS = ("benchmark.py", "benchmark_criterion.py")

# The arguments of each command, in an order in which later ones read what earlier ones wrote.
COMMANDS: dict[str, tuple[str, ...]] = {
    "benchmark": (*NET, "-iter", "2", "--backend", "mm", "--json", "run.json"),
    "criterion": (*NET, "-iter", "2", "--backend", "stock"),
    "t7": (str(GOLDEN / "t7" / "net.bin.t7"),),
    "convert": (str(GOLDEN / "t7" / "net.bin.t7"), "--to", "net.pt"),
    "sweep": (
        "--nets",
        "recognize_digits",
        "--batch-sizes",
        "1,2",
        "--seconds",
        "0.2",
        "--points",
        "sweep.jsonl",
    ),
    "ops": (*NET, "--batch-sizes", "1", "--runs", "1", "--passes", "2", "--json", "ops.json"),
    "flops": NET,
    "backends": ("--nets", "recognize_digits", "--batch-size", "2", "--pairs", "2", "--seconds", "1"),
    "accuracy": ("--limit", "20", "--epochs", "1", "--backends", "stock"),
    "compare": ("run.json", "run.json"),
    "crosscheck": ("run.json", "run.json"),
    "report": ("sweep.jsonl", "ops.json", "--out", "report.html"),
}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel, and of what the tests run with only the packages it requires."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"  # without what an earlier build left in build/
    for package in ("convnet_benchmarks", "lua_compat"):
        shutil.copytree(ROOT / package, source / package, ignore=shutil.ignore_patterns("__pycache__"))
    for name in (
        "pyproject.toml",
        "setup.py",
        "README.md",
        "LICENSE",
        "benchmark.py",
        "benchmark_criterion.py",
    ):
        shutil.copy(ROOT / name, source)
    wheel_command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(source)]
    subprocess.run(wheel_command, check=True, timeout=300)
    (wheel,) = folder.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True, timeout=300)
    python = folder / "venv" / "bin" / "python"
    packages = folder / "venv" / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--no-deps", str(wheel)]
    subprocess.run(install, check=True, timeout=300)
    # Its own packages come first; PyTorch and the others need not be installed once more.
    (packages / "required.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "venv" / "bin"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("elsewhere")


def run(environment: Path, folder: Path, name: str, *arguments: str) -> str:
    variables = {**os.environ, "PATH": f"{environment}{os.pathsep}{os.environ['PATH']}"}
    variables.pop("PYTHONPATH", None)
    done = subprocess.run(
        [environment / name, *arguments],
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{name} {' '.join(arguments)}: {done.stderr}"
    return done.stdout


def test_the_scripts_and_th(environment: Path, folder: Path) -> None:
    """What is imported lies in the wheel; Lua, C and Python files of its own are there."""
    program = "import lua_compat as a, convnet_benchmarks.nets as b; print(a.__file__, b.__file__)"
    for file in run(environment, folder, "python", "-c", program).split():
        assert Path(file).is_relative_to(environment.parent)
    assert ":TOTAL:" in run(environment, folder, "benchmark.py", *NET, "-iter", "1", "--backend", "mm")
    script = "require 'nn' require 'optim' require 'image' require 'nngraph' print(nn.Linear(2, 3))"
    assert run(environment, folder, "th", "-e", script) == "nn.Linear(2 -> 3)\n"
    assert "3,792,000" in run(environment, folder, "convnet-benchmarks", "flops", *NET)


@pytest.mark.slow
def test_every_command(environment: Path, folder: Path) -> None:
    assert sorted(COMMANDS) == command_names()
    assert ":TOTAL:" in run(environment, folder, "benchmark_criterion.py", *NET, "-iter", "1")
    for name, arguments in COMMANDS.items():
        assert run(environment, folder, "convnet-benchmarks", name, *arguments)
