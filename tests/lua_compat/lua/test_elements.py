"""Operations element by element under our th: last bits, sizes of C's numbers, layouts."""

from pathlib import Path

import pytest

from lua_compat import run
from lua_compat.runtime.state import Runtime

HERE = Path(__file__).parent


def test_bits_and_layouts() -> None:
    assert run(HERE / "elements.lua", []) == 0


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_elements_that_lie_apart_in_many_dimensions(seed: int) -> None:
    """Four to six dimensions of which no two can be traversed as one, by LuaJIT alone."""
    code = (
        f"torch.manualSeed({seed}) math.randomseed({seed})"
        + """
        local random = math.random
        local function apart(sizes, kind)
           local x = torch.rand(unpack(sizes)):mul(20):type(kind)
           for d, n in ipairs(sizes) do x = x:narrow(d, random(1, 2), n - 1) end
           for d = 1, #sizes do
              local e = random(#sizes)
              if x:size(d) == x:size(e) then x = x:transpose(d, e) end
           end
           return x
        end
        for _ = 1, 60 do
           local sizes = {}
           for d = 1, random(4, 6) do sizes[d] = random(2, 3) end
           local kind = ({ 'torch.FloatTensor', 'torch.DoubleTensor', 'torch.IntTensor' })[random(3)]
           local x, y = apart(sizes, kind), apart(sizes, kind)
           if x:isSameSizeAs(y) then
              local a, b = torch.Tensor(x:size()):type(kind):copy(x), y:clone()
              assert(x:equal(a) and x:sum() == a:sum() and x:max() == a:max())
              assert(torch.add(x, y):equal(torch.add(a, b)) and torch.cmul(x, b):equal(torch.cmul(a, y)))
              y:copy(x)
              assert(y:equal(a))
              x:mul(2):add(1, b)
              assert(x:equal(a:mul(2):add(1, b)))
           end
        end
        """
    )
    assert Runtime(way="luajit").run_string(code) == 0


def test_shifts_of_64_bits_are_the_same_once_loops_are_compiled() -> None:
    """LuaJIT's compiled code left numbers as they were."""
    code = """
        local numbers, by = torch.LongTensor{ 2 ^ 40, -3 }, torch.LongTensor{ 2, 3 }
        local last
        for _ = 1, 200 do last = numbers:clone():lshift(3) assert(last[1] == 2 ^ 43 and last[2] == -24) end
        for _ = 1, 200 do last = numbers:clone():rshift(2) assert(last[1] == 2 ^ 38 and last[2] == 2 ^ 62) end
        for _ = 1, 200 do last:copy(numbers):lshift(3) assert(last[1] == 2 ^ 43 and last[2] == -24) end
        for _ = 1, 200 do last = torch.clshift(numbers, by) assert(last[1] == 2 ^ 42 and last[2] == -24) end
        for _ = 1, 200 do last:copy(numbers):crshift(by) assert(last[1] == 2 ^ 38 and last[2] == 2 ^ 61) end
    """
    assert Runtime(way="luajit").run_string(code) == 0
