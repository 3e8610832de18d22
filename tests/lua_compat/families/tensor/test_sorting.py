"""Buckets give the order that Torch7's quicksort gives."""

from pathlib import Path

import pytest

from lua_compat.runtime.state import Runtime

SORTED = Path(__file__).parent / "sorting" / "sorted.lua"


def test_buckets_find_the_order_that_the_quicksort_finds(capfd: pytest.CaptureFixture[str]) -> None:
    runtime = Runtime(str(SORTED), ["1", "1500"], notes=False)
    assert runtime.run_file(str(SORTED)) == 0
    assert capfd.readouterr().out == "1500\n"
