"""Operations element by element under our th: last bits, sizes of C's numbers, layouts."""

from pathlib import Path

from lua_compat import run

HERE = Path(__file__).parent


def test_bits_and_layouts() -> None:
    assert run(HERE / "elements.lua", []) == 0
