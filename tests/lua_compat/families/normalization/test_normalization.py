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


# What Torch7 prints: sums of gradients are beyond floats, their products with 1 / standard deviation are not.
SUMS_BEYOND_FLOATS = """
require 'nn'
local m = nn.BatchNormalization(1):float()
m.weight:fill(1)
local x, g = torch.FloatTensor(40, 1):fill(1e19), torch.FloatTensor(40, 1):fill(1e19)
x:narrow(1, 1, 20):mul(-1)
g:narrow(1, 1, 20):mul(-1)
local function gradients()
   m:forward(x)
   m:zeroGradParameters()
   m:backward(x, g)
   print(('%.5g %s'):format(m.gradWeight[1], m.gradBias[1] == 1 / 0))
end
gradients()
x:mul(10)
g:div(10)
gradients()
g:fill(3e38)
gradients()
"""


@pytest.mark.parametrize("way", ["any", "pytorch"])
def test_gradients_of_overflowing_sums_are_torch7s(way: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert Runtime(notes=False, way=way).run_string(SUMS_BEYOND_FLOATS) == 0
    assert capfd.readouterr().out.splitlines() == ["4e+20 false", "0 false", "nan true"]


@pytest.mark.parametrize("field", ["weight", "running_mean", "running_var"])
def test_parameters_that_are_not_contiguous(field: str) -> None:
    code = f"""
        require 'nn'
        local x, g = torch.randn(4, 3), torch.randn(4, 3)
        for _, name in ipairs{{ 'training', 'evaluate' }} do
           local m = nn.BatchNormalization(3)
           m.{field}:copy(torch.Tensor{{ 1, 2, 3 }})
           local other = m:clone()
           other.{field} = torch.zeros(3, 2):select(2, 2):copy(m.{field})
           for _, one in ipairs{{ m, other }} do
              one[name](one)
              one:zeroGradParameters()
              one:forward(x)
              one:backward(x, g)
           end
           assert((m.gradInput - other.gradInput):abs():max() < 1e-12)
           assert((m.gradWeight - other.gradWeight):abs():max() < 1e-12)
        end
    """
    assert Runtime().run_string(code) == 0
