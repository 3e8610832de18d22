"""Sizes that do not belong together are refused where a kernel is made, and not met where it runs."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from convnet_benchmarks.nets.engine.choice.algorithms import candidates
from convnet_benchmarks.nets.engine.kernels.compiled.averages import Averaging, CompiledAverages
from convnet_benchmarks.nets.engine.kernels.compiled.depthwise import CompiledDepthwise
from convnet_benchmarks.nets.engine.kernels.compiled.pooling import CompiledMaxPooling
from convnet_benchmarks.nets.engine.kernels.depthwise import DepthwiseGeometry
from convnet_benchmarks.nets.engine.kernels.max_pooling import Window
from convnet_benchmarks.nets.engine.shapes import ConvolutionShape
from convnet_benchmarks.nets.phases import FORWARD

Sizes = tuple[Any, ...]  # of images and results, then kernel, stride, padding and dilation

MAKERS: dict[str, Callable[..., object]] = {
    "largest": lambda size, out, *how: CompiledMaxPooling(
        Window(how[0], how[1], how[2], how[3], False), size, out, torch.float32
    ),
    "averages": lambda size, out, *how: CompiledAverages(
        Averaging(how[0], how[1], how[2], False, None), size, out, torch.float32
    ),
    "depthwise": lambda size, out, *how: CompiledDepthwise(DepthwiseGeometry(*how), size, out, torch.float32),
}

RIGHT: Sizes = ((5, 6), (3, 3), (3, 2), (2, 2), (1, 0), (1, 1))


def changed(place: int, axis: int, value: int) -> Sizes:
    pairs = [list(pair) for pair in RIGHT]
    pairs[place][axis] = value
    return tuple(map(tuple, pairs))


WRONG = [
    changed(place, axis, value)
    for axis in (0, 1)
    for place, value in [(0, 0), (0, 2 - axis), (1, 0), (1, 4), (2, 0), (2, 9), (3, 0), (3, -1), (4, -1)]
]


@pytest.mark.parametrize("kind", MAKERS)
def test_a_kernel_of_windows_refuses_wrong_sizes(kind: str) -> None:
    for sizes in WRONG:
        with pytest.raises(ValueError, match="windows of"):
            MAKERS[kind](*sizes)
        if kind != "averages":
            with pytest.raises(ValueError, match="windows of"):
                MAKERS[kind](*RIGHT[:5], (1, 0))


def test_no_kernel_is_offered_for_a_shape_of_no_convolution() -> None:
    def shape(
        batch: int = 1, size: int = 5, kernel: int = 3, stride: int = 1, padding: int = 0
    ) -> ConvolutionShape:
        square = ((size, 5), (kernel, 3), (stride, 1), (padding, 0))
        return ConvolutionShape(batch, 3, 4, *square, torch.float32)

    assert candidates(shape(), FORWARD)
    for wrong in ({"batch": 0}, {"size": 2}, {"kernel": 0}, {"kernel": 6}, {"stride": -1}, {"padding": -1}):
        with pytest.raises(ValueError, match=r"windows of|sizes must be positive"):
            candidates(shape(**wrong), FORWARD)
