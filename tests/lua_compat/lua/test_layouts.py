"""nn modules on tensors that lie in memory in every way: transposed, channels-last, expanded, sliced."""

from pathlib import Path

import pytest

from lua_compat import run
from tests.helpers.places import GOLDEN

HERE = Path(__file__).parent


def different(cases: Path, every: int, capfd: pytest.CaptureFixture[str]) -> list[str]:
    assert run(HERE / "layouts.lua", [str(cases), str(every)]) == 0
    *lines, last = capfd.readouterr().out.splitlines()
    assert int(last.removesuffix(" compared")) > 60
    return lines


@pytest.mark.parametrize(
    ("cases", "every"),
    [
        pytest.param(GOLDEN / "cases_nn.lua", 11, id="some"),
        pytest.param(HERE / "cases_single.lua", 11, id="some with dimensions of size 1"),
        pytest.param(GOLDEN / "cases_nn.lua", 1, id="all", marks=pytest.mark.slow),
        pytest.param(
            HERE / "cases_single.lua", 1, id="all with dimensions of size 1", marks=pytest.mark.slow
        ),
    ],
)
def test_results_do_not_depend_on_the_layout(
    cases: Path, every: int, capfd: pytest.CaptureFixture[str]
) -> None:
    assert not different(cases, every, capfd)


def test_batch_normalisation_of_a_transposed_sequence(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    cases = tmp_path / "cases.lua"
    shapes = [(4, 3, 1, 5), (1, 3, 4, 5), (1, 3, 1, 5), (4, 3, 5, 1), (2, 3, 1, 1), (1, 3, 5, 1)]
    listed = [
        f"{{'nn.SpatialBatchNormalization(3{affine})', {{ {{ {', '.join(map(str, shape))} }} }}, {options}}}"
        for shape in shapes
        for affine in ("", ", 1e-3, 0.1, false")
        for options in ("{}", "{ evaluate = true }")
    ]
    cases.write_text(f"return {{ {', '.join(listed)} }}")
    assert not different(cases, 1, capfd)
