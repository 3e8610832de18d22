"""Starting `th`: neither PyTorch nor numpy is loaded, unless something needs them."""

from pathlib import Path

import pytest

from lua_compat.runtime.cuda_presence import built_for_gpus
from tests.helpers.commands import run_python, run_th

PROGRAM = """
import sys
from lua_compat.cli.th import main
code = main(sys.argv[1:])
print(code, *(name for name in ("torch", "numpy", "sympy") if name in sys.modules))
"""


def loaded(*words: str) -> list[str]:
    """Returns what of the three is loaded when th has ended, which it does with exit code 0."""
    result = run_python("-c", PROGRAM, *words)
    code, *names = result.stdout.splitlines()[-1].split()
    assert code == "0", result.stderr
    return names


@pytest.mark.parametrize(
    "words",
    [
        ("-e", "print(1)"),
        ("-l", "nn", "-e", "print(nn.Linear(2, 2))"),
        ("-l", "nn", "-l", "optim", "-l", "nngraph", "-e", "print(torch.rand(3, 4))"),
        ("-e", "print(pcall(error, 'caught'))"),
        ("-e", "assert(not pcall(require, 'cutorch'))"),
        ("--cpu-as-cuda", "-l", "cunn", "-e", "nn.Linear(3, 2):cuda():forward(torch.CudaTensor{1, 2, 3})"),
    ],
)
def test_pytorch_is_not_loaded_for_what_needs_no_kernel(words: tuple[str, ...]) -> None:
    assert loaded(*words) == []


MODULES = """
import sys
from lua_compat.kernels import system  # what it needs is there
before = set(sys.modules)
from lua_compat.cli.th import main
assert main(sys.argv[1:]) == 0
slow = {"dataclasses", "inspect", "pathlib", "prompt_toolkit", "typing", "lua_compat.runtime.threads"}
print(*slow & (set(sys.modules) - before))
"""


def test_slow_modules_of_python_are_not_loaded() -> None:
    code = "require 'nn' nn.Linear(50, 50):forward(torch.rand(50))"
    assert run_python("-c", MODULES, "-e", code).stdout == "\n"


OWN_FILES = """
require 'nn'
package.path = ''
local convolution, x = nn.SpatialConvolution(2, 3, 3, 3), torch.rand(2, 5, 5)
convolution:backward(x, convolution:forward(x))
assert(jit.status())
assert(not pcall(require, 'cutorch') and jit.status())
jit.off()
pcall(require, 'optim')
assert(not jit.status())
"""


def test_our_files_are_found_beside_a_script_with_files_of_the_same_names(tmp_path: Path) -> None:
    """What the script has set is what it finds afterwards: LuaJIT is off only while they load."""
    for name in ("torch/core/memory", "torch/io/print", "nn/utils", "nn/linear/init"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"{name}.lua").write_text("error('a file of the script')")
    (tmp_path / "script.lua").write_text(OWN_FILES)
    result = run_th("script.lua", cwd=tmp_path)
    assert result.returncode == 0, result.stderr


HDF5 = """
require 'hdf5'
local name = os.tmpname()
local file = hdf5.open(name, 'w')
local data = { x = torch.range(1, 6):view(2, 3), labels = { torch.LongTensor{ 7, 8 } } }
data.part = torch.FloatTensor(4, 3):fill(2):t()
file:write('/', data)
file:close()
file = hdf5.open(name, 'r')
assert(file:read('/x'):all():equal(data.x) and file:read('labels/1'):all():equal(data.labels[1]))
assert(file:read('x'):partial({ 2, 2 }, { 1, 2 }):equal(data.x[{ { 2, 2 }, { 1, 2 } }]))
assert(file:read('part'):all():equal(data.part))
os.remove(name)
"""


def test_pytorch_is_not_loaded_for_hdf5_files() -> None:
    pytest.importorskip("h5py")
    assert "torch" not in loaded("-e", HDF5)


@pytest.mark.skipif(built_for_gpus(), reason="a PyTorch with CUDA is asked for the version of its cuDNN")
def test_pytorch_is_not_loaded_to_learn_that_it_has_no_cudnn() -> None:
    assert loaded("--cpu-as-cuda", "-l", "cudnn", "-e", "print(cutorch.getRuntimeVersion())") == []


