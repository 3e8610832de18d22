"""Random programs, in our th and as real Torch7 ran them.

tests/golden/programs/NAME.lua makes programs from a seed and prints what each gives; NAME.txt is what it
printed in Torch7 (LuaJIT with LUAJIT_ENABLE_LUA52COMPAT, OpenBLAS) for the seed and the count below.
compare_programs.py compares other seeds with a Torch7 at hand.
"""

from pathlib import Path

import pytest
import torch

from lua_compat import run
from tests.helpers.places import GOLDEN
from tests.helpers.programs import SMALL, same

PROGRAMS = GOLDEN / "programs"


@pytest.mark.parametrize(
    ("name", "seed", "count"), [("tensors", 20, 2500), ("modules", 5, 400), ("packages", 32, 300)]
)
def test_programs_give_what_they_gave_in_torch7(
    name: str, seed: int, count: int, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(PROGRAMS / f"{name}.lua", [str(seed), str(count)]) == 0
    got = capfd.readouterr().out.splitlines()
    expected = (PROGRAMS / f"{name}.txt").read_text().splitlines()
    assert len(got) == len(expected) == count
    small = SMALL.get(name, 1e-3)
    different = [f"{b}\nin Torch7: {a}" for a, b in zip(expected, got, strict=True) if not same(a, b, small)]
    assert not different, f"{len(different)} of {count}, such as\n" + "\n".join(different[:5])


@pytest.mark.parametrize("name", ["thnn", "thnn_rest", "thnn_volumes"])
def test_functions_of_thnn_by_name(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(PROGRAMS / f"{name}.lua") == 0
    got = capfd.readouterr().out.splitlines()
    expected = (PROGRAMS / f"{name}.txt").read_text().splitlines()
    pairs = zip(expected, got, strict=True)
    assert [(a, b) for a, b in pairs if not same(a, b, SMALL["modules"])] == []


def test_images_are_unfolded_by_name(tmp_path: Path) -> None:
    """Columns as PyTorch unfolds them; adding them up is the transpose. Torch7 cannot call its own."""
    x = torch.arange(40, dtype=torch.float64).reshape(1, 2, 4, 5)
    columns = torch.nn.functional.unfold(x, (3, 2), padding=(0, 1), stride=(1, 2))
    back = torch.nn.functional.fold(columns, (4, 5), (3, 2), padding=(0, 1), stride=(1, 2))
    script = tmp_path / "script.lua"
    script.write_text(f"""
        require 'nn'
        local K = torch.Tensor().THNN
        local x, columns = torch.range(0, 39):view(2, 4, 5), torch.Tensor(12, 6)
        K.unfolded_copy(columns:cdata(), x:cdata(), 2, 3, 2, 1, 1, 0, 2, 5, 4, 3, 2)
        assert(columns:equal(torch.Tensor{{ {", ".join(map(str, columns.flatten().tolist()))} }}:view(12, 6)))
        x:zero()
        K.unfolded_acc(columns:cdata(), x:cdata(), 2, 3, 2, 1, 1, 0, 2, 5, 4, 3, 2)
        assert(x:equal(torch.Tensor{{ {", ".join(map(str, back.flatten().tolist()))} }}:view(2, 4, 5)))
    """)
    assert run(script) == 0


def test_a_wrong_number_is_found() -> None:
    assert same("1 a => (2, nan 0.1)", "1 a => (2, -nan 0.10000001)")
    assert not same("1 a => (2, 0.1)", "1 a => (2, 0.2)")
    assert not same("1 a => error: x", "1 a => (2)")
