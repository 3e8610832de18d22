"""Models of before fields existed: th and the conversion take the same defaults."""

from pathlib import Path

import numpy as np
import torch

from lua_compat import t7
from lua_compat.conversion import to_torch
from tests.helpers.commands import run_lua

OLD = """
require 'nn'
torch.setdefaulttensortype('torch.DoubleTensor')
torch.manualSeed(1)
local absent = { 'dW', 'dH', 'padW', 'padH', 'adjW', 'adjH', 'dilationW', 'dilationH', 'ceil_mode' }
local function old(module)
   for _, name in ipairs(absent) do module[name] = nil end
   return module
end
local averages = old(nn.SpatialSubSampling(3, 2, 2))
averages.weight = torch.rand(3, 2, 2) -- one of its elements for each plane counts
averages.gradWeight = torch.zeros(3, 2, 2)
local net = nn.Sequential():add(old(nn.SpatialConvolution(2, 3, 3, 3))):add(old(nn.SpatialMaxPooling(2, 2)))
   :add(averages):add(old(nn.SpatialFullConvolution(3, 2, 3, 3))):add(old(nn.SpatialAveragePooling(2, 2)))
   :add(old(nn.SpatialDilatedMaxPooling(1, 1))):add(old(nn.SpatialDilatedConvolution(2, 1, 2, 2)))
local input = torch.randn(2, 14, 14)
local output = net:forward(input):clone()
net:zeroGradParameters()
net:backward(input, output)
local gradients = torch.abs(averages.gradWeight):view(-1)
assert(gradients:narrow(1, 1, 3):min() > 0 and gradients:narrow(1, 4, 9):sum() == 0)
torch.save(arg[1], { net = net, input = input, output = output })
"""


def test_fields_that_old_files_lack_have_their_defaults(tmp_path: Path) -> None:
    file = tmp_path / "old.t7"
    run_lua(tmp_path, OLD, str(file))
    record = t7.load(file)
    assert "dW" not in record["net"]["modules"][1] and record["net"]["modules"][3]["weight"].size == (3, 2, 2)
    net = to_torch(record["net"])
    input, output = (torch.from_numpy(np.array(record[name].numpy())) for name in ("input", "output"))
    result = net(input)
    torch.testing.assert_close(result, output)
    result.backward(output)
    recorded = record["net"]["modules"].array()
    for module, source in zip(net.children(), recorded, strict=True):
        for name, parameter in module.named_parameters():
            gradient = source[f"grad{name.title()}"].numpy()
            torch.testing.assert_close(parameter.grad.reshape(-1), torch.tensor(gradient).reshape(-1))
