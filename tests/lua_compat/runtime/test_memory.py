"""The memory of tensors in Lua: bounded, released, never used after it was freed."""

import os
import sys
from pathlib import Path

import pytest

from lua_compat.kernels.heap import MOST_KEPT
from lua_compat.runtime.slabs import MOST_SPARE
from lua_compat.runtime.state import Runtime
from tests.helpers.commands import RESIDENT, run_th


def _growth_mb(body: str, *, fresh: bool = False) -> float:
    """Runs Lua code in a process of its own; by how many MB its resident memory grew, at its largest."""
    code = f"""{RESIDENT}
        local start, most = resident_mb(), 0
        local function note() most = math.max(most, resident_mb() - start) end
        {body}
        note() print(most)
    """
    result = run_th("-e", code, fresh=fresh)
    assert result.returncode == 0, result.stderr
    return float(result.stdout)


SMALL = """
    local a, b = torch.ones(3, 4), torch.ones(3, 4)
    for i = 1, {count} do
        local c = a + b
        local row = c[2]
        if i % 10000 == 0 then note() end
    end
"""
LARGE = """
    for i = 1, {count} do
        local t = torch.FloatTensor(512, 512):fill(i)
        if i % 1000 == 0 then note() end
    end
"""


def test_small_temporaries_stay_bounded() -> None:
    assert _growth_mb(SMALL.format(count=100_000)) < 150


def test_large_temporaries_stay_bounded() -> None:
    assert _growth_mb(LARGE.format(count=2_000)) < 300


# What a round of a loop makes: 4 MB, or more.
ROUNDS = """
    copies = function() local u = t:clone() end,
    expressions = function() local u = (t + 1) * 2 end,
    other_types = function() local u = t:double() end,
    several_results = function() local u, places = torch.sort(t:narrow(1, 1, 2 ^ 16):view(1024, 64), 2) end,
    what_is_read = function() local u = torch.deserializeFromStorage(bytes) end,
    files_left_open = function()
        local file = torch.MemoryFile():binary()
        file:writeObject(t)
    end,
    files_that_hold_themselves = function()
        local file = torch.MemoryFile():binary()
        file:writeObject(t)
        torch.setenv(file, { file, t:clone() })
    end,
    hashes_that_hold_themselves = function()
        local hash = tds.Hash()
        hash.itself, hash.tensor = hash, t:clone()
    end,
    coroutines = function()
        coroutine.wrap(function() local u = t:clone() coroutine.yield() end)()
    end,
    sizes = function() local u = torch.FloatTensor(torch.random(2 ^ 17, 2 ^ 21)):fill(1) end,
"""
WITH_PYTORCH = """
    results_of_kernels = function() local u = torch.cumsum(t, 1) end,
    nets = function() local u = net:clone() end,
    results_of_layers = function() local u = nn.SpatialMaxPooling(2, 2):float():forward(image) end,
"""


@pytest.mark.parametrize("more", ["", WITH_PYTORCH], ids=["without PyTorch", "with PyTorch"])
def test_no_loop_makes_the_peak_grow_round_after_round(more: str) -> None:
    """What is dead is at most 96 MB, in each of the loops and in all of them together. Up to 128 MB of spare
    pieces and 64 MB of Lua's own are kept besides; the loops make 3 GB."""
    code = f"""
        require 'nn' local tds = require 'tds'
        {"torch.eig(torch.eye(3))" if more else ""}
        local t = torch.FloatTensor(2 ^ 20):fill(1)
        local image, bytes = t:view(1, 2, 2 ^ 9, 2 ^ 10), torch.serializeToStorage(t)
        local net = nn.Sequential():add(nn.Linear(700, 700)):add(nn.Linear(700, 700)):float()
        net:getParameters()
        start = resident_mb()
        local rounds = {{ {ROUNDS} {more} }}
        for name, round in pairs(rounds) do
            for i = 1, 60 do round() note() end
            assert(most < 400, name)
        end
    """
    assert _growth_mb(code, fresh=True) < 400


