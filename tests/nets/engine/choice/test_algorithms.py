import pytest

from convnet_benchmarks.nets.engine.choice.algorithms import likely_fastest, worth_timing
from convnet_benchmarks.nets.engine.kernels.kernel import Kernel
from convnet_benchmarks.nets.engine.memory import Memory


def never(memory: Memory) -> Kernel:
    raise AssertionError("only names count")


def test_compiled_kernels_that_keep_the_weight_packed_are_timed_instead_of_the_others() -> None:
    of_mm = ("mm(tap)", "mm(tap, compiled)", "mm(windows)")
    of_winograd = ("winograd(4, compiled)", "winograd(4, panels)", "winograd(6, compiled)")
    found = worth_timing(dict.fromkeys(of_mm + of_winograd, never), few_rows=False)
    assert list(found) == ["mm(tap)", "mm(windows)", "winograd(4, panels)", "winograd(6, compiled)"]


def test_blas_is_timed_beside_packed_weights_in_training_alone() -> None:
    of_mm = dict.fromkeys(("mm", "mm(onednn)", "mm(compiled)", "mm(panels)"), never)
    assert list(worth_timing(of_mm, few_rows=False)) == ["mm", "mm(onednn)", "mm(panels)"]
    assert list(worth_timing(of_mm, few_rows=False, for_inference=True)) == ["mm(panels)"]


@pytest.mark.parametrize(
    ("found", "likely"),
    [
        (
            ["mm(tap)", "mm(windows)", "winograd(2, compiled)", "winograd(5, compiled)"],
            "winograd(5, compiled)",
        ),
        (["mm(tap)", "winograd(3, packed)", "winograd(4, panels)"], "winograd(4, panels)"),
        (["mm(tap)", "mm(channel)", "mm(windows)", "direct(packed)"], "mm(windows)"),
        (["mm(tap)", "direct", "winograd(3)"], "mm(tap)"),
    ],
)
def test_what_is_likely_the_fastest_is_compiled(found: list[str], likely: str) -> None:
    assert likely_fastest(found) == likely
