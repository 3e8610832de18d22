"""Tensors that overlap in memory, on one storage and on storages that view another."""

from pathlib import Path

import pytest

from lua_compat import run
from lua_compat.runtime.state import Runtime


def test_results_are_those_on_copies(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(Path(__file__).parent / "overlapping.lua", []) == 0
    *lines, last = capfd.readouterr().out.splitlines()
    assert not lines
    assert int(last.removesuffix(" compared")) > 1000


@pytest.mark.parametrize("way", ["luajit", "pytorch"])
def test_elements_that_are_repeated_and_overlap_are_written_one_after_the_other(way: str) -> None:
    """Each element of the storage belongs to two to six elements of the tensor."""
    code = """
        for _, kind in ipairs{ 'Short', 'Float' } do
           local function result(name)
              local storage = torch[kind .. 'Storage']{ 1, 2, 3, 4, 5 }
              local sizes, strides = torch.LongStorage{ 2, 3, 3 }, torch.LongStorage{ 0, 1, 1 }
              local t = torch[kind .. 'Tensor']():set(storage, 1, sizes, strides)
              local twos = torch[kind .. 'Tensor'](2, 3, 3):fill(2)
              t[name](t, twos)
              return table.concat(storage:totable(), ' ')
           end
           assert(result('add') == '5 10 15 12 9', result('add'))
           assert(result('csub') == '-3 -6 -9 -4 1', result('csub'))
           assert(result('cmul') == '4 32 192 64 20', result('cmul'))
        end
    """
    assert Runtime(way=way).run_string(code) == 0


@pytest.mark.parametrize("way", ["luajit", "pytorch"])
def test_views_of_the_same_elements_with_other_strides_along_a_dimension_of_one(way: str) -> None:
    code = """
        local t = torch.FloatTensor{ 1, 2, 3 }
        local column, other = t:view(3, 1), t:view(1, 3):t()
        assert(column:stride(2) == 1 and other:stride(2) == 3)
        torch.add(column, column, 2, other)
        other:addcmul(1, column, column)
        assert(t:equal(torch.FloatTensor{ 12, 42, 90 }), tostring(t))
    """
    assert Runtime(way=way).run_string(code) == 0


@pytest.mark.parametrize("way", ["luajit", "pytorch"])
def test_slices_are_written_one_after_the_other(way: str) -> None:
    """Each index of Torch7 reads what the ones before have written."""
    code = """
        for _, kind in ipairs{ 'Int', 'Double' } do
           local t = torch[kind .. 'Tensor']{ { 1, 2 }, { 3, 4 }, { 5, 6 } }
           t:indexAdd(1, torch.LongTensor{ 2, 3 }, t:narrow(1, 1, 2))
           assert(table.concat(t:storage():totable(), ' ') == '1 2 4 6 9 12')
           t:indexCopy(1, torch.LongTensor{ 2, 3 }, t:narrow(1, 1, 2))
           assert(table.concat(t:storage():totable(), ' ') == '1 2 1 2 1 2')
           t:scatter(1, torch.LongTensor{ { 3, 1 } }, t:narrow(1, 2, 1):mul(2))
           assert(table.concat(t:storage():totable(), ' ') == '1 4 2 4 2 2')
        end
    """
    assert Runtime(way=way).run_string(code) == 0


def test_a_result_without_elements_keeps_its_place_in_a_storage() -> None:
    """PyTorch's kernels resize it; layers that share memory for gradients have such results."""
    code = """
        require 'nn'
        local base = torch.DoubleStorage(20):fill(7)
        for _, storage in ipairs{ base, torch.DoubleStorage(base, 3, 18) } do
           local layer = nn.SoftMax()
           layer.output, layer.gradInput = torch.Tensor(storage, 2, 0), torch.Tensor(storage, 8, 0)
           local gradient = torch.Tensor(storage, 14, torch.LongStorage{ 2, 2 }):copy(torch.eye(2))
           assert(layer:forward(torch.zeros(2, 2)):eq(0.5):all())
           assert(layer:backward(torch.zeros(2, 2), gradient):storageOffset() == 8)
           assert(table.concat(storage:totable(), ' ', 1, 18)
              == '7 0.5 0.5 0.5 0.5 7 7 0.25 -0.25 -0.25 0.25 7 7 1 0 0 1 7')
           base:fill(7)
        end
    """
    assert Runtime().run_string(code) == 0


@pytest.mark.parametrize("way", ["luajit", "pytorch"])
def test_a_result_that_is_resized_may_be_what_is_read(way: str) -> None:
    code = """
        local t = torch.LongTensor{ 1, 0, 2, 3 }
        t:repeatTensor(t, 2)
        assert(table.concat(t:storage():totable(), ' ') == '1 0 2 3 1 0 2 3')
        torch.nonzero(t, t)
        assert(table.concat(t:storage():totable(), ' ', 1, 6) == '1 3 4 5 7 8')
    """
    assert Runtime(way=way).run_string(code) == 0
