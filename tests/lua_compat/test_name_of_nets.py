"""A folder called nets of the user's and this project's package nets do not get in each other's way."""

from pathlib import Path

import pytest

from tests.helpers.commands import run_python
from tests.helpers.places import ROOT

SMALL = """
from torch import nn
from nets.blocks import block

def small():
    from nets import registry  # the user's, though this project has a module of that name
    width = registry.WIDTH
    return nn.Sequential(nn.Conv2d(3, width, 3), block(), nn.Flatten(), nn.Linear(width * 196, 10))
"""
BLOCKS = "from torch import nn\nfrom .registry import WIDTH\n\ndef block():\n    return nn.ReLU()\n"


@pytest.fixture(
    params=[pytest.param(False, id="namespace", marks=pytest.mark.slow), pytest.param(True, id="package")]
)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A working directory with nets/small.py and its neighbours, with and without nets/__init__.py."""
    nets = tmp_path / "nets"
    nets.mkdir()
    for name, text in {"small": SMALL, "blocks": BLOCKS, "registry": "WIDTH = 4\n"}.items():
        (nets / f"{name}.py").write_text(text)
    if request.param:
        (nets / "__init__.py").touch()
    return tmp_path


def run(folder: Path, *arguments: str | Path) -> str:
    done = run_python(*arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_net_of_the_users_folder(folder: Path) -> None:
    arguments = ["--net", "nets.small:small", "-x", "16", "-y", "16", "-iter", "1", "--backend", "stock"]
    printed = run(folder, ROOT / "benchmark.py", *arguments)
    assert "(3, 4, kernel_size=(3, 3)" in printed or "SpatialConvolution(3 -> 4" in printed
    assert ":TOTAL:" in printed


def test_measured_in_a_process_of_its_own(folder: Path) -> None:
    arguments = ["ops", "--net", "nets.small:small", "--input-size", "3x16x16", "--batch-sizes", "1"]
    arguments += ["--runs", "1", "--passes", "2"]
    assert "aten::conv2d" in run(folder, "-m", "convnet_benchmarks", *arguments)


def test_our_own_nets_from_there(folder: Path) -> None:
    assert "3,792,000" in run(folder, "-m", "convnet_benchmarks", "flops", "--net", "recognize_digits")
    assert (
        run(folder, "-m", "lua_compat", "-e", "require 'nn' print(nn.Linear(2, 3))") == "nn.Linear(2 -> 3)\n"
    )


def test_both_in_one_program(folder: Path) -> None:
    (folder / "nets" / "mine.py").write_text("VALUE = 7\n")
    theirs, ours = "from nets.mine import VALUE; ", "import lua_compat, nets.net; "
    for program in (theirs + ours + "import nets.mine; ", ours + theirs):
        program += "print(VALUE, nets.net.Net)"
        assert run(folder, "-c", program) == "7 <class 'nets.net.Net'>\n"


def test_little_is_loaded_before_a_command_takes_over_ctrl_c() -> None:
    """Until then, Ctrl-C would end in Python's traceback."""
    for module in ("lua_compat.__main__", "convnet_benchmarks.__main__"):
        program = f"import sys, {module}; print(*sys.modules)"
        loaded = set(run_python("-S", "-c", program).stdout.split())
        assert module in loaded and not {"pathlib", "tempfile", "contextlib", "re", "typing"} & loaded


def test_a_single_file_called_nets(tmp_path: Path) -> None:
    (tmp_path / "nets.py").write_text("from torch import nn\n\ndef small():\n    return nn.Linear(8, 2)\n")
    program = (
        "from convnet_benchmarks.workload.nets import find\n"
        "import nets.registry\n"
        "print(find('nets:small', (8,)).definition(), len(nets.registry.NETS) > 10)\n"
    )
    assert run(tmp_path, "-c", program) == "Linear(in_features=8, out_features=2, bias=True) True\n"
