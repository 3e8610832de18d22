"""cutorch: without CUDA, and with the CPU in its place: types, files, devices, streams."""

from pathlib import Path

import numpy as np
import pytest
import torch

from lua_compat import t7
from lua_compat.cli import th
from lua_compat.runtime import functions
from lua_compat.runtime.cuda import Cuda
from lua_compat.runtime.cuda_presence import ANY_DEVICE
from lua_compat.runtime.state import Runtime
from tests.helpers.commands import run_th
from tests.lua_compat.runtime.cuda.checks import close, printed


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
    there = torch.cuda.is_available()
    count, name = (
        (torch.cuda.device_count(), torch.cuda.get_device_name(0)) if there else (1, "CPU (as CUDA)")
    )
    assert printed(runtime, capfd, code).splitlines() == [
        f"{count}\t1\ttrue",
        f"{name}\ta\tb",
        "2\t2",
        f"false\tcuda runtime error: device 0 is not one of 1 to {count}",
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


def test_a_device_that_is_not_there_may_be_another_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[int] = []
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "set_device", used.append)
    monkeypatch.setattr(torch.cuda, "set_stream", lambda stream: None)
    monkeypatch.setattr(torch.cuda, "default_stream", lambda device: None)
    with pytest.raises(RuntimeError, match=r"device 8 is not one of 1 to 1; .*th --gpus 8=1 \(or --gpu 1"):
        Cuda("cuda").set_device(8)
    for gpus in ({8: 1}, {ANY_DEVICE: 1}):
        cuda = Cuda("cuda", gpus=gpus)
        cuda.set_device(8)
        assert cuda.functions()["get_device"]() == 8 and cuda.name_of(1) == 8
    assert used == [0, 0]
    with pytest.raises(RuntimeError, match="device 7 is not"):
        Cuda("cuda", gpus={8: 1}).set_device(7)


