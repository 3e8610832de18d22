"""Random programs, in our th and as real Torch7 ran them.

tests/golden/programs/NAME.lua makes programs from a seed and prints what each gives; NAME.txt is what it
printed in Torch7 (LuaJIT with LUAJIT_ENABLE_LUA52COMPAT, OpenBLAS) for the seed and the count below.
"""

import re

import pytest

from lua_compat import run
from tests.helpers.places import GOLDEN

PROGRAMS = GOLDEN / "programs"
NUMBER = re.compile(r"-?(?:nan|inf|\d+\.?\d*(?:e[+-]?\d+)?)")
TOLERANCE = 1e-4  # of five printed digits


def same_number(a: str, b: str) -> bool:
    if a.endswith("nan") or b.endswith("nan"):
        return a.endswith("nan") and b.endswith("nan")
    x, y = float(a), float(b)
    return x == y or abs(x - y) <= TOLERANCE * max(1e-3, abs(x), abs(y))


def same(a: str, b: str) -> bool:
    if a == b:
        return True
    numbers_a, numbers_b = NUMBER.findall(a), NUMBER.findall(b)
    if NUMBER.split(a) != NUMBER.split(b):
        return False
    return all(same_number(x, y) for x, y in zip(numbers_a, numbers_b, strict=True))


@pytest.mark.parametrize(("name", "seed", "count"), [("tensors", 20, 2500)])
def test_programs_give_what_they_gave_in_torch7(
    name: str, seed: int, count: int, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(PROGRAMS / f"{name}.lua", [str(seed), str(count)]) == 0
    got = capfd.readouterr().out.splitlines()
    expected = (PROGRAMS / f"{name}.txt").read_text().splitlines()
    assert len(got) == len(expected) == count
    different = [f"{b}\nin Torch7: {a}" for a, b in zip(expected, got, strict=True) if not same(a, b)]
    assert not different, f"{len(different)} of {count}, such as\n" + "\n".join(different[:5])


def test_a_wrong_number_is_found() -> None:
    assert same("1 a => (2, nan 0.1)", "1 a => (2, -nan 0.10000001)")
    assert not same("1 a => (2, 0.1)", "1 a => (2, 0.2)")
    assert not same("1 a => error: x", "1 a => (2)")
