"""The account of tensors' memory: what Lua counts is what Python holds, and what is dead is bounded."""

import pytest

from lua_compat.runtime.bridge import Handles
from lua_compat.runtime.state import Runtime
from tests.helpers.commands import run_th

# step() makes memory in one of many ways, drops what was made ten steps ago, and looks at the account.
STEPS = """
    require 'nn'
    local draw, collection = torch.random, require('torch.core.collection')
    torch.manualSeed(5)
    local types = { 'Float', 'Double', 'Byte', 'Int' }
    local function new(count) return torch[types[draw(1, 4)] .. 'Tensor'](count or draw(100000, 500000)) end
    local layer = nn.SpatialMaxPooling(2, 2)
    local ways = {
        function() return new() end,
        function() return new():fill(1):clone() end,
        function() return new():double() end,
        function() return (new():float():fill(2) + 1) * 2 end,
        function() return new(draw(1, 8000)) end,
        function() return new(10):resize(draw(100000, 500000)) end,
        function() local t = new() t:resize(2 * t:nElement()) return t end,
        function() local t = new() t:storage():resize(t:nElement() + 1000000) return t end,
        function() return new():narrow(1, 2, 1000) end,
        function() return new(300000):view(300, 1000):t():contiguous() end,
        function() local t = new() return t:set(new():type(t:type())) end,
        function() return new(300000):zero():repeatTensor(1, 3) end,
        function() return torch.cat(new(200000):double(), new(200000):double()) end,
        function() local file = torch.MemoryFile() file:writeObject(new()) return file:storage() end,
        function() return torch.deserializeFromStorage(torch.serializeToStorage(new())) end,
    }
    local with_pytorch = {
        function() return torch.cumsum(torch.zeros(200, draw(500, 2000)), 2) end,
        function() return torch.DoubleTensor(5):cumsum(torch.zeros(draw(100000, 500000)), 1) end,
        function() return (torch.sort(torch.zeros(1000, 200), 2)) end,
        function() return layer:clone():forward(torch.zeros(1, 500, draw(500, 2000))) end,
    }
    function use_pytorch()
        for _, way in ipairs(with_pytorch) do table.insert(ways, way) end
    end

    local kept, sizes, most = {}, {}, 0
    local function bytes_of(object)
        local storage = torch.isStorage(object) and object or object:storage()
        return storage:size() * storage:elementSize()
    end
    function step(number)
        local slot, alive = number % 10, 0
        kept[slot], sizes[slot] = nil, 0
        kept[slot] = ways[draw(1, #ways)]()
        sizes[slot] = bytes_of(kept[slot])
        for k = 0, 9 do alive = alive + (sizes[k] or 0) end
        most = math.max(most, alive)
        collection.make_room(0)
        local held, limit = collection.account()
        assert(held >= alive, 'what is alive is not counted')
        assert(held <= limit, 'more is held than may be')
        local in_step = 32 * 2 ^ 20
        assert(limit <= most + in_step + math.max(96 * 2 ^ 20, (most + in_step) / 2), 'the limit is too high')
    end
    function forget()
        kept, sizes, layer.output = {}, {}, torch.Tensor()
        collectgarbage()
    end
    function show()
        local held, _, in_blocks = collection.account()
        print(held - in_blocks)
    end
"""


def _bytes_of(handles: Handles) -> int:
    """The memory of PyTorch's that tensors with handles are on; Lua's blocks cannot be resized."""
    storages = [tensor.untyped_storage() for tensor in handles.tensors if tensor is not None]
    return sum({s.data_ptr(): s.nbytes() for s in storages if s.resizable()}.values())


def test_what_is_counted_is_what_python_holds(capfd: pytest.CaptureFixture[str]) -> None:
    runtime = Runtime()
    runtime.run_string(STEPS + "use_pytorch()")
    for start in range(0, 240, 20):
        runtime.run_string(f"for number = {start}, {start + 19} do step(number) end show()")
        assert int(capfd.readouterr().out) == _bytes_of(runtime.handles) > 0
    runtime.run_string("forget() show()")
    assert int(capfd.readouterr().out) == _bytes_of(runtime.handles) < 1 << 20


def test_pieces_are_counted_until_pytorch_is_loaded_and_after() -> None:
    code = """
        for number = 1, 150 do step(number) end
        assert(not require('th.python').pytorch)
        use_pytorch()
        for number = 1, 150 do step(number) end
        assert(require('th.python').pytorch)
        forget() show()
    """
    result = run_th("-e", STEPS + code, fresh=True)
    assert result.returncode == 0, result.stderr
    assert int(result.stdout) < 1 << 20


def test_memory_that_comes_again_and_again_is_counted_once() -> None:
    """A job that gets the same large tensor each time, or returns it, costs no cycle; what is dead is still
    given back."""
    code = """
        require 'threads'
        local shared = require 'threads.sharedserialize'
        local big = torch.DoubleTensor(2 ^ 20):zero()
        local function send() return shared.load(shared.save(shared.load(shared.save(big)))) end -- and back
        collectgarbage()
        local held, cycles = collection.account(), collection.cycle()
        for number = 1, 40 do
            local got = send()
            got[1] = number
            assert(big[1] == number and got:size(1) == 2 ^ 20)
        end
        assert(collection.cycle() <= cycles + 2, collection.cycle() - cycles)
        assert(collection.account() < held + 8 * 2 ^ 20) -- as much as one
        local got = send()
        big = nil
        collectgarbage()
        assert(got[1] == 40 and collection.account() >= held)
        got = nil
        collectgarbage()
        assert(collection.account() < held)
    """
    result = run_th("-e", "local collection = require 'torch.core.collection'\n" + code, fresh=True)
    assert result.returncode == 0, result.stderr


def test_what_goes_with_an_object_goes_when_it_does() -> None:
    """In the collection that finds the object dead, and not in the next one."""
    code = """
        require 'nn' local tds = require 'tds'
        local image = torch.rand(3, 32, 32)
        local makers = {
            function()
                local layer = nn.SpatialConvolutionMM(3, 8, 5, 5)
                layer:backward(image, layer:forward(image))
                return layer
            end,
            function()
                local file = torch.MemoryFile()
                torch.setenv(file, { file, ('x'):rep(2 ^ 20) })
                return file
            end,
            function()
                local hash = tds.Hash()
                hash[1], hash[2] = hash, ('x'):rep(2 ^ 20)
                return hash
            end,
        }
        for _, make in ipairs(makers) do
            make()
            collectgarbage() collectgarbage()
            local object = make()
            collectgarbage() collectgarbage()
            local before = collectgarbage 'count'
            object = nil
            collectgarbage()
            assert(before - collectgarbage 'count' > 400, before - collectgarbage 'count')
        end
    """
    assert Runtime().run_string(code) == 0
