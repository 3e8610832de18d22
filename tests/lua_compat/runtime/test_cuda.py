"""cutorch, cunn, cudnn and ccn2: without CUDA, and with the CPU in its place."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from lua_compat import t7
from lua_compat.runtime.cuda import Cuda
from lua_compat.runtime.state import Runtime
from tests.helpers.commands import run_th
from tests.helpers.fake_cuda import fake_cuda
from tests.helpers.places import GOLDEN


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    """A Lua state whose CUDA tensors are in main memory, under PyTorch's rules for a GPU."""
    opened = Runtime(cpu_as_cuda=True)
    opened.handles.cuda = "cuda"
    with fake_cuda():
        opened.run_string("require 'cunn' require 'cudnn' require 'ccn2'")
        yield opened


def printed(runtime: Runtime, capfd: pytest.CaptureFixture[str], code: str) -> str:
    capfd.readouterr()
    runtime.run_string(code)
    return capfd.readouterr().out


def close(runtime: Runtime, code: str) -> None:
    """``code`` gives two tensors that must agree to 1e-5 of the larger one's largest value."""
    runtime.run_string(f"""
        local a, b = (function() {code} end)()
        a, b = a:double(), b:double()
        assert(a:isSameSizeAs(b), 'sizes differ')
        local error, size = (a - b):abs():max(), b:abs():max()
        assert(size > 0 and error <= 1e-5 * size, ('%g of %g'):format(error, size))
    """)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_cuda_the_message_says_what_to_do() -> None:
    code = """
        for _, name in ipairs{ 'cunn', 'cudnn', 'ccn2' } do
           print(pcall(require, name))
           package.loaded.cutorch, package.loaded.cunn = nil -- Lua remembers that they failed
        end
        print(torch.CudaTensor)
        require 'cutorch'
    """
    result = run_th("-e", code)
    assert result.returncode == 1 and result.stdout.endswith("\nnil\n")
    for text, count in ((result.stderr, 1), (result.stdout, 3)):
        assert text.count("cutorch needs a CUDA GPU") == text.count("th --cpu-as-cuda") == count


def test_the_stand_in_is_announced_on_stderr() -> None:
    result = run_th("--cpu-as-cuda", "-e", "require 'cutorch' print(torch.CudaTensor(2):fill(3):sum())")
    assert (result.returncode, result.stdout) == (0, "6\n")
    assert "--cpu-as-cuda" in result.stderr and result.stderr.count("\n") == 1


def test_types_and_conversions(runtime: Runtime, capfd: pytest.CaptureFixture[str]) -> None:
    code = """
        local t = torch.CudaTensor{{1, 2}, {3, 4}}
        print(torch.typename(t), t:type(), t:float():type(), t:double():cuda():type(), t:cudaHalf():type())
        local values, places = t:max(2)
        print(values:type(), places:type(), t:gt(2):type(), t:long():type(), t:cudaLong():type())
        print(t[2][1], t[{1, 2}], t:storage()[4], t:sum(), t[t:gt(2)]:sum(), t:getDevice(), #t:totable())
        t[1][1] = 10
        t:storage()[2] = 20
        t:apply(function(x) return x + 1 end)
        print(table.concat(t:view(-1):totable(), ' '), t:index(1, torch.CudaLongTensor{2}):sum())
        print(torch.isTensor(t), torch.CudaTensor(3):copy(torch.range(1, 3)):sum())
    """
    assert printed(runtime, capfd, code).splitlines() == [
        "torch.CudaTensor\ttorch.CudaTensor\ttorch.FloatTensor\ttorch.CudaTensor\ttorch.CudaHalfTensor",
        "torch.CudaTensor\ttorch.CudaLongTensor\ttorch.CudaByteTensor\ttorch.LongTensor\ttorch.CudaLongTensor",
        "3\t2\t4\t10\t7\t1\t2",
        "11 21 4 5\t9",
        "true\t6",
    ]