@pytest.mark.slow
@pytest.mark.parametrize(("body", "count"), [(SMALL, 1_000_000), (LARGE, 100_000)])
def test_a_great_many_temporaries_stay_bounded(body: str, count: int) -> None:
    assert _growth_mb(body.format(count=count)) < 300


def _left_by_a_full_collection_mb(tmp_path: Path, first: str) -> float:
    """What stays of 576 MB that went, after code that runs first; what is still in use lies between them."""
    script = tmp_path / "script.lua"
    script.write_text(
        RESIDENT
        + first
        + """
        local start, kept, large = resident_mb(), {}, {}
        for i = 1, 24 do
            large[i] = torch.FloatTensor(6 * 2 ^ 20):fill(i)
            kept[i] = torch.FloatTensor(10000):fill(i)
        end
        assert(resident_mb() - start > 500)
        large = nil
        collectgarbage()
        print(resident_mb() - start, require('th.python').pytorch)
        """
    )
    result = run_th(script, fresh=True)  # which has not loaded PyTorch yet
    assert result.returncode == 0, result.stderr
    left, loaded = result.stdout.split()
    assert (loaded == "true") == ("torch.eig" in first)
    return float(left)


@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from /proc")
def test_a_full_collection_keeps_little_of_what_it_frees(tmp_path: Path) -> None:
    assert _left_by_a_full_collection_mb(tmp_path, "") < MOST_SPARE / 2**20 + 20


@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from /proc")
@pytest.mark.parametrize("holes", [0, 2, 24])
def test_what_pytorch_frees_in_a_full_collection_goes_back_to_the_system(tmp_path: Path, holes: int) -> None:
    """glibc keeps freed pieces below 32 MB. Small tensors that fit into holes do not separate large ones:
    then glibc itself returns some of the memory, and may keep less than what Lua has it return."""
    first = f"""
        torch.eig(torch.eye(3)) -- loads PyTorch
        local gone, between = {{}}, {{}}
        for i = 1, {holes} do
            gone[i] = torch.FloatTensor(10000):fill(i)
            between[i] = torch.FloatTensor(9000):fill(i)
        end
        gone = nil
        torch.FloatTensor(6 * 2 ^ 20):fill(1) -- the C library learns that pieces of 24 MB come and go
        collectgarbage()
    """
    assert _left_by_a_full_collection_mb(tmp_path, first) < MOST_KEPT / 2**20 + 20


def test_nothing_is_alive_after_a_full_collection() -> None:
    runtime = Runtime()
    before = runtime.collect()
    runtime.run_string(
        """
        local kept = {}
        for i = 1, 2000 do
            local t = torch.randn(4, 5)
            local u = torch.cat(t:t(), t:t(), 1)
            t[{{1, 2}, 3}] = u[{1, {1, 2}}]
            t:index(1, torch.LongTensor{1, 3}):maskedSelect(torch.gt(t:narrow(1, 1, 2), 0))
            torch.inverse(torch.mm(t:t(), t) + torch.eye(5))
            t:resize(7, 7):storage():resize(100)
            if i % 100 == 0 then kept[#kept + 1] = t end
            local generator = torch.Generator()
            torch.manualSeed(generator, i)
            assert(torch.random(generator) ~= torch.random(generator))
        end
        """
    )
    assert runtime.collect() == before


def test_collections_at_every_moment_do_no_harm() -> None:
    """Finalisers run in the middle of things: what is used stays alive."""
    code = """
        collectgarbage('setpause', 50) collectgarbage('setstepmul', 1000)
        local alive = {}
        for i = 1, 20000 do
            local slot = i % 64
            local old = alive[slot]
            if old then assert(old.tensor:sum() == old.sum, 'a live tensor changed') end
            local t = torch.DoubleTensor(slot + 1):fill(i)
            local view = slot > 1 and t:narrow(1, 1, 2) or t
            if i % 3 == 0 then t:resize(2 * slot + 3):fill(i) end
            alive[slot] = { tensor = t, sum = t:nElement() * i }
            if i % 5 == 0 then t, view = view:clone(), nil end
            if i % 7 == 0 then collectgarbage('step') end
        end
    """
    assert Runtime().run_string(code) == 0


