"""Random programs, in our th and as real Torch7 ran them.

tests/golden/programs/NAME.lua makes programs from a seed and prints what each gives; NAME.txt is what it
printed in Torch7 (LuaJIT with LUAJIT_ENABLE_LUA52COMPAT, OpenBLAS) for the seed and the count below.
compare_programs.py compares other seeds with a Torch7 at hand.
"""

import pytest

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


@pytest.mark.parametrize("name", ["thnn", "thnn_rest"])
def test_functions_of_thnn_by_name(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(PROGRAMS / f"{name}.lua") == 0
    got = capfd.readouterr().out.splitlines()
    expected = (PROGRAMS / f"{name}.txt").read_text().splitlines()
    pairs = zip(expected, got, strict=True)
    assert [(a, b) for a, b in pairs if not same(a, b, SMALL["modules"])] == []


def test_a_wrong_number_is_found() -> None:
    assert same("1 a => (2, nan 0.1)", "1 a => (2, -nan 0.10000001)")
    assert not same("1 a => (2, 0.1)", "1 a => (2, 0.2)")
    assert not same("1 a => error: x", "1 a => (2)")