def test_printed_as_floats_are(runtime: Runtime, capfd: pytest.CaptureFixture[str]) -> None:
    code = "local f = torch.randn(2, 3):float() print(f) print(f:cuda())"
    text = printed(runtime, capfd, code)
    floats, cuda = text.split("\n\n")[:2]
    assert cuda == floats.replace("FloatTensor", "CudaTensor")


def test_random_numbers_are_those_of_the_host(runtime: Runtime) -> None:
    close(
        runtime,
        """
        torch.manualSeed(3) local a = torch.FloatTensor(50):normal()
        cutorch.manualSeed(3) return torch.CudaTensor(50):normal(), a
        """,
    )


def test_files_hold_cuda_tensors(runtime: Runtime, tmp_path: Path) -> None:
    path = tmp_path / "cuda.t7"
    runtime.run_string(f"""
        local t = torch.CudaTensor{{1, 2, 3}}
        torch.save('{path}', {{ t = t, half = t:narrow(1, 2, 2), net = nn.Linear(2, 2):cuda() }})
        local back = torch.load('{path}')
        assert(back.t:type() == 'torch.CudaTensor' and back.half[2] == 3)
        back.half[1] = 7
        assert(back.t[2] == 7)
    """)
    table = t7.load(path)
    assert table["t"].typename == "torch.CudaTensor"
    assert np.array_equal(table["t"].numpy(), np.array([1, 2, 3], np.float32))


def test_devices_and_streams(runtime: Runtime, capfd: pytest.CaptureFixture[str]) -> None:
    code = """
        local free, total = cutorch.getMemoryUsage(1)
        print(cutorch.getDeviceCount(), cutorch.getDevice(), free > 0 and free <= total)
        print(cutorch.getDeviceProperties(1).name, cutorch.withDevice(1, function() return 'a', 'b' end))
        cutorch.reserveStreams(2)
        cutorch.setStream(2) print(cutorch.getStream(), cutorch.getNumStreams()) cutorch.setDefaultStream()
        cutorch.streamWaitFor(1, {2}) cutorch.streamBarrier{1, 2} cutorch.streamSynchronize(1)
        cutorch.synchronize() cutorch.synchronizeAll()
        print(pcall(cutorch.setDevice, 0))
    """
    assert printed(runtime, capfd, code).splitlines() == [
        "1\t1\ttrue",
        "CPU (as CUDA)\ta\tb",
        "2\t2",
        "false\tcuda runtime error: device 0 is not one of 1 to 1",
    ]


def test_the_cpu_stands_in_for_whatever_gpu_a_script_names() -> None:
    code = "require 'cutorch' cutorch.setDevice(8) print(cutorch.getDevice(), torch.CudaTensor{2}:sum())"
    result = run_th("--cpu-as-cuda", "-e", code + " cutorch.setDevice(1) cutorch.setDevice(8)")
    assert (result.returncode, result.stdout) == (0, "8\t2\n")
    assert result.stderr.splitlines()[1:] == ["th: --cpu-as-cuda: the CPU stands in for device 8, too"]


def test_events_and_barriers_over_devices(runtime: Runtime) -> None:
    """On the CPU nothing is under way: what is checked is which streams and devices there are."""
    runtime.run_string("""
        cutorch.reserveStreams(2, true)
        cutorch.streamWaitForMultiDevice(1, 2, { { 1 } }) cutorch.streamBarrierMultiDevice{ { 1, 2 } }
        assert(not pcall(cutorch.streamWaitForMultiDevice, 1, 3, { { 1 } }))
        assert(not pcall(cutorch.streamBarrierMultiDevice, { { 3 } }))
        for _ = 1, 3 do
           local event = cutorch.Event()
           assert(torch.type(event) == 'cutorch.Event')
           event:waitOn()
           event = nil
           collectgarbage() collectgarbage()
        end
        cutorch.setKernelPeerToPeerAccess(true) assert(cutorch.getKernelPeerToPeerAccess())
        assert(cutorch.getRNGState(1):isSameSizeAs(torch.getRNGState()))
        assert(cutorch.initialSeed(1) == torch.initialSeed())
        local t = torch.CudaTensor(3):copyAsync(torch.FloatTensor{1, 2, 3})
        assert(torch.FloatTensor(3):copyAsync(t):sum() == 6)
    """)


