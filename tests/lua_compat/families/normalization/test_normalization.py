"""Normalizations: LuaJIT's results are PyTorch's."""

from pathlib import Path

from tests.helpers.commands import run_lua
from tests.lua_compat.families.two_ways import made_for

test_both_ways_agree, test_both_ways_agree_on_much_more = made_for(__file__)


def test_windows_of_planes_are_refused_where_torch7_finds_no_plane(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        require 'nn'
        for size = 1, 6 do
           for planes = 1, 6 do
              local module, x = nn.SpatialCrossMapLRN(size, 0.1, 0.75, 1), torch.rand(2, planes, 3, 3)
              local forward = size % 2 == 1 or planes <= size / 2
              assert(pcall(module.forward, module, x) == forward)
              assert(pcall(module.forward, module, x[1]) == forward)
              assert(pcall(module.updateGradInput, module, x, x) == (forward and size > 1))
           end
        end
        """,
    )
