"""Distances and cosines: LuaJIT's results are PyTorch's."""

from pathlib import Path

from tests.helpers.commands import run_lua
from tests.lua_compat.families.two_ways import made_for

test_both_ways_agree, test_both_ways_agree_on_much_more = made_for(__file__)


def test_slopes_at_0_and_at_nan_are_drawn(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        require 'nn'
        local a, b = torch.Tensor(2, 50):fill(0 / 0), torch.ones(2, 50)
        a[1]:fill(1)
        a[1][1], a[2][1] = 3, -3
        local first, second = unpack(nn.PairwiseDistance(1):backward({ a, b }, torch.Tensor{ 2, 3 }))
        assert(first[1][1] == 2 and first[2][1] == -3)
        for row, slope in ipairs{ 2, 3 } do
           assert(torch.abs(first[row]):eq(slope):all())
           assert(first[row]:gt(0):any() and first[row]:lt(0):any())
        end
        assert((first + second):eq(0):all())
        """,
    )
