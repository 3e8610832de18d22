"""Average pooling and products of one row by compiled code, against PyTorch."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import nn

from convnet_benchmarks.nets.engine import compile
from convnet_benchmarks.nets.engine.kernels.compiled.averages import Averaging, CompiledAverages
from tests.helpers.engine_conditions import WITH_AND_WITHOUT, c_compiler, needs_compiler, threads
from tests.nets.engine.modules import check
from tests.nets.engine.test_compiled_layers import beside, sliced

pairs = st.tuples(st.integers(1, 5), st.integers(1, 5))
dtypes = st.sampled_from([torch.float32, torch.float64])


@needs_compiler
@settings(max_examples=60, deadline=None)
@given(
    pairs,
    pairs,
    st.tuples(st.integers(0, 2), st.integers(0, 2)),
    st.tuples(st.integers(1, 3), st.integers(1, 9), st.integers(1, 9), st.integers(1, 90)),
    st.sampled_from([torch.float32, torch.float64, torch.bfloat16]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([None, 1, 7]),
    st.booleans(),
    st.integers(1, 3),
)
def test_average_pooling_of_any_geometry(
    kernel: tuple[int, int],
    stride: tuple[int, int],
    padding: tuple[int, int],
    size: tuple[int, int, int, int],
    dtype: torch.dtype,
    ceil_mode: bool,
    counts_padding: bool,
    divisor: int | None,
    relu: bool,
    count: int,
) -> None:
    for extent, taps, pad in zip(size[1:3], kernel, padding, strict=True):
        assume(extent + 2 * pad >= taps and pad <= taps // 2)
    x = torch.randn(size, generator=torch.Generator().manual_seed(sum(size)), dtype=dtype)
    exact = F.avg_pool2d(
        x.permute(0, 3, 1, 2), kernel, stride, padding, ceil_mode, counts_padding, divisor
    ).permute(0, 2, 3, 1)
    out = sliced(torch.full_like(exact, 5))
    with threads(count):
        how = Averaging(kernel, stride, padding, counts_padding, divisor)
        CompiledAverages(how, (size[1], size[2]), (exact.shape[1], exact.shape[2]), dtype).forward(
            sliced(x), out, relu
        )
    torch.testing.assert_close(out, exact.relu() if relu else exact)
    assert bool((beside(out) == 7).all())


@pytest.mark.parametrize("compiler", WITH_AND_WITHOUT)
def test_the_three_phases_of_average_pooling(compiler: str) -> None:
    with c_compiler(compiler):
        for pooling in (nn.AvgPool2d(3, 2, 1, ceil_mode=True), nn.AdaptiveAvgPool2d(1)):
            check(nn.Sequential(nn.Conv2d(3, 5, 1), pooling, nn.ReLU()), (2, 3, 8, 9), "mm")


@needs_compiler
def test_a_mean_of_no_numbers_is_no_number() -> None:
    module = nn.AdaptiveAvgPool2d(1).eval()
    x = torch.full((1, 3, 4, 4), float("nan"))
    assert bool(compile(module, (1, 3, 4, 4), inference=True).updateOutput(x).isnan().all())