def test_streams_are_of_every_device_and_keep_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """With two GPUs that only write down what is asked of them."""
    asked: list[str] = []

    class Stream:
        def __init__(self, device: int, name: str | None = None) -> None:
            self.name = name or f"{device}:user"

        def wait_stream(self, other: "Stream") -> None:
            asked.append(f"{self.name} waits for {other.name}")

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", lambda device: asked.append(f"device {device}"))
    monkeypatch.setattr(torch.cuda, "set_stream", lambda stream: asked.append(f"on {stream.name}"))
    monkeypatch.setattr(torch.cuda, "default_stream", lambda device: Stream(device, f"{device}:default"))
    monkeypatch.setattr(torch.cuda, "Stream", Stream)
    cuda = Cuda("cuda")
    cuda.reserve_streams(1)
    cuda.set_stream(1)
    cuda.set_device(2)
    cuda.stream_wait(1, 0, 2, 1, 1, 1)
    cuda.set_stream(0)
    cuda.set_device(1)
    assert asked == [
        "on 0:user", "device 1", "on 1:user", "0:default waits for 1:user", "0:default waits for 0:user",
        "on 1:default", "device 0", "on 0:default",
    ]  # fmt: skip


def test_linear_algebra_has_methods_on_the_device(runtime: Runtime) -> None:
    close(runtime, "local t = torch.randn(4, 4):cuda() return t * t:inverse(), torch.eye(4)")
    close(runtime, "local t = torch.randn(4, 4):cuda() local x = t:gesv(t) return x, torch.eye(4)")


def test_names_that_cutorchs_own_tests_use(runtime: Runtime, capfd: pytest.CaptureFixture[str]) -> None:
    code = """
        local bytes = torch.CudaByteTensor{1, 0}
        print(torch.CudaIntTensor{-1, 2}:abs():sum(), bytes:all(), bytes:any())
        print(torch.CudaTensor(2):storage():getDevice(), torch.CudaTensor():storage() == nil)
        print(cutorch.createCudaHostTensor():storage():size(), cutorch.createCudaHostTensor(2, 3):nElement())
        print(cutorch.createCudaHostLongTensor(torch.LongStorage{4, 2}):size(1), cutorch._sleep(10))
        local mean = torch.CudaTensor(10000):geometric(0.8):mean()
        print(math.abs(mean - 1.25) < 0.05) -- 1/p, where the host's is 1/(1 - p)
        local state = torch.multinomialAliasSetup(torch.CudaTensor{1, 2, 3})
        local drawn = torch.multinomialAlias(torch.CudaLongTensor(50), state)
        print(drawn:min() >= 1, drawn:max() <= 3, torch.Tensor.type(5))
    """
    assert printed(runtime, capfd, code) == "3\tfalse\ttrue\n1\ttrue\n0\t6\n4\ntrue\ntrue\ttrue\tnil\n"


