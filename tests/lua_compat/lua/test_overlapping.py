"""Tensors that overlap in memory, on one storage and on storages that view another."""

from pathlib import Path

import pytest

from lua_compat import run


def test_results_are_those_on_copies(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(Path(__file__).parent / "overlapping.lua", []) == 0
    *lines, last = capfd.readouterr().out.splitlines()
    assert not lines
    assert int(last.removesuffix(" compared")) > 1000
