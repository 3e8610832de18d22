"""Random programs of tensor operations in Lua, compared step by step with numpy.

Storages are numpy arrays here and tensors are (storage, offset, sizes, strides); views, resizes, sharing and
writes through every path must agree with Lua's tensors after each step.
"""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from lua_compat.runtime.state import Runtime

STEPS = 3_000
SLOTS = 6


@dataclass
class Storage:
    data: np.ndarray


@dataclass
class View:
    storage: Storage
    offset: int
    sizes: list[int]
    strides: list[int]

    def array(self) -> np.ndarray:
        data = self.storage.data
        itemsize = data.itemsize
        return np.lib.stride_tricks.as_strided(
            data[self.offset :], self.sizes, [stride * itemsize for stride in self.strides]
        )


def contiguous_strides(sizes: list[int]) -> list[int]:
    strides = [1] * len(sizes)
    for d in range(len(sizes) - 2, -1, -1):
        strides[d] = strides[d + 1] * sizes[d + 1]
    return strides


class Program:
    """Steps of Lua, each with its counterpart in numpy; ``t1`` to ``t6`` are the tensors."""

    def __init__(self, seed: int, kind: str) -> None:
        self.random = random.Random(seed)
        self.kind = kind
        self.dtype = np.dtype(
            {"Double": np.float64, "Float": np.float32, "Int": np.int32, "Byte": np.uint8}[kind]
        )
        self.views: list[View] = []
        self.lines: list[str] = []
        for slot in range(SLOTS):
            self.views.append(self.fresh())
            self.emit_new(slot)

    def sizes(self, dims: int | None = None) -> list[int]:
        return [self.random.randint(1, 4) for _ in range(dims or self.random.randint(1, 3))]

    def fresh(self) -> View:
        sizes = self.sizes()
        data = np.full(math.prod(sizes), self.random.randint(0, 50), self.dtype)
        return View(Storage(data), 0, sizes, contiguous_strides(sizes))

    def emit_new(self, slot: int) -> None:
        view = self.views[slot]
        sizes = ", ".join(map(str, view.sizes))
        self.lines.append(f"t[{slot + 1}] = torch.{self.kind}Tensor({sizes}):fill({view.storage.data[0]})")

    def step(self) -> None:
        operations: list[Callable[[int], bool]] = [
            self.new, self.narrow, self.select, self.transpose, self.share, self.resize, self.set_element,
            self.write_pointer, self.fill, self.add_scalar, self.add_tensor, self.copy, self.clone,
            self.storage_write,
            self.storage_grow, self.apply, self.assign_range, self.collect, self.cat,
        ]  # fmt: skip
        while not self.random.choice(operations)(self.random.randrange(SLOTS)):
            pass

    def new(self, slot: int) -> bool:
        self.views[slot] = self.fresh()
        self.emit_new(slot)
        return True

    def narrow(self, slot: int) -> bool:
        other = self.random.randrange(SLOTS)
        v = self.views[other]
        d = self.random.randrange(len(v.sizes))
        first = self.random.randrange(v.sizes[d])
        size = self.random.randint(1, v.sizes[d] - first)
        sizes = list(v.sizes)
        sizes[d] = size
        self.views[slot] = View(v.storage, v.offset + first * v.strides[d], sizes, list(v.strides))
        self.lines.append(f"t[{slot + 1}] = t[{other + 1}]:narrow({d + 1}, {first + 1}, {size})")
        return True

    def select(self, slot: int) -> bool:
        other = self.random.randrange(SLOTS)
        v = self.views[other]
        if len(v.sizes) < 2:
            return False
        d = self.random.randrange(len(v.sizes))
        i = self.random.randrange(v.sizes[d])
        self.views[slot] = View(
            v.storage,
            v.offset + i * v.strides[d],
            v.sizes[:d] + v.sizes[d + 1 :],
            v.strides[:d] + v.strides[d + 1 :],
        )
        form = f":select({d + 1}, {i + 1})" if d or self.random.random() < 0.5 else f"[{i + 1}]"
        self.lines.append(f"t[{slot + 1}] = t[{other + 1}]{form}")
        return True

    def transpose(self, slot: int) -> bool:
        v = self.views[slot]
        if len(v.sizes) < 2:
            return False
        a, b = self.random.sample(range(len(v.sizes)), 2)
        sizes, strides = list(v.sizes), list(v.strides)
        sizes[a], sizes[b] = sizes[b], sizes[a]
        strides[a], strides[b] = strides[b], strides[a]
        self.views[slot] = View(v.storage, v.offset, sizes, strides)
        self.lines.append(f"t[{slot + 1}] = t[{slot + 1}]:transpose({a + 1}, {b + 1})")
        return True

    def share(self, slot: int) -> bool:
        other = self.random.randrange(SLOTS)
        if other == slot:
            return False
        v = self.views[other]
        self.views[slot] = View(v.storage, v.offset, list(v.sizes), list(v.strides))
        form = self.random.choice(
            [f"t[{slot + 1}]:set(t[{other + 1}])", f"t[{slot + 1}] = t[{other + 1}].new(t[{other + 1}])"]
        )
        self.lines.append(form)
        return True

    def resize(self, slot: int) -> bool:
        v = self.views[slot]
        sizes = self.sizes()
        if sizes == v.sizes:
            return False
        need = v.offset + math.prod(sizes)
        old = len(v.storage.data)
        if need > old:
            v.storage.data = np.concatenate([v.storage.data, np.zeros(need - old, self.dtype)])
        self.views[slot] = View(v.storage, v.offset, sizes, contiguous_strides(sizes))
        self.lines.append(f"t[{slot + 1}]:resize({', '.join(map(str, sizes))})")
        if need > old:  # what was added is not initialised
            self.lines.append(
                f"do local s = t[{slot + 1}]:storage() for i = {old + 1}, {need} do s[i] = 0 end end"
            )
        return True

    def value(self) -> int:
        return self.random.randint(0, 20)

    def set_element(self, slot: int) -> bool:
        v = self.views[slot]
        index = tuple(self.random.randrange(n) for n in v.sizes)
        value = self.value()
        v.array()[index] = value
        self.lines.append(f"t[{slot + 1}][{{{', '.join(str(i + 1) for i in index)}}}] = {value}")
        return True

    def write_pointer(self, slot: int) -> bool:
        v = self.views[slot]
        value = self.value()
        v.storage.data[v.offset] = value
        self.lines.append(f"t[{slot + 1}]:data()[0] = {value}")
        return True

    def fill(self, slot: int) -> bool:
        value = self.value()
        self.views[slot].array()[...] = value
        self.lines.append(f"t[{slot + 1}]:fill({value})")
        return True

    def add_scalar(self, slot: int) -> bool:
        value = self.value()
        array = self.views[slot].array()
        array[...] = (array.astype(np.float64) + value).astype(np.int64).astype(self.dtype)
        self.lines.append(f"t[{slot + 1}]:add({value})")
        return True

    def _other_of_same_count(self, slot: int) -> int | None:
        count = math.prod(self.views[slot].sizes)
        fitting = [
            other
            for other, v in enumerate(self.views)
            if math.prod(v.sizes) == count and v.storage is not self.views[slot].storage
        ]
        return self.random.choice(fitting) if fitting else None

    def add_tensor(self, slot: int) -> bool:
        other = self._other_of_same_count(slot)
        if other is None:
            return False
        array = self.views[slot].array()
        added = self.views[other].array().reshape(array.shape).astype(np.float64)
        array[...] = (array.astype(np.float64) + 2 * added).astype(np.int64).astype(self.dtype)
        self.lines.append(f"t[{slot + 1}]:add(2, t[{other + 1}])")
        return True

    def copy(self, slot: int) -> bool:
        other = self._other_of_same_count(slot)
        if other is None:
            return False
        array = self.views[slot].array()
        array[...] = self.views[other].array().reshape(array.shape)
        self.lines.append(f"t[{slot + 1}]:copy(t[{other + 1}])")
        return True

    def clone(self, slot: int) -> bool:
        other = self.random.randrange(SLOTS)
        array = self.views[other].array().copy()
        sizes = list(self.views[other].sizes)
        self.views[slot] = View(Storage(array.reshape(-1)), 0, sizes, contiguous_strides(sizes))
        self.lines.append(f"t[{slot + 1}] = t[{other + 1}]:clone()")
        return True

    def storage_write(self, slot: int) -> bool:
        data = self.views[slot].storage.data
        i = self.random.randrange(len(data))
        value = self.value()
        data[i] = value
        self.lines.append(f"t[{slot + 1}]:storage()[{i + 1}] = {value}")
        return True

    def storage_grow(self, slot: int) -> bool:
        storage = self.views[slot].storage
        old = len(storage.data)
        if old > 200:
            return False
        need = old + self.random.randint(1, 40)
        storage.data = np.concatenate([storage.data, np.zeros(need - old, self.dtype)])
        self.lines.append(
            f"do local s = t[{slot + 1}]:storage() s:resize({need})"
            f" for i = {old + 1}, {need} do s[i] = 0 end end"
        )
        return True

    def apply(self, slot: int) -> bool:
        array = self.views[slot].array()
        array[...] = (array.astype(np.float64) + 1).astype(np.int64).astype(self.dtype)
        self.lines.append(f"t[{slot + 1}]:apply(function(x) return x + 1 end)")
        return True

    def assign_range(self, slot: int) -> bool:
        v = self.views[slot]
        first = self.random.randrange(v.sizes[0])
        last = self.random.randint(first, v.sizes[0] - 1)
        value = self.value()
        v.array()[first : last + 1] = value
        self.lines.append(f"t[{slot + 1}][{{{{{first + 1}, {last + 1}}}}}] = {value}")
        return True

    def collect(self, slot: int) -> bool:
        if self.random.random() < 0.8:
            return False
        self.lines.append("collectgarbage()")
        return True

    def cat(self, slot: int) -> bool:
        other = self.random.randrange(SLOTS)
        v = self.views[other]
        if v.sizes[0] > 8:
            return False
        array = np.concatenate([v.array(), v.array()], axis=0)
        self.views[slot] = View(
            Storage(array.reshape(-1).copy()), 0, list(array.shape), contiguous_strides(list(array.shape))
        )
        self.lines.append(f"t[{slot + 1}] = torch.cat(t[{other + 1}], t[{other + 1}], 1)")
        return True

    def checks(self) -> list[str]:
        """Lua that compares every tensor, by elements and by a sum that Python computes."""
        lines = []
        for slot, v in enumerate(self.views):
            array = v.array()
            values = ",".join(str(int(x)) for x in array.reshape(-1))
            sizes = ",".join(map(str, v.sizes))
            lines.append(
                f"check(t[{slot + 1}], {{{values}}}, {{{sizes}}}, {int(array.astype(np.int64).sum())})"
            )
        return lines


