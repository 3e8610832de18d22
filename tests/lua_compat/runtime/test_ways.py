"""Which way an operation is computed: asked for by name, and reported."""

from pathlib import Path

import pytest

from lua_compat.runtime.errors import LuaError
from lua_compat.runtime.state import Runtime
from tests.helpers.commands import run_th

SCRIPT = """
require 'nn'
local layer = nn.SpatialMaxPooling(2, 2)
for i = 1, 3 do layer:forward(torch.ones(2, 6, 6)) end
layer:forward(torch.DoubleTensor(2, 300, 300))
"""


def test_operations_ways_calls_and_reasons_are_printed_also_after_an_error(tmp_path: Path) -> None:
    script = tmp_path / "script.lua"
    for end, code in ("", 0), ("os.exit(3)", 3), ("error 'no more'", 1):
        script.write_text(SCRIPT + end)
        result = run_th("--ways", script)
        assert (result.returncode, result.stdout) == (code, "")
        rows = [line.split(None, 3) for line in result.stderr.splitlines()]
        assert rows[0][:3] == ["operation", "way", "calls"]
        assert ["spatial_max_pooling", "luajit", "3"] in rows
        assert ["spatial_max_pooling", "pytorch", "1", "more than 131072 elements (1)"] in rows


@pytest.mark.parametrize(("way", "wanted"), [("pytorch", "pytorch"), ("luajit", "luajit"), ("any", "luajit")])
def test_a_way_that_is_asked_for_computes(way: str, wanted: str) -> None:
    state = Runtime(way=way)
    assert state.run_string(SCRIPT[: SCRIPT.rindex("layer")]) == 0
    rows = [line.split()[:3] for line in state.report_of_ways().splitlines()]
    assert [row for row in rows if row[0] == "spatial_max_pooling"] == [["spatial_max_pooling", wanted, "3"]]


def test_what_threads_compute_is_reported(tmp_path: Path) -> None:
    script = tmp_path / "script.lua"
    script.write_text(
        """
        local pool = require('threads').Threads(2)
        for i = 1, 5 do
           pool:addjob(function()
              require 'nn'
              local layer = nn.SpatialMaxPooling(2, 2)
              layer:forward(torch.ones(2, 6, 6))
              layer:forward(torch.DoubleTensor(2, 300, 300))
           end)
        end
        pool:synchronize()
        require 'nn'
        nn.SpatialMaxPooling(2, 2):forward(torch.ones(2, 6, 6))
        """
    )
    result = run_th("--ways", script)
    rows = [line.split(None, 3) for line in result.stderr.splitlines()]
    assert result.returncode == 0
    assert ["spatial_max_pooling", "luajit", "6"] in rows
    assert ["spatial_max_pooling", "pytorch", "5", "more than 131072 elements (5)"] in rows


def test_luajit_asked_for_is_an_error_where_it_refuses() -> None:
    with pytest.raises(LuaError, match="spatial_max_pooling: PyTorch is left: "):
        Runtime(way="luajit").run_string(SCRIPT)


def test_a_state_that_is_not_watched_calls_the_functions_themselves() -> None:
    code = """
    local ways = require 'torch.core.ways'
    local function f() end
    assert(ways.of('f', f) == f and not getmetatable(ways.luajit) and not ways.no 'for some reason')
    assert(not pcall(ways.only, 'pytorch'))
    """
    assert Runtime().run_string(code) == 0


def test_operations_of_torch_name_their_ways() -> None:
    state = Runtime(way="any")
    script = """
    local t = torch.range(1, 20):view(4, 5)
    t:add(1) t:sum() t:sum(2) t:sort() t:max(2) t:gt(3) t[t:gt(3)] = 1 t:std() t:norm() t:equal(t)
    torch.mm(t, t:t()) torch.dot(t, t) torch.all(t:gt(50)) t:cumsum(1)
    t:gather(1, torch.LongTensor(1, 5):fill(1))
    """
    assert state.run_string(script) == 0
    rows = {tuple(line.split()[:2]) for line in state.report_of_ways().splitlines()}
    names = "add_scalar sum_all sum sort max gt masked_fill std_all norm_all equal all_nonzero cumsum gather"
    assert {(name, "luajit") for name in names.split()} <= rows
    assert {name for name, way in rows if way in ("luajit", "blas")} >= {"mm", "dot"}


def test_a_refusal_of_torch_says_why() -> None:
    with pytest.raises(LuaError, match="cdiv: PyTorch is left: many whole numbers"):
        Runtime(way="luajit").run_string("torch.IntTensor{ 4, 6 }:cdiv(torch.IntTensor{ 2, 3 })")


def test_every_refusal_of_torch_says_why(capfd: pytest.CaptureFixture[str]) -> None:
    script = Path(__file__).with_name("refusals.lua")
    assert Runtime(str(script), way="any").run_file(str(script)) == 0
    assert int(capfd.readouterr().out) > 500
