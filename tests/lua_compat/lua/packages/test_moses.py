"""moses: what its functions give, and its functions as globals."""

from pathlib import Path

import pytest

from tests.helpers.commands import run_lua

# Calls whose results moses 1.6.1 gives, and those results
CASES = """
    m.map({ 1, 2 }, function(k, v) return 'k' .. k, v * 2 end) == { k1 = 2, k2 = 4 }
    m.reject({ 1, 2 }, function(_, v) if v > 1 then return false end end) == { 2 }
    m.chunk({ 1, 2, 2, 3 }, function(k, v) return v % 2 == 0 end) == { { 1 }, { 2, 2 }, { 3 } }
    m.chunk({ 2, 2, 3 }, function(k, v) return v % 2 == 0 end) == { [0] = { 2, 2 }, { 3 } }
    m.pluck({ { x = 1 }, { y = 2 }, { x = false } }, 'x') == { 1, false }
    m.where({ { x = 1, y = 1 }, { x = 1 }, { x = 2 } }, { x = 1 }) == { { x = 1, y = 1 }, { x = 1 } }
    m.invoke({ 'a', 'bcd' }, string.len) == { 1, 3 }
    m.range(3) == { 0, 1, 2, 3 }
    m.range(1, 9, 3) == { 1, 4, 7 }
    m.range(3, 1) == {}
    m.removeRange({ 1, 2, 3, 4 }, 2, 3) == { 1, 4 }
    m.zip({ 1, 2 }, { 'a', 'b', 'c' }) == { { 1, 'a' }, { 2, 'b' }, { 'c' } }
    m.interpose('-', { 1, 2, 3 }) == { 1, '-', 2, '-', 3 }
    m.array(m.partition({ 1, 2, 3 }, 2, 0)) == { { 1, 2 }, { 3, 0 } }
    m.array(m.sliding({ 1, 2, 3 }, 2)) == { { 1, 2 }, { 2, 3 } }
    m.curry(function(a, b) return a + b end)(1)(2) == 3
    m.symmetricDifference({ 1, 2, 3 }, { 2, 3, 4 }) == { 1, 4 }
    m.partial(function(a, b, c) return a .. b .. c end, '_', 'x')(1, 2) == '1x2'
    m.partialRight(function(a, b, c) return a .. b .. c end, '_', 'x')(1, 2) == '21x'
    m.sortBy({ 'bb', 'a', 'ccc' }, string.len) == { 'a', 'bb', 'ccc' }
    m.chain({ 1, 2, 3 }):map(function(_, v) return -v end):last(2):value() == { -2, -3 }
    m.isEqual({ 1, { x = 2 } }, { 1, { x = 2 } }) == true
    m._VERSION == 'Moses v1.6.1'
"""


@pytest.mark.parametrize("case", CASES.split("\n    ")[1:])
def test_a_function_gives_what_moses_gives(tmp_path: Path, case: str) -> None:
    call, wanted = case.rsplit(" == ", 1)
    run_lua(
        tmp_path,
        f"""
        local m = require 'moses'
        local got, wanted = {call}, {wanted}
        assert(m.isEqual(got, wanted))
        if type(got) == 'table' then
           for key, value in pairs(wanted) do assert(type(value) == 'table' or got[key] == value, key) end
        end
        """,
    )


def test_moses_as_globals_leaves_torch_whole(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        require('moses').import()
        assert(select({ 1, 2 }, function(_, v) return v > 1 end)[1] == 2)
        assert(torch.cat(torch.ones(1), torch.zeros(2)):sum() == 1 and torch.randn(3):add(1):nElement() == 3)
        require 'nn'
        local net = nn.Sequential():add(nn.SpatialConvolution(1, 2, 3, 3))
        net:add(nn.View(-1)):add(nn.Linear(8, 2))
        assert(net:forward(torch.randn(1, 4, 4)):size(1) == 2)
        assert(torch.deserialize(torch.serialize(net)):getParameters():nElement() == 38)
        """,
    )


def test_a_moses_beside_the_script_comes_first(tmp_path: Path) -> None:
    (tmp_path / "moses.lua").write_text("return 'mine'")
    run_lua(tmp_path, "assert(require 'moses' == 'mine')")
