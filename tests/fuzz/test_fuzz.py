"""A bounded part of the fuzzing, the same cases each time: ``python -m tests.fuzz`` continues from here."""

import pytest

from tests.fuzz.__main__ import NAMES, blind
from tests.fuzz.targets import TARGETS

CASES = {"t7": 500, "hdf5": 200, "points": 400, "results": 400, "logs": 400, "tuning": 400, "caffe": 200,
         "matlab": 12, "lmdb": 10, "image": 300, "magick": 300, "npy": 400,
         "trees": 100, "channel": 1000}  # fmt: skip


def test_the_command_knows_every_target() -> None:
    assert tuple(TARGETS) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_good_files_are_read(name: str) -> None:
    target = TARGETS[name]
    assert len(target.seeds()) > 0
    for data in target.seeds():
        target.run(data)
    if name != "channel":  # whose seeds have a limit that was reached
        assert target.run(target.seeds()[0]) == "value"


@pytest.mark.parametrize("name", NAMES)
def test_changed_files_are_a_value_or_the_formats_error(name: str) -> None:
    outcomes = blind(TARGETS[name], seed=0, first=0, cases=CASES[name], until=0)
    assert set(outcomes) == {"value", "error"}  # both come: the changes are neither too mild nor too wild


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_more_changed_files(name: str) -> None:
    blind(TARGETS[name], seed=1, first=0, cases=50 * CASES[name], until=0)
