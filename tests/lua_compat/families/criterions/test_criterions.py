"""Losses: LuaJIT's results are PyTorch's."""

from pathlib import Path

from tests.helpers.commands import run_lua
from tests.lua_compat.families.two_ways import made_for

test_both_ways_agree, test_both_ways_agree_on_much_more = made_for(__file__)


def test_a_nan_is_no_loss_where_vectors_should_differ(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        require 'nn'
        for _, columns in ipairs{ 3, 200000 } do -- in LuaJIT and in PyTorch
           local criterion, a = nn.CosineEmbeddingCriterion(0.1), torch.ones(2, columns)
           local b = a:clone()
           a[1][2] = 0 / 0
           assert(math.abs(criterion:forward({ a, b }, torch.Tensor{ -1, -1 }) - 0.45) < 1e-9)
           local first, second = unpack(criterion:backward({ a, b }, torch.Tensor{ -1, -1 }))
           assert(first[1]:eq(0):all() and second[1]:eq(0):all() and first:eq(first):all())
           assert(criterion:forward({ a, b }, torch.Tensor{ 1, -1 }) ~= criterion.output) -- a NaN
        end
        """,
    )