def test_cudnn_layers_with_arguments_that_nns_do_not_have(
    runtime: Runtime, capfd: pytest.CaptureFixture[str]
) -> None:
    """The steps of pooling are its windows, and sequences can be padded."""
    code = """
        local pooling = cudnn.SpatialAveragePooling(2, 3)
        print(pooling.dW, pooling.dH, nn.SpatialAveragePooling(2, 3).dW)
        local m = cudnn.TemporalConvolution(3, 4, 3, 1, 1):cuda()
        local plain = nn.TemporalConvolution(3, 4, 3):cuda()
        plain.weight:copy(m.weight) plain.bias:copy(m.bias)
        m:zeroGradParameters() plain:zeroGradParameters()
        local x = torch.CudaTensor(2, 5, 3):normal()
        local padded = torch.CudaTensor(2, 7, 3):zero()
        padded:narrow(2, 2, 5):copy(x)
        local y = m:forward(x)
        print((y - plain:forward(padded)):abs():max() < 1e-6)
        print((m:backward(x, y) - plain:backward(padded, y):narrow(2, 2, 5)):abs():max() < 1e-5)
        print((m.gradWeight - plain.gradWeight):abs():max() < 1e-4)
    """
    assert printed(runtime, capfd, code) == "2\t3\t1\ntrue\ntrue\ntrue\n"


def test_a_net_gives_on_cuda_what_it_gives_in_float(runtime: Runtime) -> None:
    runtime.run_string("""
        torch.manualSeed(1)
        net = nn.Sequential():add(nn.SpatialConvolution(3, 8, 3, 3, 1, 1, 1, 1)):add(nn.ReLU(true))
           :add(nn.SpatialMaxPooling(2, 2, 2, 2)):add(nn.SpatialBatchNormalization(8)):add(nn.View(8 * 4 * 4))
           :add(nn.Linear(128, 5)):add(nn.LogSoftMax())
        net:zeroGradParameters()
        host, device = net:clone():float(), net:clone():cuda()
        x = torch.randn(4, 3, 8, 8):float()
        y, target = device:forward(x:cuda()), torch.Tensor{1, 2, 3, 4}
        criterion = nn.ClassNLLCriterion():cuda()
        loss = criterion:forward(y, target:cuda())
        device:backward(x:cuda(), criterion:backward(y, target:cuda()))
        local host_criterion = nn.ClassNLLCriterion():float()
        assert(math.abs(loss - host_criterion:forward(host:forward(x), target:float())) < 1e-5)
        host:backward(x, host_criterion:backward(host.output, target:float()))
    """)
    for value in ("output", "gradInput"):
        close(runtime, f"return device.{value}, host.{value}")
    close(
        runtime,
        "local _, a = device:getParameters() local _, b = host:getParameters() return a:clone(), b:clone()",
    )


def test_cudnn_convert_there_and_back(runtime: Runtime, capfd: pytest.CaptureFixture[str]) -> None:
    code = """
        local net = nn.Sequential():add(nn.SpatialConvolution(3, 4, 3, 3)):add(nn.ReLU())
           :add(nn.SpatialMaxPooling(2, 2, 2, 2)):add(nn.SpatialConvolutionMM(4, 2, 2, 2)):add(nn.Dropout(0))
        net:cuda()
        local x = torch.randn(2, 3, 8, 8):cuda()
        local before = net:forward(x):clone()
        cudnn.convert(net, cudnn, function(module) return torch.type(module):find('Pooling') end)
        print(net)
        print((net:forward(x) - before):abs():max() < 1e-6)
        cudnn.convert(net, nn)
        print(torch.type(net:get(1)), torch.type(net:get(2)), (net:forward(x) - before):abs():max() < 1e-6)
    """
    assert printed(runtime, capfd, code).splitlines()[2:] == [
        "  (1): cudnn.SpatialConvolution(3 -> 4, 3x3)",
        "  (2): cudnn.ReLU",
        "  (3): nn.SpatialMaxPooling(2x2, 2,2)",
        "  (4): cudnn.SpatialConvolution(4 -> 2, 2x2)",
        "  (5): nn.Dropout(0.000000)",
        "}",
        "true",
        "nn.SpatialConvolution\tnn.ReLU\ttrue",
    ]


