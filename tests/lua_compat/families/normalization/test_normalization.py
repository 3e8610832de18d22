"""Normalizations: LuaJIT's results are PyTorch's."""

import pytest

from lua_compat.runtime.state import Runtime
from tests.lua_compat.families.two_ways import made_for

test_both_ways_agree, test_both_ways_agree_on_much_more = made_for(__file__)

# What Torch7 prints: sums of floats, and squares of their differences, overflow.
OVERFLOWING = """
require 'nn'
for _, side in ipairs{ 1, 300 } do
   local b = nn.SpatialBatchNormalization(2):float()
   local y = b:forward(torch.FloatTensor(2, 2, side, side):fill(-3e38))
   print(y:min(), b.running_mean[1], b.running_var[1])
   b = nn.SpatialBatchNormalization(2):float()
   local x = torch.FloatTensor(2, 2, side, side):fill(1)
   x[1]:fill(3e20)
   print(b:forward(x):max(), b.running_mean[1] > 1e19, b.running_var[1])
end
"""


def test_sums_and_squares_overflow_as_in_torch7(capfd: pytest.CaptureFixture[str]) -> None:
    assert Runtime().run_string(OVERFLOWING) == 0
    assert capfd.readouterr().out.splitlines() == ["nan\t-inf\tinf", "0\ttrue\tinf"] * 2
