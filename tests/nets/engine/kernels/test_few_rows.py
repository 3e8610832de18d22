"""Products of few rows by compiled code, against PyTorch's in float64."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from convnet_benchmarks.nets.engine.kernels.compiled import few_rows
from convnet_benchmarks.nets.engine.kernels.matrix_product import ProductOfFewRows
from convnet_benchmarks.nets.engine.memory import Memory
from tests.helpers.engine_conditions import needs_compiler, threads

pytestmark = needs_compiler

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-13}


def matrix(rows: int, columns: int, dtype: torch.dtype, beside: int) -> Tensor:
    """Returns a random matrix with other numbers beside each of its rows."""
    return torch.randn(rows, columns + beside, dtype=dtype)[:, :columns]


@settings(max_examples=80, deadline=None)
@given(
    st.integers(1, 40),
    st.one_of(st.integers(1, 40), st.sampled_from([130, 700])),
    st.one_of(st.integers(1, 40), st.sampled_from([770, 1030, 2100])),
    st.sampled_from(sorted(TOLERANCE, key=str)),
    st.tuples(st.booleans(), st.booleans(), st.booleans()),
    st.integers(0, 2),
    st.integers(1, 3),
    st.integers(0, 1000),
)
def test_both_products(
    count: int,
    outputs: int,
    inputs: int,
    dtype: torch.dtype,
    extras: tuple[bool, bool, bool],
    beside: int,
    cores: int,
    seed: int,
) -> None:
    torch.manual_seed(seed)
    add, has_bias, relu = extras
    rows, weight = matrix(count, inputs, dtype, beside), matrix(outputs, inputs, dtype, beside)
    grad_out = matrix(count, outputs, dtype, beside)
    bias = torch.randn(outputs, dtype=dtype) if has_bias else None
    out, grad_in = matrix(count, outputs, dtype, beside), matrix(count, inputs, dtype, beside)
    exact = rows.double() @ weight.double().t() + (out.double() if add else 0)
    exact += 0 if bias is None else bias.double()
    exact_in = grad_out.double() @ weight.double() + (grad_in.double() if add else 0)
    behind = out._base[:, outputs:].clone(), grad_in._base[:, inputs:].clone()
    kernel = ProductOfFewRows(Memory())
    with threads(cores):
        kernel.forward(rows, weight, bias, out, relu, add)
        (kernel.add_input_gradient if add else kernel.input_gradient)(grad_out, weight, grad_in)
    for have, want in ((out, exact.clamp_min(0) if relu else exact), (grad_in, exact_in)):
        assert float((have - want).abs().max()) <= TOLERANCE[dtype] * float(want.abs().max().clamp_min(1))
    assert torch.equal(out._base[:, outputs:], behind[0])
    assert torch.equal(grad_in._base[:, inputs:], behind[1])


@pytest.mark.parametrize("count", [1, 2])
def test_what_is_not_a_number_stays(count: int) -> None:
    rows, weight = torch.ones(count, 20), torch.ones(3, 20)
    rows[0, 17] = float("nan")
    out = torch.zeros(count, 3)
    few_rows.multiply_transposed(rows, weight, out, relu=True)
    assert out[0].isnan().all() and torch.equal(out[1:], torch.full((count - 1, 3), 20.0))


def test_numbers_that_are_not_contiguous_are_refused() -> None:
    rows, weight, out = torch.ones(2, 20), torch.ones(3, 20), torch.zeros(2, 3)
    with pytest.raises(ValueError, match="contiguous"):
        few_rows.multiply_transposed(rows, torch.ones(20, 3).t(), out)
    with pytest.raises(ValueError, match="contiguous"):
        few_rows.multiply_transposed(rows, weight, out, bias=torch.ones(6)[::2])
