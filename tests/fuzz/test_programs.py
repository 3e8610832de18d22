"""Some of the random programs, the same each time: ``python -m tests.fuzz.programs`` continues from here."""

import pytest

from tests.fuzz.counts import Counts
from tests.fuzz.programs import processes


@pytest.mark.parametrize(
    ("first", "count"), [(1, 400), pytest.param(1_000_001, 20_000, marks=pytest.mark.slow)]
)
def test_hostile_programs_touch_only_their_memory(first: int, count: int) -> None:
    counts = Counts(None, "programs")
    processes.run(first, count, counts)
    assert counts.number("programs") == count
    calls, raised = counts.number("calls"), counts.number("raised")
    assert calls > 2 * count
    assert 0.3 < raised / calls < 0.9  # neither too mild nor too wild
