"""Telling how the outputs of a cell relate to those that were stored."""

from tests.compatibility.notebooks import OTHER, PICTURES, SAME, SAME_FORM, Shown, equal_pairs, kind


def cell(*lines: str, pictures: int = 0, failed: bool = False) -> Shown:
    return Shown(lines, pictures, failed)


def test_kinds() -> None:
    for stored, ours, expected in (
        (cell(), cell(), SAME),
        (cell("a : 1", "b : 2"), cell("b : 2", "a : 1"), SAME),
        (cell("0.5 -1e-3"), cell("-2.25 7"), SAME_FORM),
        (cell("0.01 *", "4.5"), cell("0.5"), SAME_FORM),
        (cell("0.5"), cell("0.5 0.5"), OTHER),
        (cell(), cell("5"), OTHER),
        (cell(pictures=1), cell(pictures=1), PICTURES),
        (cell(pictures=1), cell(), OTHER),
        (cell("one text", failed=True), cell("another", failed=True), SAME),
        (cell("1"), cell(failed=True), OTHER),
    ):
        assert kind(stored, ours) == expected, (stored, ours)


def test_random_results_that_two_cells_compute() -> None:
    agree, differ = (cell("0.1"), cell("0.7")), (cell("0.1"), cell("0.8"))
    assert equal_pairs([agree, agree, (cell("1"), cell("1"))]) == (1, 1)
    assert equal_pairs([agree, differ]) == (0, 1)