def test_lua_collects_no_more_often_than_tensor_memory_needs_it(capfd: pytest.CaptureFixture[str]) -> None:
    """A cycle goes through all that is alive, here 200,000 tables, of 20 MB."""
    code = """
        local cycles, garbage = 0, {}
        local function arm()
            local object = newproxy(true)
            debug.getmetatable(object).__gc = function() cycles = cycles + 1 arm() end
        end
        local kept = {}
        for i = 1, 200000 do kept[i] = { i } end
        collectgarbage()
        arm()
        for i = 1, 8000 do
            torch.Tensor(2 ^ 13) -- together 512 MB, six times four times as much as Lua has
            for k = 1, 150 do garbage[k] = { i } end
        end
        print(cycles)
    """
    assert Runtime().run_string(code) == 0
    assert 3 <= int(capfd.readouterr().out) <= 8


def test_a_full_collection_finds_all_that_is_dead_wherever_lua_is_in_a_cycle() -> None:
    code = """
        local pauses, weak = { 0, 100, 400 }, setmetatable({}, { __mode = 'v' })
        for i = 1, 60 do
            local kept = {}
            for k = 1, 100 do kept[k] = { k } weak[k] = kept[k] end
            collectgarbage('setpause', pauses[i % #pauses + 1])
            for _ = 1, 20 * i do collectgarbage('step') end -- so much of a cycle is over
            kept = nil
            collectgarbage()
            assert(next(weak) == nil, i)
        end
    """
    assert Runtime().run_string(code) == 0


def test_a_collector_that_the_script_has_stopped_stays_so() -> None:
    code = f"""{RESIDENT}
        collectgarbage('stop')
        local start = resident_mb()
        for i = 1, 300 do torch.Tensor(2 ^ 18):fill(i) end -- 600 MB: full collections are needed
        local grown = resident_mb() - start
        print(collectgarbage('isrunning'), grown < 400)
        collectgarbage('restart')
        for i = 1, 300 do torch.Tensor(2 ^ 18):fill(i) end
        print(collectgarbage('isrunning'))
    """
    assert run_th("-e", code).stdout.split() == ["false", "true", "true"]


def test_small_storages_are_as_large_as_asked_for() -> None:
    """Their memory comes in a few sizes, and is used again."""
    code = """
        require 'nn'
        for count = 1, 200 do
            local t = torch.FloatTensor(count):fill(count)
            assert(t:storage():size() == count)
            local y = nn.Tanh():float():forward(t)
            assert(y:storage():size() == count)
            t:resize(count + 1)
            assert(t:storage():size() == count + 1 and t:narrow(1, 1, count):sum() == count * count)
            t = nil
            if count % 20 == 0 then collectgarbage() end
        end
    """
    assert Runtime().run_string(code) == 0


def test_views_follow_a_small_storage_that_grows() -> None:
    """In Lua, and in Python, which saw the storage elsewhere: on other blocks, and on memory of its own."""
    code = """
        require 'nn'
        for _, larger in ipairs{ 3, 40, 700, 9000, 60000 } do
            local t = torch.DoubleTensor(12):fill(1)
            local view, matrix = t:narrow(1, 2, 4), t:view(3, 4)
            local part = torch.DoubleStorage(t:storage(), 3, 2)
            assert(view:exp():mean() == math.exp(1) and matrix:tanh():size(1) == 3)
            local before = torch.DoubleTensor(12):copy(t)
            t:resize(12 + larger)
            t[2], t[4] = 7, 5
            assert(view[1] == 7 and matrix[1][2] == 7 and part[2] == 5 and matrix[3][4] == before[12])
            assert(torch.log(view):exp():narrow(1, 1, 1):add(-7):abs():max() < 1e-12)
            view:copy(torch.log(view:clone()))
            matrix:cosh()
            assert(math.abs(t[2] - math.cosh(math.log(7))) < 1e-12 and part[2] == t[4])
            -- a kernel resizes it
            local output = torch.DoubleTensor(2):fill(3)
            local beside = output:narrow(1, 1, 2)
            beside:sigmoid()
            local module = nn.Tanh()
            module.output = output
            module:forward(torch.DoubleTensor(larger):fill(1))
            assert(output:size(1) == larger and beside[1] == output[1])
            assert(torch.log(beside)[2] == math.log(output[2]))
        end
        collectgarbage()
    """
    assert Runtime().run_string(code) == 0


