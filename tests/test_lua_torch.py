"""The package torch under our th: recorded facts of tensors, random streams, printing, CmdLine."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from lua_golden import differences, message, same_up_to_sign_of_columns

from lua_compat import run, t7

GOLDEN = Path(__file__).parent / "golden"


CASES = t7.load(GOLDEN / "tensor.t7").array()


@pytest.fixture(scope="module")
def tensor_results(tmp_path_factory: pytest.TempPathFactory) -> list[t7.LuaTable]:
    out = tmp_path_factory.mktemp("lua") / "tensor.t7"
    assert run(GOLDEN / "probe_tensor.lua", [str(GOLDEN / "cases_tensor.lua"), str(out)]) == 0
    return t7.load(out).array()


@pytest.mark.parametrize("index", range(len(CASES)), ids=lambda i: CASES[i]["expr"])
def test_expression(tensor_results: list[t7.LuaTable], index: int) -> None:
    expected, got = CASES[index], tensor_results[index]
    assert got["expr"] == expected["expr"]
    assert got["ok"] == expected["ok"], got.get("error")
    if not expected["ok"]:
        assert message(got["error"]) == message(expected["error"])
        return
    assert got["n"] == expected["n"]
    if expected["expr"] == "torch.svd(a)":
        for place in (1, 2, 3):
            values = [np.atleast_2d(r["values"][place]["data"].numpy()) for r in (expected, got)]
            assert same_up_to_sign_of_columns(*values, tolerance=1e-12)
        return
    if expected["expr"] == "torch.symeig(spd)":
        # Without 'V' the second result is what LAPACK's work left in it; ours is zero.
        assert not list(differences(expected["values"][1], got["values"][1], 1e-12))
        return
    assert not list(differences(expected["values"], got["values"], 1e-12))


def test_random_streams_are_the_same_to_the_last_bit(tmp_path: Path) -> None:
    out = tmp_path / "random.t7"
    assert run(GOLDEN / "probe_random.lua", [str(out)]) == 0
    assert not list(differences(t7.load(GOLDEN / "random.t7"), t7.load(out), 0))


def _printed_by(script: Path, *args: str) -> str:
    command = [sys.executable, "-m", "lua_compat", str(script), *args]
    return subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=GOLDEN.parent.parent
    ).stdout


def test_command_line_parsing_and_help_are_byte_for_byte() -> None:
    assert _printed_by(GOLDEN / "probe_cmdline.lua") == (GOLDEN / "cmdline.txt").read_text()


def test_printed_tensors_are_byte_for_byte(tmp_path: Path) -> None:
    source = (GOLDEN / "probe_print.lua").read_text()
    tensors_only = source[: source.index("for _, line in ipairs{")].replace("require 'nn'\n", "")
    script = tmp_path / "print.lua"
    script.write_text(tensors_only)
    expected = (GOLDEN / "print.txt").read_text().split("## nn.Linear(10, 5)")[0].splitlines()
    got = _printed_by(script).splitlines()
    differing = [(e, g) for e, g in zip(expected, got, strict=True) if e != g]
    assert len(differing) == 1, "only the address of a table"
    assert all(line.startswith("table: 0x") for line in differing[0])


@pytest.mark.parametrize("name", sorted(p.name for p in (GOLDEN / "t7").iterdir()))
def test_files_of_torch7_are_read_and_written_back(name: str, tmp_path: Path) -> None:
    mode = "ascii" if ".ascii." in name else "binary"
    script = tmp_path / "copy.lua"
    script.write_text(
        "require 'nn'\n"
        "local from, to, mode, long = unpack(arg)\n"
        "local file = torch.DiskFile(from, 'r') file[mode](file)\n"
        "if long == '4' then file:longSize(4) end\n"
        "local object = file:readObject() file:close()\n"
        "torch.save(to, object, mode)\n"
    )
    out = tmp_path / name
    long_size = "4" if ".long4." in name else "8"
    assert run(script, [str(GOLDEN / "t7" / name), str(out), mode, long_size]) == 0
    assert not list(
        differences(_functions_as_bytes(t7.load(GOLDEN / "t7" / name)), _functions_as_bytes(t7.load(out)), 0)
    )


def _functions_as_bytes(value: object) -> object:
    return "a function" if isinstance(value, t7.LuaFunction) else value
