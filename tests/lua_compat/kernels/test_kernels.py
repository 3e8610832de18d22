"""Which kernels there are, and which of them an untrusted script may call."""

from pathlib import Path

import pytest

import lua_compat.kernels
from lua_compat.kernels import all_kernels, sandboxed_kernels
from lua_compat.kernels.packages.hdf5_files import OpenFiles
from lua_compat.runtime.errors import LuaError
from lua_compat.runtime.state import Runtime

CALL = """
local kernels = require('torch.core.kernels').of_tensors
local ok, problem = pcall(kernels.NAME)
print(ok and 'it ran' or problem)
"""
NEW_KERNELS = """
__all__ = ["harmless_and_new", "made_up"]
DECLARATION


def harmless_and_new() -> None:
    pass


def made_up() -> None:
    pass
"""


def answer(name: str, sandboxed: bool, capfd: pytest.CaptureFixture[str]) -> str:
    capfd.readouterr()
    Runtime(sandboxed=sandboxed).run_string(CALL.replace("NAME", name))
    return capfd.readouterr().out.strip()


@pytest.mark.parametrize(
    ("declaration", "allowed"),
    [("", []), ('SANDBOXED = ["harmless_and_new"]', ["harmless_and_new"]),
     ("SANDBOXED = __all__", ["harmless_and_new", "made_up"])],
)  # fmt: skip
def test_a_new_kernel_is_refused_in_the_sandbox_unless_its_module_names_it(
    declaration: str,
    allowed: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    module = f"new_kernels_{len(allowed)}"
    (tmp_path / f"{module}.py").write_text(NEW_KERNELS.replace("DECLARATION", declaration), encoding="utf-8")
    monkeypatch.setattr(lua_compat.kernels, "__path__", [*lua_compat.kernels.__path__, str(tmp_path)])
    for name in ("harmless_and_new", "made_up"):
        assert name in all_kernels()
        assert answer(name, False, capfd) == "it ran"
        refused = f"{name} is not available in the sandbox"
        assert answer(name, True, capfd) == ("it ran" if name in allowed else refused)


@pytest.mark.parametrize(
    "name", ["change_folder", "list_folder", "make_folder", "path_kind", "image_read_file", "image_write_ppm"]
)
def test_kernels_that_reach_files_are_not_for_untrusted_scripts(name: str) -> None:
    assert name in all_kernels()
    assert name not in sandboxed_kernels()


def test_open_files_are_not_for_untrusted_scripts() -> None:
    assert not sandboxed_kernels() & OpenFiles().kernels().keys()


def test_what_is_named_for_untrusted_scripts_exists() -> None:
    assert sandboxed_kernels() <= all_kernels().keys()


def test_a_kernel_that_is_refused_says_so_to_the_script() -> None:
    with pytest.raises(LuaError, match="list_folder is not available in the sandbox"):
        Runtime(sandboxed=True).run_string("for name in paths.files('/') do print(name) end")
