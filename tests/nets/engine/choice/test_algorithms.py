from typing import Any

import pytest
import torch

from convnet_benchmarks.nets.engine.choice.algorithms import candidates, likely_fastest, worth_timing
from convnet_benchmarks.nets.engine.kernels.kernel import Kernel
from convnet_benchmarks.nets.engine.memory import Memory
from convnet_benchmarks.nets.engine.shapes import ConvolutionShape
from convnet_benchmarks.nets.phases import FORWARD, INPUT_GRADIENT, WEIGHT_GRADIENT
from tests.helpers.engine_conditions import needs_compiler


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


def convolution(
    channels: tuple[int, int], size: int, kernel: int, stride: int = 1, batch: int = 1
) -> ConvolutionShape:
    pad = kernel // 2
    sizes = ((size, size), (kernel, kernel), (stride, stride), (pad, pad))
    return ConvolutionShape(batch, *channels, *sizes, torch.float32)


@needs_compiler
def test_training_keeps_both_packed_copies_of_a_transformed_weight_if_they_are_small() -> None:
    def tiles_of_panels(channels: int, phase: str) -> list[int]:
        shape = convolution((channels, channels), 28, 3, batch=16)
        names = (f"winograd({tile}, panels)" for tile in range(2, 7))
        found = candidates(shape, phase)
        return [tile for tile, name in enumerate(names, 2) if name in found]

    assert tiles_of_panels(256, FORWARD) == tiles_of_panels(256, INPUT_GRADIENT) == [2, 3, 4, 5, 6]  # 34 MB
    assert tiles_of_panels(288, FORWARD) == [2, 3, 4, 5]  # 33 MB; 42 MB for a tile of 6
    assert tiles_of_panels(512, FORWARD) == [2, 3, 4]  # at most eight times the weight
    assert tiles_of_panels(64, WEIGHT_GRADIENT) == []


TILES = "winograd(2, compiled)"
STRIDED = ["mm(tap)", "mm(channel)", "mm(tap, compiled)", "mm(channel, compiled)", "direct"]


@pytest.mark.parametrize(
    ("found", "phase", "shape", "likely"),
    [
        (["mm", "mm(onednn)", "mm(panels)", "direct(packed)"], FORWARD, ((64, 256), 28, 1), "mm(panels)"),
        (["mm", "mm(compiled)", "direct"], WEIGHT_GRADIENT, ((64, 256), 28, 1), "mm(compiled)"),
        (
            ["mm(tap)", "mm(channel)", "mm(windows)", "direct(packed)"],
            FORWARD,
            ((3, 64), 224, 7, 2),
            "mm(windows)",
        ),
        (
            ["mm(tap)", "mm(tap, compiled)", "direct"],
            INPUT_GRADIENT,
            ((64, 128), 56, 3, 2),
            "mm(tap, compiled)",
        ),
        (STRIDED, WEIGHT_GRADIENT, ((256, 512), 14, 3, 2), "mm(channel, compiled)"),
        (STRIDED, WEIGHT_GRADIENT, ((3, 64), 224, 7, 2), "direct"),
        (STRIDED[:4], WEIGHT_GRADIENT, ((3, 64), 224, 7, 2), "mm(tap, compiled)"),
        (["direct(packed)", "mm(tap, compiled)"], INPUT_GRADIENT, ((3, 64), 224, 3), "mm(tap, compiled)"),
        (["direct(packed)", "mm(tap, compiled)"], INPUT_GRADIENT, ((8, 64), 224, 3), "direct(packed)"),
        # The product copies more than it computes.
        (["mm(channel, compiled)", TILES], WEIGHT_GRADIENT, ((128, 32), 14, 3), TILES),
        (["mm(channel, compiled)", TILES], WEIGHT_GRADIENT, ((512, 512), 5, 3), "mm(channel, compiled)"),
        (["mm(tap)", "direct", "winograd(3)"], FORWARD, ((64, 64), 14, 3), "mm(tap)"),  # no compiler
        (
            ["fft(10, compiled)", "fft(15, compiled)", "mm(tap)"],
            FORWARD,
            ((96, 256), 36, 7),
            "fft(10, compiled)",
        ),
    ],
)
def test_what_is_likely_the_fastest_is_compiled(
    found: list[str], phase: str, shape: tuple[Any, ...], likely: str
) -> None:
    assert likely_fastest(found, phase, convolution(*shape)) == likely


def test_products_of_few_rows_are_likely_the_fastest() -> None:
    assert likely_fastest(["mm", "mm(few rows)", "mm(onednn)"], FORWARD) == "mm(few rows)"


@pytest.mark.parametrize(
    ("shape", "likely"),
    [
        (((64, 64), 56, 3, 1, 16), "winograd(6, compiled)"),  # the fewest multiply-adds
        (((512, 512), 7, 3, 1, 16), "winograd(4, compiled)"),  # fewer tiles stand over
        (((512, 512), 7, 3, 1, 1), "mm(windows)"),  # the weight is smallest where it is not transformed
    ],
)
def test_likely_tiles_have_few_multiply_adds_and_little_to_read(shape: tuple[Any, ...], likely: str) -> None:
    found = ["mm(tap)", "mm(windows)", *(f"winograd({size}, compiled)" for size in (2, 3, 4, 5, 6))]
    assert likely_fastest(found, FORWARD, convolution(*shape)) == likely