def test_groups_are_separate_convolutions(runtime: Runtime) -> None:
    runtime.run_string("""
        whole = cudnn.SpatialConvolution(4, 6, 3, 3, 2, 2, 1, 1, 2):cuda()
        x, parts = torch.randn(2, 4, 7, 7):cuda(), {}
        g = torch.randn(2, 6, 4, 4):cuda()
        for i = 1, 2 do
           local part = nn.SpatialConvolution(2, 3, 3, 3, 2, 2, 1, 1):cuda()
           part.weight:copy(whole.weight:narrow(1, 3 * i - 2, 3))
           part.bias:copy(whole.bias:narrow(1, 3 * i - 2, 3))
           part:zeroGradParameters()
           part:forward(x:narrow(2, 2 * i - 1, 2))
           part:backward(x:narrow(2, 2 * i - 1, 2), g:narrow(2, 3 * i - 2, 3))
           parts[i] = part
        end
        whole:zeroGradParameters()
        whole:forward(x)
        whole:backward(x, g)
    """)
    for field, dimension in (("output", 2), ("gradInput", 2), ("gradWeight", 1), ("gradBias", 1)):
        close(runtime, f"return whole.{field}, torch.cat(parts[1].{field}, parts[2].{field}, {dimension})")


def test_ccn2_has_the_batch_last(runtime: Runtime) -> None:
    runtime.run_string("""
        m = ccn2.SpatialConvolution(3, 16, 3, 2, 1):cuda()
        n = nn.SpatialConvolution(3, 16, 3, 3, 2, 2, 1, 1):cuda()
        n.weight:copy(m.weight:t()) n.bias:copy(m.bias)
        x, g = torch.randn(3, 7, 7, 32):cuda(), torch.randn(16, 4, 4, 32):cuda()
        for _, module in ipairs{m, n} do module:zeroGradParameters() end
        m:forward(x) m:backward(x, g)
        local images = x:permute(4, 1, 2, 3):contiguous()
        n:forward(images) n:backward(images, g:permute(4, 1, 2, 3):contiguous())
        p = ccn2.SpatialMaxPooling(3, 2):cuda() p:forward(x)
    """)
    close(runtime, "return m.output, n.output:permute(2, 3, 4, 1)")
    close(runtime, "return m.gradInput, n.gradInput:permute(2, 3, 4, 1)")
    close(runtime, "return m.gradWeight, n.gradWeight:view(16, 27):t()")
    close(
        runtime,
        "return p.output, nn.SpatialMaxPooling(3, 3, 2, 2):cuda():ceil()"
        ":forward(x:permute(4, 1, 2, 3):contiguous()):permute(2, 3, 4, 1)",
    )


def test_what_does_not_belong_on_the_device_is_refused(
    runtime: Runtime, capfd: pytest.CaptureFixture[str]
) -> None:
    code = """
        print(pcall(function() cudnn.ReLU():forward(torch.ones(2)) end))
        print(pcall(ccn2.SpatialConvolution, 5, 16, 3))
        print(pcall(function() ccn2.SpatialMaxPooling(2):cuda():forward(torch.CudaTensor(3, 4, 4, 31)) end))
        print(pcall(function() return torch.CudaTensor(2):add(torch.FloatTensor(2)) end))
    """
    lines = printed(runtime, capfd, code).splitlines()
    assert "CUDA tensors only" in lines[0] and "multiple of 4" in lines[1] and "multiple of 32" in lines[2]
    assert "invalid arguments: CudaTensor FloatTensor" in lines[3]