CHECK = """
local t = {}
local function check(tensor, values, sizes, sum)
    local got = tensor:size():totable()
    assert(#got == #sizes, 'dimensions')
    for d = 1, #sizes do assert(got[d] == sizes[d], 'size') end
    local i = 0
    tensor:apply(function(x)
        i = i + 1
        if x ~= values[i] then error(('element %d is %s, not %s'):format(i, tostring(x), values[i])) end
    end)
    assert(i == #values, 'count')
    assert(tensor:sum() == sum, 'sum')
end
"""


def run_program(seed: int, kind: str, steps: int, check_every: int) -> None:
    program = Program(seed, kind)
    runtime = Runtime()
    source = [
        CHECK,
        "return function(chunk) return assert(loadstring('local t, check = ... ' .. chunk))(t, check) end",
    ]
    runtime.run_string("_G.step = (function() " + "\n".join(source) + " end)()")
    for done in range(1, steps + 1):
        program.step()
        if done % check_every == 0:
            lines, program.lines = program.lines, []
            chunk = "\n".join(lines + program.checks())
            runtime.run_string(f"step([==[{chunk}]==])", f"=program {seed}, step {done}")
    assert runtime.run_string("t = nil step = nil") == 0


@pytest.mark.parametrize("kind", ["Double", "Float", "Int", "Byte"])
def test_random_programs(kind: str) -> None:
    run_program(seed=1, kind=kind, steps=STEPS // 4, check_every=5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_many_random_programs(seed: int) -> None:
    run_program(
        seed=100 + seed, kind=["Double", "Float", "Int", "Byte"][seed % 4], steps=10_000, check_every=2
    )
