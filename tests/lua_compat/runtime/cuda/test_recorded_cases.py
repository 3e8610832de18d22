"""Cases recorded with Torch7, computed by CUDA's and other types of tensors."""

import pytest
import torch

from lua_compat.runtime.state import Runtime
from tests.helpers.places import GOLDEN
from tests.lua_compat.runtime.cuda.checks import printed

# Runs every case of cases_nn.lua with a type of tensors; prints its error, or by how much its results differ
# from those of FloatTensors, if that is more than the tolerance.
NN_CASES = """
local cases, type_name, tolerance = ...
local function gap(a, b) -- over the largest value, or 1
   if torch.isTensor(a) then
      if a:nElement() == 0 then return 0 end
      a, b = a:double(), b:double()
      return (a - b):abs():max() / math.max(1, a:clone():abs():max())
   elseif type(a) == 'table' then
      local most = 0
      for key, value in pairs(a) do most = math.max(most, gap(value, b[key])) end
      return most
   end
   return type(a) == 'number' and math.abs(a - b) or 0
end
local function run(number, case, name)
   local options, input = case[3] or {}, {}
   torch.manualSeed(number)
   local module = nn.utils.recursiveType(assert(loadstring('return ' .. case[1]))(), name)
   for i, shape in ipairs(case[2]) do
      input[i] = torch.rand(torch.LongStorage(shape)):add(options.unit and 0 or 0.1)
      if options.labels then input[i]:mul(options.labels):ceil():clamp(1, options.labels) end
   end
   if #input == 1 and not options.table then input = input[1] end
   local target = options.target and assert(loadstring('return ' .. options.target))()
   input = nn.utils.recursiveType(input, name)
   if type(target) ~= 'number' then target = nn.utils.recursiveType(target, name) end
   if options.evaluate then module:evaluate() end
   local results = { (module:forward(input, target)) }
   if not options.forward_only then
      if module.zeroGradParameters then module:zeroGradParameters() end
      results[2] = module:backward(input, target or module.output)
      if module.parameters then results[3] = select(2, module:parameters()) end
   end
   return results
end
for number, case in ipairs(cases) do
   local ok, problem = pcall(function()
      local result = run(number, case, type_name)
      if tolerance == math.huge then return end
      local difference = gap(run(number, case, 'torch.FloatTensor'), result)
      assert(difference <= tolerance, difference)
   end)
   if not ok then print(case[1], (tostring(problem):gsub('\\n.*', ''))) end
end
"""


@pytest.mark.skipif(
    tuple(map(int, torch.__version__.split(".")[:2])) < (2, 11),
    reason="older PyTorch lacks more kernels for half, and makes tensors that the stand-in GPU cannot see",
)
@pytest.mark.parametrize(("element", "tolerance"), [("Cuda", "1e-4"), ("CudaHalf", "math.huge")])
def test_nn_s_cases_run_on_their_tensors_device(
    runtime: Runtime, capfd: pytest.CaptureFixture[str], element: str, tolerance: str
) -> None:
    cases = (GOLDEN / "cases_nn.lua").read_text(encoding="utf-8")
    code = f"(function(...) {NN_CASES} end)((function() {cases} end)(), 'torch.{element}Tensor', {tolerance})"
    found = dict(line.split("\t", 1) for line in printed(runtime, capfd, code).splitlines())
    assert not found, found


def test_a_net_in_half_precision_is_near_the_same_in_single(runtime: Runtime) -> None:
    runtime.run_string("""
        torch.manualSeed(1)
        local net = nn.Sequential():add(cudnn.SpatialConvolution(3, 8, 3, 3, 1, 1, 1, 1))
        net:add(cudnn.SpatialBatchNormalization(8)):add(cudnn.ReLU(true)):add(cudnn.SpatialCrossMapLRN(5))
        net:add(cudnn.SpatialAveragePooling(2, 2, 2, 2)):add(nn.View(8)):add(nn.Linear(8, 10))
        net:add(cudnn.LogSoftMax())
        local x, criterion, results = torch.randn(2, 3, 2, 2), nn.ClassNLLCriterion(), {}
        for i, name in ipairs{ 'torch.CudaTensor', 'torch.CudaHalfTensor' } do
           net:type(name)
           criterion:type(name)
           net:zeroGradParameters()
           local loss = criterion:forward(net:forward(x:type(name)), torch.CudaTensor{ 1, 2 })
           net:backward(x:type(name), criterion:backward(net.output, torch.CudaTensor{ 1, 2 }))
           results[i] = { torch.Tensor{ loss }, net.output:double(), net.gradInput:double(),
              net:get(1).gradWeight:double() }
        end
        for i, expected in ipairs(results[1]) do
           local error = (results[2][i] - expected):abs():max() / expected:clone():abs():max()
           assert(error > 0 and error < 1e-2, ('result %d: %g'):format(i, error))
        end
    """)


def test_tensor_expressions_run_on_their_tensors_device(
    runtime: Runtime, capfd: pytest.CaptureFixture[str]
) -> None:
    """Those that fail do so on the host, too; but only there has Lua the memory that torch.data points to."""
    code = """
        for _, expression in ipairs((function() CASES end)()) do
           local e = setmetatable({}, { __index = _G })
           e.a, e.b, e.v, e.w = torch.randn(3, 4), torch.randn(3, 4), torch.randn(4), torch.randn(3)
           e.sq = torch.randn(3, 3)
           e.spd = e.sq * e.sq:t() + torch.eye(3)
           e.f = torch.FloatTensor{ { 1, 2, 3 }, { 4, 5, 6 } }
           for name, t in pairs(e) do e[name] = t:cuda() end
           e.l, e.m = torch.CudaLongTensor{ 2, 1, 4, 3 }, e.a:gt(0)
           expression = expression:gsub('torch%.([LBI]%l+Tensor)', 'torch.Cuda%1')
           torch.setdefaulttensortype('torch.CudaTensor')
           local run = setfenv(loadstring('return ' .. expression) or loadstring(expression), e)
           local ok, problem = pcall(run)
           torch.setdefaulttensortype('torch.DoubleTensor')
           if not ok then print(expression, (problem:gsub('\\n.*', ''))) end
        end
    """
    cases = (GOLDEN / "cases_tensor.lua").read_text(encoding="utf-8")
    lines = printed(runtime, capfd, code.replace("CASES", cases)).splitlines()
    refused = [line for line in lines if line.startswith("torch.data")]
    assert len(lines) - len(refused) == 17 and not [line for line in lines if "device" in line], lines
    assert len(refused) == 1 and "cannot reach by a pointer" in refused[0]