def test_indices_may_be_of_the_types_that_cutorch_takes(
    runtime: Runtime, capfd: pytest.CaptureFixture[str]
) -> None:
    code = """
        local x, host = torch.CudaTensor{{1, 2, 3}, {4, 5, 6}}, torch.FloatTensor{{1, 2, 3}, {4, 5, 6}}
        local long = torch.LongTensor{2, 1}
        local function same(a, b) assert(a:float():equal(b)) end
        for _, index in ipairs{ long, long:cuda(), long:cudaLong() } do
           same(x:index(1, index), host:index(1, long))
           local y, expected = x:clone(), host:clone()
           for _, call in ipairs{ { 'indexCopy', x, host }, { 'indexAdd', x, host }, { 'indexFill', 7, 7 }} do
              y[call[1]](y, 1, index, call[2])
              expected[call[1]](expected, 1, long, call[3])
              same(y, expected)
           end
        end
        local places = torch.LongTensor{{1}, {3}}
        for _, index in ipairs{ places:cuda(), places:cudaLong() } do
           same(x:gather(2, index), host:gather(2, places))
           same(torch.gather(x, 2, index), host:gather(2, places))
           same(x:clone():scatter(2, index, 0), host:clone():scatter(2, places, 0))
           same(x:clone():scatter(2, index, x), host:clone():scatter(2, places, host))
        end
        print(select(2, pcall(x.index, x, 1)))
        print(select(2, pcall(x.index, x, 1, torch.FloatTensor{1})))
        print(select(2, pcall(x.gather, x, 2, places)))
        local bytes = x:cudaByte()
        print(select(2, pcall(bytes.index, bytes, 1, torch.CudaByteTensor{1})))
    """
    lines = printed(runtime, capfd, code).splitlines()
    assert lines[0].startswith("torch.CudaTensor, number, torch.CudaLongTensor | ")
    assert lines[1].endswith("(torch.CudaLongTensor expected, got torch.FloatTensor)")
    assert "CudaTensor index CudaLongTensor | [*CudaTensor*] CudaTensor index CudaTensor" in lines[3]
    assert "ByteTensor" in lines[4] and len(lines) == 5


def test_data_parallel_table_on_two_devices_that_are_one(runtime: Runtime) -> None:
    """Both parts of the batch, gathered: what the module gives alone."""
    runtime.run_string("""
        local inner = nn.Sequential():add(nn.Linear(3, 4)):add(nn.Tanh()):cuda()
        alone = inner:clone()
        parallel = nn.DataParallelTable(1):add(inner, {1, 1})
        x, g = torch.randn(5, 3):cuda(), torch.randn(5, 4):cuda()
        for _, module in ipairs{alone, parallel} do
           for _ = 1, 2 do
              module:zeroGradParameters()
              module:forward(x)
              module:backward(x, g)
              module:updateParameters(0.1)
           end
           module:zeroGradParameters()
           module:forward(x)
           module:backward(x, g)
        end
    """)
    for field in ("output", "gradInput"):
        close(runtime, f"return parallel.{field}, alone.{field}")
    close(
        runtime,
        "local _, a = parallel:parameters() local _, b = alone:parameters() return a[1], b[1]",
    )


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

HALF_POOLING_AND_MARGINS = {  # PyTorch has no kernels for them on a CPU
    "nn.VolumetricAveragePooling(2,2,2)", "nn.MultiMarginCriterion()", "nn.MultiLabelMarginCriterion()",
}  # fmt: skip


@pytest.mark.skipif(
    tuple(map(int, torch.__version__.split(".")[:2])) < (2, 11),
    reason="older PyTorch lacks more kernels for half, and makes tensors that the stand-in GPU cannot see",
)
@pytest.mark.parametrize(
    ("element", "tolerance", "missing"),
    [("Cuda", "1e-5", set()), ("CudaHalf", "math.huge", HALF_POOLING_AND_MARGINS)],
)
def test_nn_s_cases_run_where_their_tensors_lie(
    runtime: Runtime, capfd: pytest.CaptureFixture[str], element: str, tolerance: str, missing: set[str]
) -> None:
    cases = (GOLDEN / "cases_nn.lua").read_text(encoding="utf-8")
    code = f"(function(...) {NN_CASES} end)((function() {cases} end)(), 'torch.{element}Tensor', {tolerance})"
    found = dict(line.split("\t", 1) for line in printed(runtime, capfd, code).splitlines())
    assert found.keys() == missing, found


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


def test_tensor_expressions_run_where_their_tensors_lie(
    runtime: Runtime, capfd: pytest.CaptureFixture[str]
) -> None:
    """Those that fail do so on the host, too."""
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
    assert len(lines) == 17 and not [line for line in lines if "device" in line], lines