SMALL = """
require 'nn'
require 'optim'
torch.manualSeed(1)
local net = nn.Sequential():add(nn.Linear(4, 8)):add(nn.ReLU()):add(nn.Linear(8, 2))
local criterion = nn.MSECriterion()
local x, y = torch.randn(5, 4), torch.rand(5, 2):mul(3):add(1)
for i = 1, 3 do
    net:zeroGradParameters()
    criterion:forward(net:forward(x), y)
    net:backward(x, criterion:backward(net.output, y))
    for k, parameter in ipairs((net:parameters())) do
        optim.sgd(function() return 0, select(2, net:parameters())[k] end, parameter, { learningRate = 0.1 })
    end
end
assert(torch.sum(x:t() * y) == torch.sum(x:t() * y) and x:narrow(1, 2, 2):clone():norm() > 0)
local parameters, gradients = net:getParameters()
for _, name in ipairs{ 'sgd', 'adam', 'rmsprop', 'adagrad' } do
    local function loss() return parameters:norm(), gradients:clamp(-5, 5) end
    optim[name](loss, parameters, { learningRate = 0.1 })
end
local big = torch.zeros(100, 300):resize(200, 300)
local bytes = big:narrow(1, 1, 2):fill(7):int():add(3):gt(9)
assert(bytes:sum() == 600 and torch.eye(3):equal(torch.eye(3)))
assert(torch.range(1, 9):float():long():max() == 9)
assert(torch.sigmoid(parameters:narrow(1, 1, 50)):tanh():max() < 1)
print(torch.randperm(5), torch.multinomial(torch.Tensor{1, 2, 3}, 2), tostring(x))
"""


SELECTED = """
local x, images = torch.randn(10, 72):float(), torch.randn(50, 60, 8)
local columns = x:narrow(2, 4, 36)
columns:mm(torch.randn(10, 6):float(), torch.randn(6, 36):float())
local places = torch.LongTensor(36, 10):random(36):t()
assert(columns:gather(2, places):size(2) == 36 and not pcall(columns.gather, columns, 2, places + 36))
columns:scatter(2, places, 1)
assert(images:gather(2, torch.LongTensor(50, 1, 8):fill(60)):equal(images:narrow(2, 60, 1)))
assert(images:index(2, torch.LongTensor{ 60 }):equal(images:narrow(2, 60, 1)))
assert(not pcall(images.index, images, 2, torch.LongTensor{ 61 }))
local mask = torch.ByteTensor(72, 10):bernoulli():t()
x:maskedCopy(mask, x:clone())
assert(x:maskedSelect(mask):size(1) == mask:sum() and images:max() > images:min())
"""

BATCHES = """
-- matrices of 1,200 bytes, from an address that is no multiple of 16 on
local words = torch.FloatTensor(4801):uniform():narrow(1, 2, 4800):view(16, 6, 50)
local weights = torch.bmm(words, torch.FloatTensor(16, 50, 1):uniform())
local sums = torch.bmm(weights:transpose(2, 3), words)
weights:baddbmm(words, sums:transpose(2, 3))
assert(torch.bmm(words:transpose(2, 3), weights):size(2) == 50)
"""


LAYERS = """
require 'nn'
local function run(layer, ...)
    for _, T in ipairs{ 'torch.DoubleTensor', 'torch.FloatTensor' } do
        local input = torch.rand(...):add(0.1):type(T)
        layer:type(T)
        layer:backward(input, layer:forward(input))
    end
end
run(nn.SpatialAveragePooling(5, 5), 2, 3, 9, 9)
run(nn.SpatialAveragePooling(3, 3, 2, 2):ceil(), 2, 3, 6, 6)
run(nn.VolumetricAveragePooling(2, 3, 2, 1, 2, 1), 2, 2, 4, 5, 6)
run(nn.SpatialCrossMapLRN(3), 2, 5, 4, 4)
run(nn.VolumetricReplicationPadding(1, 2, 0, 1, 1, 1), 2, 2, 3, 4, 5)
run(nn.Power(2.5), 4, 8)
local x, y = torch.rand(4, 8), torch.rand(4, 8)
assert(x:norm(3) > 0 and x:dist(y, 2.5) > 0 and x:norm(3, 2):size(2) == 1 and x:renorm(2, 1, 9):size(2) == 8)
local pair = nn.PairwiseDistance(3)
pair:backward({ x, y }, pair:forward{ x, y })
"""


FUNCTIONS = """
require 'nn'
local x, y = torch.rand(20, 100), torch.rand(20, 100):gt(0.5):double():mul(2):add(-1)
for _, name in ipairs{ 'MarginCriterion', 'SoftMarginCriterion', 'HingeEmbeddingCriterion' } do
    local criterion = nn[name]()
    assert(criterion:forward(x, y) > 0 and criterion:backward(x, y):size(2) == 100)
end
torch.histc(x:narrow(1, 1, 3):clone())
assert(nn.Linear(2000, 600):float():getParameters():size(1) == 1200600)
assert(torch.rand(50, 20):index(1, torch.LongTensor(5000):random(50)):size(1) == 5000)
for _, name in ipairs{ 'exp', 'log', 'sin', 'tanh', 'sigmoid' } do torch[name](torch.rand(3, 40, 40)) end
assert(not io.open('/proc/self/maps'):read('*a'):find('libtorch'), 'the library is not worth loading')
"""


