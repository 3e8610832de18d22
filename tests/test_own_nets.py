"""The name nets is the user's: a package, a folder or a module of that name, before and after ours."""

import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.commands import run_python
from tests.helpers.places import ROOT
from tests.test_wheel import environment as environment  # a fixture

# What a user has, under names that ours has, too.
FOLDERS = {
    "package": {
        "nets/__init__.py": "OWN = 1\n",
        "nets/net.py": "MINE = 7\n",
        "nets/registry.py": "MINE = 8\n",
    },
    "folder": {"nets/net.py": "MINE = 7\n", "nets/registry.py": "MINE = 8\n"},
    "module": {"nets.py": "class net: MINE = 7\nclass registry: MINE = 8\n"},
}
THEIRS = "from nets import net; assert net.MINE == 7"
OURS = """
import convnet_benchmarks, lua_compat
from convnet_benchmarks.nets.registry import NETS
assert len(NETS) > 10 and convnet_benchmarks.__version__
"""
LATER = "from nets import net as again, registry; assert again.MINE == 7 and registry.MINE == 8"
PROGRAMS = {"before": [THEIRS, OURS, LATER], "after": [OURS, THEIRS, LATER], "ours": [OURS]}
NOT_OURS = "import sys; print([name for name in sys.modules if name.partition('.')[0] == 'nets'])"


@pytest.fixture(params=FOLDERS)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    for name, text in FOLDERS[request.param].items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture(scope="module")
def editable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The Python of an environment with this checkout, installed to be edited."""
    folder = tmp_path_factory.mktemp("editable")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, timeout=300)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python)]
    install = [*pip, "install", "-q", "--no-deps", "-e", str(ROOT)]
    subprocess.run(install, check=True, timeout=300)
    packages = folder / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"
    (packages / "required.pth").write_text(sysconfig.get_path("purelib") + "\n")
    yield python


def run(python: Path, folder: Path, program: str) -> str:
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [str(python), "-c", program]
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("order", PROGRAMS)
def test_from_the_clone(folder: Path, order: str) -> None:
    done = run_python("-c", "\n".join(PROGRAMS[order]), cwd=folder)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("order", PROGRAMS)
def test_from_a_wheel(environment: Path, folder: Path, order: str) -> None:
    run(environment / "python", folder, "\n".join(PROGRAMS[order]))


@pytest.mark.slow
@pytest.mark.parametrize("order", PROGRAMS)
def test_from_an_editable_install(editable: Path, folder: Path, order: str) -> None:
    run(editable, folder, "\n".join(PROGRAMS[order]))


def test_ours_loads_no_module_of_that_name(environment: Path, tmp_path: Path) -> None:
    program = f"{OURS}\nimport convnet_benchmarks.cli\n{NOT_OURS}"
    assert run(environment / "python", tmp_path, program) == "[]\n"
    assert run_python("-c", program, cwd=tmp_path).stdout == "[]\n"


SMALL = """
from torch import nn
from nets.blocks import block

def small():
    from nets import registry  # the user's, though this project has a module of that name
    width = registry.WIDTH
    return nn.Sequential(nn.Conv2d(3, width, 3), block(), nn.Flatten(), nn.Linear(width * 196, 10))
"""
BLOCKS = "from torch import nn\nfrom .registry import WIDTH\n\ndef block():\n    return nn.ReLU()\n"


@pytest.mark.parametrize("package", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_net_of_the_users_folder(tmp_path: Path, package: bool) -> None:
    nets = tmp_path / "nets"
    nets.mkdir()
    for name, text in {"small": SMALL, "blocks": BLOCKS, "registry": "WIDTH = 4\n"}.items():
        (nets / f"{name}.py").write_text(text)
    if package:
        (nets / "__init__.py").touch()
    arguments = ["--net", "nets.small:small", "--input-size", "3x16x16"]
    done = run_python(ROOT / "benchmark.py", *arguments, "-iter", "1", "--backend", "stock", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "(3, 4, kernel_size=(3, 3)" in done.stdout or "SpatialConvolution(3 -> 4" in done.stdout
    counted = run_python("-m", "convnet_benchmarks", "flops", *arguments, cwd=tmp_path)
    assert counted.returncode == 0, counted.stderr
    assert "Conv2d" in counted.stdout
    ours = run_python("-m", "convnet_benchmarks", "flops", "--net", "recognize_digits", cwd=tmp_path)
    assert "3,792,000" in ours.stdout


def test_a_single_file_called_nets(tmp_path: Path) -> None:
    (tmp_path / "nets.py").write_text("from torch import nn\n\ndef small():\n    return nn.Linear(8, 2)\n")
    program = (
        "from convnet_benchmarks.workload.nets import find\n"
        "import convnet_benchmarks.nets.registry as ours\n"
        "print(find('nets:small', (8,)).definition(), len(ours.NETS) > 10)\n"
    )
    done = run_python("-c", program, cwd=tmp_path)
    assert done.stdout == "Linear(in_features=8, out_features=2, bias=True) True\n", done.stderr


def test_little_is_loaded_before_a_command_takes_over_ctrl_c() -> None:
    """Until then, Ctrl-C would end in Python's traceback."""
    for module in ("lua_compat.__main__", "convnet_benchmarks.__main__"):
        program = f"import sys, {module}; print(*sys.modules)"
        loaded = set(run_python("-S", "-c", program).stdout.split())
        assert module in loaded and not {"pathlib", "tempfile", "contextlib", "re", "typing"} & loaded