def test_devices_keep_the_script_s_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a function returns as a device may be given to another one."""
    used: list[int] = []
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    monkeypatch.setattr(torch.cuda, "set_device", used.append)
    monkeypatch.setattr(torch.cuda, "set_stream", lambda stream: None)
    monkeypatch.setattr(torch.cuda, "default_stream", lambda device: device)
    monkeypatch.setattr(torch.cuda, "synchronize", used.append)
    cuda = Cuda("cuda", gpus={1: 2, 2: 1})
    cuda.start()
    assert used == [1] and cuda.functions()["get_device"]() == 1
    assert [cuda.name_of(gpu) for gpu in (1, 2, 3)] == [2, 1, 3]
    for device, gpu in ((2, 0), (1, 1), (3, 2)):
        cuda.set_device(device)
        assert used.pop() == gpu
        cuda.set_device(cuda.functions()["get_device"]())
        cuda.set_device(cuda.name_of(gpu + 1))
        cuda.synchronize()
        assert used[-3:] == [gpu] * 3 and cuda._stream_of(0) == gpu


@pytest.mark.parametrize(
    ("gpus", "used"),
    [({}, []), ({8: 1}, []), ({1: 2}, [1]), ({ANY_DEVICE: 2}, [1]), ({ANY_DEVICE: 2, 1: 1}, [])],
)
def test_a_script_that_chooses_no_device_runs_where_device_1_is(
    gpus: dict[int, int], used: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[int] = []
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", found.append)
    monkeypatch.setattr(torch.cuda, "set_stream", lambda stream: None)
    monkeypatch.setattr(torch.cuda, "default_stream", lambda device: device)
    Cuda("cuda", gpus=gpus).start()
    assert found == used


def test_running_out_of_memory_gives_cutorch_s_message() -> None:
    for told in ("CUDA out of memory. Tried to allocate 2 GiB.", "CUDA error: out of memory"):
        text = functions._text(torch.OutOfMemoryError(told))
        assert text.startswith("cuda runtime error (2) : out of memory") and ("2 GiB" in told) == (
            "2 GiB" in text
        )


@pytest.mark.parametrize(
    ("words", "gpus"),
    [
        (["--gpus", "8=1,7=2"], {8: 1, 7: 2}),
        (["--gpus=8=1"], {8: 1}),
        (["--gpu", "2"], {ANY_DEVICE: 2}),
        (["--gpu=2", "--gpus", "1=1"], {ANY_DEVICE: 2, 1: 1}),
    ],
)
def test_gpus_on_the_command_line(words: list[str], gpus: dict[int, int]) -> None:
    assert th.parse([*words, "-e", "x"]).gpus == gpus


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--gpus", "8"], "--gpus needs devices and GPUs, both from 1, such as 8=1,7=2, not '8'"),
        (["--gpus", "0=1"], "not '0=1'"),
        (["--gpus="], "not ''"),
        (["--gpu", "0"], "--gpu needs a GPU's number, from 1, not '0'"),
        (["--gpu", "1", "--cpu-as-cuda"], "omit --gpus"),
    ],
)
def test_gpus_that_cannot_be_understood(words: list[str], problem: str) -> None:
    with pytest.raises(th.UsageError, match=problem):
        th.parse([*words, "-e", "x"])


def test_a_pointer_to_a_gpu_s_memory_is_only_compared(
    runtime: Runtime, capfd: pytest.CaptureFixture[str]
) -> None:
    said = printed(
        runtime,
        capfd,
        """
        local t = torch.CudaTensor{ 1, 2 }
        print(pcall(function() return torch.data(t)[0] end))
        print(pcall(function() t:storage():data()[0] = 1 end))
        print(t:data() == t:data(), t:data() == t:narrow(1, 2, 1):data(), t:data() ~= nil)
        print(torch.data(t:narrow(1, 2, 1), true) - torch.data(t, true))
        print(tostring(t:data()):match('^cdata<float %*>') ~= nil, t[1], torch.CudaTensor():data() == nil)
        """,
    )
    read, written, *others = said.splitlines()
    for line in (read, written):
        assert line.startswith("false") and "use t[i], or copy them with t:float()" in line
    assert others == ["true\tfalse\ttrue", "4LL", "true\t1\ttrue"]


def test_a_number_of_the_host_is_taken_by_the_device(runtime: Runtime) -> None:
    runtime.run_string("""
        local found = torch.remainder(torch.CudaTensor{ 1, -2, 7 }, 0.75)
        assert(found:float():equal(torch.FloatTensor{ 0.25, 0.25, 0.25 }))
        local of_zero = torch.remainder(torch.CudaTensor{ 1, 0, -math.huge }, 0)
        for _, x in ipairs(of_zero:totable()) do assert(x ~= x) end
    """)


def test_thnns_functions_take_tensors_of_the_device(runtime: Runtime) -> None:
    runtime.run_string(
        """
        require 'cunn'
        local x, weight = torch.randn(2, 3, 5, 5):cuda(), torch.randn(4, 27):cuda()
        local bias = torch.randn(4):cuda()
        local output, a, b = torch.CudaTensor(), torch.CudaTensor(), torch.CudaTensor()
        x.THNN.SpatialConvolutionMM_updateOutput(x:cdata(), output:cdata(), weight:cdata(), bias:cdata(),
           a:cdata(), b:cdata(), 3, 3, 1, 1, 0, 0)
        local module = nn.SpatialConvolutionMM(3, 4, 3, 3):cuda()
        module.weight:copy(weight)
        module.bias:copy(bias)
        assert((module:forward(x) - output):abs():max() == 0 and output:dim() == 4)
        """
    )


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


def test_managed_memory_is_of_both_types_on_the_cpu() -> None:
    """cutorch's UVA tensors: what one writes the other has, whichever goes first."""
    code = """
        require 'cutorch'
        local host = cutorch.createFloatUVATensor(2, 3)
        local device = cutorch.toCudaUVATensor(host)
        host:fill(2)
        device:add(1)
        assert(host:sum() == 18 and torch.type(device) == 'torch.CudaTensor' and host:nDimension() == 1)
        assert(cutorch.isManaged(host) and cutorch.isManaged(device:storage()))
        assert(cutorch.isManagedPtr(tonumber(torch.data(host, true))) and not cutorch.isManagedPtr(12))
        assert(not cutorch.isManaged(torch.FloatTensor(2)))
        host = nil
        collectgarbage() collectgarbage()
        assert(device:sum() == 18)
        local large = cutorch.createCudaUVATensor(100000)
        cutorch.toFloatUVATensor(large):fill(1)
        assert(large:sum() == 100000)
        assert(not pcall(cutorch.toCudaUVATensor, torch.FloatTensor(3)))
        assert(not pcall(function() large:storage():resize(200000) end))
        assert(torch.FloatStorage(cutorch.CudaHostAllocator, 3):size() == 3)
    """
    assert Runtime(cpu_as_cuda=True, notes=False).run_string(code) == 0


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