EVERY_PATTERN = """
    local ffi = require 'ffi'
    {mode}
    local floats, doubles = torch.FloatTensor(65536), torch.DoubleTensor(65536)
    local halves = torch.HalfTensor(65536)
    local f, d = ffi.cast('uint32_t*', floats:data()), ffi.cast('uint32_t*', doubles:data())
    local h = ffi.cast('uint16_t*', halves:data())
    for _, low in ipairs{{ 1, 0xffff }} do
        for i = 0, 65535 do
            f[i], h[i] = bit.bor(bit.lshift(i, 16), low), i
            d[2 * i], d[2 * i + 1] = low, bit.bor(bit.lshift(i, 16), low)
        end
        for _, t in ipairs{{ floats, doubles, halves }} do
            local read = 0
            for i = 1, 65536 do
                assert(type(t[i]) == 'number')
                if t[i] == t[i] then read = read + 1 end
            end
            assert(read > 60000)
        end
        for _, t in ipairs{{ floats, doubles }} do
            t:apply(function(x) assert(type(x) == 'number') end)
            t:map(t:clone(), function(x, y) assert(type(x) == 'number' and type(y) == 'number') end)
            for i = 1, 65536, 256 do
                local few = t:narrow(1, i, 64)
                assert(type(few:sum()) == 'number')
                few = few:clone()
                assert(type((few:add(1):mul(2):cmul(few) + few):sum()) == 'number')
            end
            local copy = torch.DoubleStorage(65536):copy(torch.FloatStorage(65536):copy(t:storage()))
            assert(#copy == 65536)
        end
    end
"""


@pytest.mark.parametrize("mode", ["jit.on()", "jit.off()"])
def test_whatever_lies_in_memory_is_read_as_a_number(mode: str) -> None:
    """Some NaNs are to LuaJIT what it marks strings and tables with."""
    assert Runtime().run_string(EVERY_PATTERN.format(mode=mode)) == 0


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="shared memory is elsewhere")
def test_a_shared_memory_object_goes_with_its_storage() -> None:
    name = f"storage_of_{os.getpid()}"
    runtime = Runtime()
    make = f"s = torch.FloatStorage('{name}', true, 10, true); t = torch.FloatTensor(s); s[3] = 7; s = nil"
    assert runtime.run_string(make) == 0
    runtime.collect()
    assert (Path("/dev/shm") / name).stat().st_size == 40
    assert runtime.run_string("assert(t[3] == 7); t = nil") == 0
    runtime.collect()
    assert not (Path("/dev/shm") / name).exists()


C_STRUCTURES = """
    local ffi = require 'ffi'
    local t = torch.range(1, 12):float():view(3, 4)
    local c = t:cdata()
    assert(ffi.istype('THFloatTensor *', c) and torch.cdata(t, true) == ffi.cast('intptr_t', c))
    assert(c.nDimension == 2 and c.size[1] == 4 and c.stride[0] == 4 and c.storageOffset == 0)
    local view = t:narrow(2, 2, 2):t():cdata()
    assert(view.size[0] == 2 and view.stride[0] == 1 and view.storageOffset == 1)
    assert(view.storage == c.storage and view.storage == t:storage():cdata())
    t:resize(500, 600):fill(7) -- elsewhere in memory, by then
    assert(c.size[0] == 500 and c.storage.size == 300000 and c.storage.data[299999] == 7)
    assert(ffi.cast('intptr_t', c.storage.data) == torch.data(t, true))
    torch.cumsum(t, torch.ones(2, 3):float(), 2) -- resized by a kernel
    assert(c.size[0] == 2 and c.size[1] == 3 and c.storage.data[2] == 3)
    t:set(torch.FloatTensor{5, 6})
    assert(c.nDimension == 1 and c.size[0] == 2 and c.storage.data[1] == 6)
    t:set()
    assert(c.nDimension == 0 and c.storage == nil)
    assert(torch.HalfTensor{1}:cdata().storage.data[0].x == 0x3c00)
"""


