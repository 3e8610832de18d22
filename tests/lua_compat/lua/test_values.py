"""Values that scripts depend on; those in tests/golden/programs/values.lua are recorded from Torch7."""

from pathlib import Path

import pytest

from lua_compat import run
from tests.helpers.places import GOLDEN

HERE = Path(__file__).parent


def test_values_are_those_of_torch7(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(GOLDEN / "programs" / "values.lua") == 0
    recorded = (GOLDEN / "programs" / "values.txt").read_text()
    assert capfd.readouterr().out.splitlines() == recorded.splitlines()


@pytest.mark.parametrize("most", ["elementwise.LIMIT", "0"], ids=["in Lua", "in Python"])
def test_last_bits_equal_numbers_and_nans_are_as_in_torch7(
    most: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    edges = GOLDEN / "programs" / "edges.lua"
    script = tmp_path / "edges.lua"
    limit = f"local elementwise = require 'torch.luajit.elementwise' elementwise.LIMIT = {most}"
    script.write_text(f"{limit}\ndofile {str(edges)!r}\n")
    assert run(script) == 0
    assert capfd.readouterr().out.splitlines() == edges.with_suffix(".txt").read_text().splitlines()


def test_modules_train_on_after_clear_state(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(HERE / "cleared.lua", [str(GOLDEN / "cases_nn.lua")]) == 0
    assert capfd.readouterr().out.splitlines() == ["164 compared"]


def test_calls_that_are_ended_in_the_middle_leave_nothing_half_done(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert run(HERE / "interrupted.lua") == 0
    assert int(capfd.readouterr().out) > 300


def test_tensors_that_kernels_have_read_or_written_may_grow() -> None:
    assert run(HERE / "grown.lua") == 0


def test_results_and_indices_may_share_memory_with_what_is_read() -> None:
    assert run(HERE / "shared_results.lua") == 0


SORTED = """
torch.manualSeed(3)
for _, kind in ipairs{ 'Double', 'Float', 'Long', 'Byte' } do
   for _, descending in ipairs{ false, true } do
      local x = torch[kind .. 'Tensor'](50000):random(0, 100)
      local v, p = x:sort(1, descending)
      local a, b = v:narrow(1, 1, 49999), v:narrow(1, 2, 49999)
      assert((descending and a:lt(b) or a:gt(b)):sum() == 0)
      assert(x:index(1, p):equal(v))
      assert(p:sort():equal(torch.range(1, 50000):long()))
      local k = torch.random(50000)
      assert(x:kthvalue(k)[1] == x:sort()[k])
   end
end
require 'nn'
local index, select = nn.Index(1), nn.MaskedSelect() -- tensors return something else here
assert(index:forward{ torch.Tensor{ 1, 2, 3 }, torch.LongTensor{ 3 } }[1] == 3)
assert(select:forward{ torch.Tensor{ 1, 2, 3 }, torch.ByteTensor{ 0, 1, 0 } }[1] == 2)
local ok, message = pcall(function() local x = torch.IntTensor{ 1 }:cdiv(torch.IntTensor{ 0 }) end)
assert(not ok and message:find('division by zero'), message) -- where Torch7 ends with a signal
"""


def test_a_large_sort_is_one_and_its_positions_belong_to_it(tmp_path: Path) -> None:
    script = tmp_path / "sorted.lua"
    script.write_text(SORTED)
    assert run(script) == 0
