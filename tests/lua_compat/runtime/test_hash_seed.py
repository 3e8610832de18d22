"""``th --same-order``: the order of string keys is the same in every run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from lupa import luajit21

from lua_compat.runtime import hash_seed
from tests.helpers.places import ROOT

linux = pytest.mark.skipif(sys.platform != "linux", reason="Linux's own ways are used")

KEYS = """
    local t, order = {}, {}
    for i = 1, 500 do t['word' .. i] = i end
    for key in pairs(t) do order[#order + 1] = key end
    return table.concat(order, ' ')
"""


@linux
def test_states_begin_alike() -> None:
    def order() -> str:
        return str(luajit21.LuaRuntime().execute(KEYS))

    with hash_seed.fixed_hash_seed(luajit21.__file__):
        assert order() == order()
    assert order() != order()


@linux
def test_every_run_has_the_same_order(tmp_path: Path) -> None:
    script = tmp_path / "script.lua"
    script.write_text(
        "require 'nn'\nlocal function order()" + KEYS + "end\n"
        "for k in pairs(nn.Linear(2, 3)) do io.write(k, ' ') end\nprint(order())\n"
        "print(torch.initialSeed(), torch.Generator() and torch.random())\n"
    )
    command = [sys.executable, "-m", "lua_compat", "--same-order", str(script)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    runs = [subprocess.run(command, capture_output=True, text=True, env=environment) for _ in range(3)]
    if "does not let a program fix its addresses" in runs[0].stderr:  # containers may forbid it
        assert runs[0].returncode == 2
        return
    assert [run.stderr for run in runs] == ["", "", ""]
    assert len(runs[0].stdout.split()) > 500 and len({run.stdout for run in runs}) == 1


def test_a_file_that_is_not_a_library(tmp_path: Path) -> None:
    other = tmp_path / "luajit.so"
    for data in (b"", b"text", b"\x7fELF\x02\x01" + bytes(200)):
        other.write_bytes(data)
        hash_seed._slot.cache_clear()
        with pytest.raises(hash_seed.CannotFixOrder, match="seed"), hash_seed.fixed_hash_seed(str(other)):
            pass