@pytest.mark.parametrize("mode", ["jit.on()", "jit.off()"])
def test_c_structures_follow_their_tensors(mode: str) -> None:
    assert Runtime().run_string(mode + C_STRUCTURES) == 0


def test_handles_live_until_the_kernel_that_they_are_for_has_run() -> None:
    """An argument that is copied first may allocate, and so release what is dead: not the other arguments."""
    code = """
        local x, wrong = torch.zeros(6, 40), 0
        for i = 1, 4000 do
            local g = torch.randn(2, 6, 3)
            local a, b = g:narrow(2, 1, 3), g:narrow(2, 4, 3)
            local joined = torch.cat({a, b}, 4)
            if joined[1][2][3][2] ~= b[1][2][3] then wrong = wrong + 1 end
            local h = torch.randn(40, 6)
            x[2] = h:select(2, 1)
            x[{{2, 5}, {}}] = h:narrow(2, 1, 4):contiguous():view(40, 4):t()
            x:sub(1, 2):addcmul(1, h:t():sub(1, 2), h:t():sub(2, 3))
            if x[4][7] ~= h[7][3] then wrong = wrong + 1 end
        end
        assert(wrong == 0, wrong .. ' wrong results')
    """
    assert Runtime().run_string(code) == 0


def test_a_result_that_does_not_fit_leaves_the_tensor_as_it_was(tmp_path: Path) -> None:
    # PyTorch changes a tensor's sizes before it knows whether the memory can grow: a mapped file cannot
    (tmp_path / "data").write_bytes(bytes(64))
    code = f"""
        local t = torch.DoubleTensor(torch.DoubleStorage('{tmp_path}/data', true, 8))
        local m = nn.SpatialMaxPooling(2, 2)
        m.output = t
        print(pcall(m.forward, m, torch.rand(1, 200, 200)))
        print(t:nElement(), t:fill(1):sum())
    """
    result = run_th("-lnn", "-e", code)
    assert result.returncode == 0, result.stderr
    refused, kept = result.stdout.splitlines()
    assert refused.startswith("false") and kept.split() == ["8", "8"]


def test_a_script_that_replaces_functions_of_math_changes_no_view() -> None:
    code = """
        local real = {}
        for name, f in pairs(math) do
            if type(f) == 'function' then real[name], math[name] = f, function() return 1e6 end end
        end
        local parts, range = torch.ones(9):split(4), torch.range(1, 4)
        local views = { torch.ones(4):unfold(1, 2, 1), torch.ones(3, 3):diag(), range, unpack(parts) }
        for name, f in pairs(real) do math[name] = f end
        for _, view in ipairs(views) do io.write(table.concat(view:size():totable(), 'x'), ' ') end
    """
    result = run_th("-e", code)
    assert (result.returncode, result.stdout.split()) == (0, ["3x2", "3", "4", "4", "4", "1"]), result.stderr


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="asks Linux for page faults, glibc for memory"
)
@pytest.mark.parametrize("begin", ["", "torch.eig(torch.eye(3))"], ids=["without PyTorch", "with PyTorch"])
def test_the_memory_of_dead_tensors_is_used_again(begin: str) -> None:
    """The system does not clear it page by page for each new tensor of 1.6 MB (400 pages)."""
    code = f"""
        local function faults() return tonumber(select(8, io.open('/proc/self/stat'):read('*l'):match(
            '%) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+)'))) end
        local t = torch.ones(4000, 50)
        {begin}
        local function make_and_forget(times)
            for _ = 1, times do
                local all = {{}}
                for i = 1, 50 do all[i] = t:clone() end
                all = nil
                collectgarbage()
            end
        end
        make_and_forget(3)
        local before = faults()
        make_and_forget(2)
        print((faults() - before) / 100)
    """
    result = run_th("-e", code, fresh=True)  # the process is its own
    assert result.returncode == 0, result.stderr
    assert float(result.stdout) < 40
