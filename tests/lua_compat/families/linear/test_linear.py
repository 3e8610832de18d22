"""LookupTable: LuaJIT's results are PyTorch's, and both are Torch7's."""

import pytest

from lua_compat.runtime.state import Runtime
from tests.lua_compat.families.two_ways import made_for

test_both_ways_agree, test_both_ways_agree_on_much_more = made_for(__file__)


@pytest.mark.parametrize("way", ["any", "pytorch"])
@pytest.mark.parametrize(
    ("most", "p", "total"),  # recorded with Torch7
    [
        ("-0.5", "2", 10.328781),
        ("-0.5", "0.5", 12.348771),
        ("-0.5", "1/0", 7.071429),
        ("0/0", "1", 24.428571),
        ("0.7", "2", 16.131495),
        ("0.7", "1/0", 20.957142),
    ],
)
def test_rows_are_scaled_to_a_norm(most: str, p: str, total: float, way: str) -> None:
    code = f"""
        require 'nn'
        local table = nn.LookupTable(6, 3, nil, {most}, {p})
        table.weight:copy(torch.range(1, 18)):div(7)
        table:forward(torch.LongTensor{{1, 3, 3, 6}})
        local found = table.weight:sum()
        assert(math.abs(found - {total}) < 1e-6, found)"""
    assert Runtime(way=way).run_string(code) == 0
