"""Equal calls: the same bits before and after the libraries that compute larger ones are loaded."""

from pathlib import Path

from tests.helpers.commands import run_th


def test_equal_calls_give_equal_bits() -> None:
    result = run_th(str(Path(__file__).parent / "repeated.lua"))
    assert result.stderr == ""
    *lines, last = result.stdout.splitlines()
    assert not lines
    assert int(last.removesuffix(" compared")) > 600