@pytest.mark.parametrize("script", [SMALL, SELECTED, BATCHES, LAYERS, FUNCTIONS])
def test_a_script_of_small_tensors_never_loads_pytorch(script: str) -> None:
    assert loaded("-e", script) == []


MANY = """
require 'nn'
torch.manualSeed(3)
local x = torch.randn(8, 8, 24, 24) -- 36,864 elements
local layers = { nn.ReLU(), nn.Threshold(0.1, 2), nn.LeakyReLU(0.2), nn.Tanh(), nn.Sigmoid(), nn.ELU(),
   nn.LogSigmoid(), nn.SpatialMaxPooling(2, 2), nn.SpatialMaxPooling(3, 3, 1, 1),
   nn.SpatialAveragePooling(2, 2, 2, 2),
   nn.SpatialAveragePooling(3, 3, 1, 1, 1, 1), nn.SpatialBatchNormalization(8), nn.SpatialSoftMax(),
   nn.SpatialUpSamplingNearest(2), nn.SpatialSubSampling(8, 2, 2, 2, 2) }
local losses = { nn.MSECriterion(), nn.AbsCriterion(), nn.SmoothL1Criterion(), nn.DistKLDivCriterion(),
   nn.SoftMarginCriterion() }
for k, layer in ipairs(layers) do
   local out = layer:forward(x)
   print(out:sum(), out:norm(), out:view(-1)[1000], layer:backward(x, out):norm())
   local loss, target = losses[k % 5 + 1], out:clone():mul(0.9):add(0.2)
   print(loss:forward(out, target), loss:backward(out, target):norm())
end
"""


FLAT = """
require 'nn'
torch.manualSeed(4)
for _, row in ipairs{
   { nn.WeightedEuclidean(4, 3), torch.rand(5, 4) }, { nn.Euclidean(4, 3), torch.rand(5, 4) },
   { nn.TemporalRowConvolution(4, 2), torch.rand(2, 6, 4) },
   { nn.SpatialSubSampling(3, 2, 2), torch.rand(2, 3, 6, 6) }, { nn.PixelShuffle(2), torch.rand(2, 8, 3, 4) },
} do
   local layer, x = unpack(row)
   local w, dw = layer:getParameters()
   if dw:nElement() > 0 then dw:zero() end
   local gradient = layer:backward(x, layer:forward(x))
   print(layer.output:norm(), gradient:norm(), dw:sum(), layer.output:view(-1)[7])
end
"""


def numbers(text: str) -> list[float]:
    return [float(word) for word in text.split()]


@pytest.mark.parametrize(("script", "count"), [(MANY, 15 * 6), (FLAT, 5 * 4)])
def test_layers_of_many_elements_or_parts_of_a_vector_do_not_load_pytorch(script: str, count: int) -> None:
    """Until the work is as much as loading it; what is computed is what PyTorch computes."""
    assert loaded("-e", script) == []
    alone, by_pytorch = (run_th("-e", script, *way).stdout for way in ((), ("--way", "pytorch")))
    assert len(numbers(alone)) == count
    assert numbers(alone) == pytest.approx(numbers(by_pytorch), rel=1e-9, abs=1e-9)


THREADS = """
local library = require 'torch.core.library'
local has_blas = library.routine('MKL_Set_Num_Threads_Local', 'int %s(int n)')
torch.setnumthreads(1)
local a = torch.ones(30, 40)
for n = 1, has_blas and 3 or 0 do
    assert((a * a:t()):max() == 40)
    torch.setnumthreads(n)
end
"""


def test_products_with_a_number_of_threads_do_not_load_pytorch() -> None:
    assert loaded("-e", THREADS) == []


JOBS = """
torch.setnumthreads(1)
local pool = require('threads').Threads(2, function() assert(torch.getnumthreads() == 1) end)
local x, sum, empty = torch.range(1, 30000), 0, torch.Tensor()
for k = 1, 4 do
    pool:addjob(function() return x * k, empty end, function(y, z) sum = sum + y[2] + z:nElement() end)
end
pool:synchronize()
assert(sum == 2 * (1 + 2 + 3 + 4))
pool:addjob(function() error('a fault') end)
assert(select(2, pcall(pool.synchronize, pool)):find 'a fault')
pool:terminate()
"""


