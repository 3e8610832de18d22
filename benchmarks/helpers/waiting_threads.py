"""What it costs under ``th`` that PyTorch's threads spin while they wait for each other.

Measured are a mask of a million floats and a training step of a small generator, with two threads, by how
long OpenMP's threads spin: as PyTorch's library does by default, briefly (``th`` where the user has chosen
nothing), or not at all.
"""

import os
import statistics
from collections.abc import Sequence

from benchmarks.helpers.beside import others
from benchmarks.helpers.lua_in_turns import TH, measured
from convnet_benchmarks.tables import Column, Table
from lua_compat.runtime.openmp import SET_BY_USERS

SCRIPT = """
require 'nn'
torch.setdefaulttensortype('torch.FloatTensor')
torch.setnumthreads(2)
local function measure(name, times, f)
    for _ = 1, math.ceil(times / 10) do f() end -- warm-up
    local timer = torch.Timer()
    for _ = 1, times do f() end
    local spent = timer:time()
    for kind, seconds in pairs{ cpu = spent.user + spent.sys, wall = spent.real } do
        print(('%s, %s\\t%.6f'):format(name, kind, seconds / times * 1e3))
    end
end
torch.symeig(torch.eye(64)) -- loads PyTorch
local x = torch.rand(2 ^ 20)
measure('mask', 300, function() return x:gt(0.5) end)
local net = nn.Sequential()
for _, planes in ipairs{ { 100, 128, 1, 0 }, { 128, 64, 2, 1 }, { 64, 32, 2, 1 }, { 32, 3, 2, 1 } } do
    local from, to, stride, pad = unpack(planes)
    net:add(nn.SpatialFullConvolution(from, to, 4, 4, stride, stride, pad, pad))
    net:add(nn.SpatialBatchNormalization(to)):add(nn.ReLU(true))
end
local noise = torch.randn(16, 100, 1, 1)
local gradient = torch.randn(net:forward(noise):size())
measure('generator', 30, function()
    net:zeroGradParameters()
    net:forward(noise)
    net:backward(noise, gradient)
end)
"""
POLICIES = {
    "PyTorch's default": {"GOMP_SPINCOUNT": "300000"},  # what libgomp takes where nothing is set
    "th": {},
    "passive": {"OMP_WAIT_POLICY": "passive"},
}


def waiting_costs(busy: Sequence[int], rounds: int) -> Table:
    """Returns the medians over the rounds, which take turns, beside so many busy programs."""
    names = [f"{what}, {kind}" for what in ("mask", "generator") for kind in ("cpu", "wall")]
    columns = [
        Column("busy processes"),
        Column("threads wait"),
        *(Column(name, "ms", digits=3) for name in names),
    ]
    table = Table("", columns)
    for count in busy:
        with others(count):
            taken = [
                {policy: _measured(chosen) for policy, chosen in POLICIES.items()} for _ in range(rounds)
            ]
        for policy in POLICIES:
            costs = [statistics.median(one[policy][name] for one in taken) for name in names]
            table.rows.append([count, policy, *costs])
    return table


def _measured(chosen: dict[str, str]) -> dict[str, float]:
    """Returns the milliseconds by name, with these variables of the environment."""
    environment = {name: value for name, value in os.environ.items() if name not in SET_BY_USERS}
    return measured(TH, SCRIPT, {**environment, **chosen})
