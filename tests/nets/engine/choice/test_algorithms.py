from nets.engine.choice.algorithms import worth_timing
from nets.engine.kernels.kernel import Kernel
from nets.engine.memory import Memory


def never(memory: Memory) -> Kernel:
    raise AssertionError("only names count")


def test_compiled_kernels_that_keep_the_weight_packed_are_timed_instead_of_the_others() -> None:
    of_mm = ("mm(tap)", "mm(tap, compiled)", "mm(windows)")
    of_winograd = ("winograd(4, compiled)", "winograd(4, panels)", "winograd(6, compiled)")
    found = worth_timing(dict.fromkeys(of_mm + of_winograd, never), few_rows=False)
    assert list(found) == ["mm(tap)", "mm(windows)", "winograd(4, panels)", "winograd(6, compiled)"]