SHARING = """
local threads = require 'threads'
threads.Threads.serialization 'threads.sharedserialize'
local small, large, pointed = torch.zeros(3), torch.zeros(100000), torch.zeros(3)
local part, address = large:narrow(1, 2, 50000), pointed:data()
local pool = threads.Threads(2)
for _ = 1, 4 do
   pool:addjob(function()
      for _, t in ipairs{ small, large, pointed, part } do t:add(1) end
      return part, ('long'):rep(100000)
   end, function(t, text) assert(t[1] == part[1] and #text == 400000) end)
end
pool:synchronize()
assert(small[3] == 4 and large[1] == 4 and large[2] == 8 and pointed[1] == 4 and address[0] == 4)
%s
local ok, problem = pcall(torch.sort, small, torch.LongTensor(), torch.range(9, 1, -1))
assert(not ok and problem:find 'not resizable' and small:sum() == 12)
pool:addjob(function() torch.sort(small, torch.LongTensor(), torch.Tensor{ 3, 1, 2 }) end)
pool:terminate()
assert(small[1] == 1 and small[2] == 2 and small[3] == 3)
"""


@pytest.mark.parametrize("code", [JOBS, SHARING % ""])
def test_threads_and_what_is_sent_to_them_do_not_load_pytorch(code: str) -> None:
    assert loaded("-e", code) == []


def test_memory_shared_before_pytorch_was_loaded_stays_shared() -> None:
    assert loaded("-e", SHARING % "torch.eig(torch.eye(3))") == ["torch", "numpy"]


BOUND = """
local library = require 'torch.core.library'
local x, steps = torch.FloatTensor(100000):fill(0), 0
while library.saves_pytorch(2 ^ 20) do steps = steps + 2 ^ 20 end
assert(steps > 2 ^ 29 - 2 ^ 21, steps)
local function add(times) for _ = 1, times do x:add(1) end end
add(%d)
assert(x[1] == %d and x:size(1) == 100000)
"""


BOUND_OF_THREADS = """
local pool, steps = require('threads').Threads(2), {}
pool:specific(true)
for id = 1, 2 do
    pool:addjob(id, function()
        local library, steps = require 'torch.core.library', 0
        while library.saves_pytorch(2 ^ 20) do steps = steps + 2 ^ 20 end
        return steps
    end, function(done) steps[id] = done end)
    pool:synchronize()
end
assert(steps[1] == 2 ^ 29 and steps[2] == 0, steps[1] + steps[2])
"""


def test_threads_have_one_bound_of_work_instead_of_pytorchs() -> None:
    assert loaded("-e", BOUND_OF_THREADS) == []


def test_work_instead_of_pytorchs_has_a_bound() -> None:
    assert loaded("-e", BOUND % (1, 1)) == []  # in what is left of the bound
    assert loaded("-e", BOUND % (20, 20)) == ["torch", "numpy"]


def test_a_kernel_loads_pytorch() -> None:
    assert loaded("-e", "print(torch.eig(torch.eye(3)))") == ["torch", "numpy"]


THREAD = "require('threads').Threads(1, function() return torch.eig(torch.eye(3)) end):terminate()"


@pytest.mark.parametrize("code", ["torch.eig(torch.eye(3))", THREAD])
def test_pythons_collector_does_not_look_at_pytorch(code: str) -> None:
    program = """
import atexit, gc, sys
from lua_compat.cli.th import main
looked = []
# Before PyTorch some ten thousand objects are frozen, with it a quarter of a million.
looks = lambda *_: looked.append("torch" in sys.modules and gc.get_freeze_count() < 100_000)
gc.callbacks.append(looks)
atexit.register(lambda: print("torch" in sys.modules, any(looked), gc.isenabled()))
main()
"""
    result = run_python("-c", program, "-e", code)
    assert result.stdout == "True False True\n", result.stderr


def test_gradients_that_autograd_computes_do_not_load_sympy() -> None:
    code = """
        require 'nn'
        local layer, x = nn.SpatialConvolutionLocal(8, 8, 32, 32, 3, 3), torch.rand(8, 32, 32)
        print(#layer:backward(x, layer:forward(x)))
    """
    assert loaded("-e", code) == ["torch", "numpy"]


def test_gradients_are_off_from_when_pytorch_is_loaded() -> None:
    program = """
import sys
from lua_compat.runtime.state import Runtime
runtime = Runtime()
runtime.run_string("a = torch.eig(torch.eye(3))")
import torch
held = [t for t in runtime.handles.tensors if t is not None]
print(torch.is_inference_mode_enabled(), any(t.requires_grad for t in held))
runtime.run_string("b = torch.eig(torch.eye(3))")
"""
    assert run_python("-c", program).stdout == "False False\n"


def test_the_number_of_threads_is_kept_for_pytorch() -> None:
    program = """
import sys
from lua_compat.runtime.state import Runtime
runtime = Runtime()
runtime.run_string("torch.setnumthreads(1)")
assert "torch" not in sys.modules
runtime.run_string("torch.eig(torch.eye(3))")
import torch
print(torch.get_num_threads())
"""
    assert run_python("-c", program).stdout == "1\n"