def test_the_gpu_s_convolutions_agree_with_the_cpu_s() -> None:
    """The convolutions for a GPU run anywhere: here they are compared with im2col."""
    from lua_compat.kernels.nn.convolution import gpu, im2col
    from lua_compat.kernels.workspace import Workspace
    from nets.engine.shapes import ConvolutionShape

    shape = ConvolutionShape(2, 3, 4, (9, 8), (3, 2), (2, 1), (1, 0), torch.float64)
    x, weight, bias = torch.randn(2, 3, 9, 8).double(), torch.randn(4, 18).double(), torch.randn(4).double()
    batch, height, width, planes = shape.output_shape
    grad_out, workspace = torch.randn(batch, planes, height, width).double(), Workspace()
    outs = [torch.empty_like(grad_out) for _ in range(2)]
    gpu.forward(shape, x, weight, bias, outs[0])
    im2col.forward(workspace, shape, x, weight, bias, outs[1])
    grads = [torch.empty_like(x) for _ in range(2)]
    gpu.input_gradient(shape, x, grad_out, weight, grads[0])
    im2col.input_gradient(workspace, shape, grad_out, weight, grads[1])
    sums = [torch.ones_like(weight) for _ in range(2)]
    gpu.weight_gradient(shape, x, grad_out, sums[0])
    im2col.weight_gradient(workspace, shape, x, grad_out, sums[1])
    for ours, theirs in (outs, grads, sums):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.gpu
def test_on_a_gpu_the_recurrent_layers_give_what_the_cpu_gives() -> None:
    code = """
        require 'cunn' require 'cudnn'
        for _, name in ipairs{'LSTM', 'GRU', 'RNNTanh', 'BLSTM'} do
           local m, x = cudnn[name](3, 4, 2), torch.randn(5, 2, 3):cuda()
           m:zeroGradParameters()
           m:backward(x, m:forward(x))
           torch.save(arg[1] .. name, { m.weight:float(), x:float(), m.output:float(), m.gradWeight:float() })
        end
    """
    check = """
        require 'cunn' require 'cudnn'
        for _, name in ipairs{'LSTM', 'GRU', 'RNNTanh', 'BLSTM'} do
           local m, all = cudnn[name](3, 4, 2), torch.load(arg[1] .. name)
           m.weight:copy(all[1])
           m:zeroGradParameters()
           m:backward(all[2]:cuda(), m:forward(all[2]:cuda()))
           assert((m.output:float() - all[3]):abs():max() < 1e-5)
           assert((m.gradWeight:float() - all[4]):abs():max() < 1e-4)
        end
    """
    with tempfile.TemporaryDirectory() as folder:
        scripts = [Path(folder, name) for name in ("write.lua", "check.lua")]
        for path, text in zip(scripts, (code, check), strict=True):
            path.write_text(text, encoding="utf-8")
        for words in ([str(scripts[0]), folder + "/"], ["--cpu-as-cuda", str(scripts[1]), folder + "/"]):
            result = run_th(*words)
            assert result.returncode == 0, result.stderr


@pytest.mark.gpu
def test_on_a_gpu_tensors_lie_there() -> None:
    code = """
        require 'cunn' require 'cudnn'
        local t = torch.randn(4, 3, 16, 16):cuda()
        t[1][1][1][1] = 5
        assert(t[1][1][1][1] == 5 and t:getDevice() == 1 and t:float():sum() - t:sum() < 1e-3)
        local net = nn.Sequential():add(cudnn.SpatialConvolution(3, 8, 3, 3)):add(cudnn.ReLU(true)):cuda()
        net:forward(t) net:backward(t, net.output)
        cutorch.synchronize()
        print(net.output:type())
    """
    result = run_th("-e", code)
    assert (result.returncode, result.stdout) == (0, "torch.CudaTensor\n"), result.stderr
