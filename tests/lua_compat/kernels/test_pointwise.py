"""Functions of single elements, of as many as go through Python."""

import numpy as np
import pytest
import torch

from lua_compat.kernels.nn.transfer import transfer
from lua_compat.kernels.pointwise import fmod, unary
from lua_compat.kernels.pointwise import pow as power

MANY = 100_003


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("by", ["unary", "pow", "transfer"])
def test_square_roots_are_rounded_correctly(dtype: torch.dtype, by: str) -> None:
    """PyTorch's own are not, on Intel's processors: one in 160 differs from Torch7's in the last bit."""
    values = torch.rand(2, MANY, generator=torch.Generator().manual_seed(1), dtype=dtype).mul_(7).t()
    values[0] = torch.tensor([-1.0, float("inf")])
    exact = np.sqrt(np.abs(values.numpy()))
    found = torch.empty_like(values)
    if by == "unary":
        unary(found, values, "sqrt")
    elif by == "pow":
        power(found, values, 0.5)
    else:
        transfer(found, values, "sqrt")
    assert bool(found[0, 0].isnan()) and float(found[0, 1]) == float("inf")
    assert np.array_equal(found[1:].numpy(), exact[1:])


def test_a_square_root_in_place() -> None:
    values = torch.rand(MANY, dtype=torch.float64)
    exact = np.sqrt(values.numpy().copy())
    unary(values, values, "sqrt")
    assert np.array_equal(values.numpy(), exact)


def test_rounding_is_that_of_c() -> None:
    """Recorded with Torch7: halves go away from zero, and what becomes zero keeps its sign."""
    values = [0.49999999999999994, -0.3, 0.5, -0.5, 2.5, -2.5, -0.0, 2.0**52 + 1, float("-inf")]
    found = torch.empty(len(values), dtype=torch.float64)
    unary(found, torch.tensor(values, dtype=torch.float64), "round")
    expected = [0.0, -0.0, 1.0, -1.0, 3.0, -3.0, -0.0, 2.0**52 + 1, float("-inf")]
    assert found.tolist() == expected
    assert torch.signbit(found).tolist() == torch.signbit(torch.tensor(expected)).tolist()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_remainders_of_large_quotients_are_cs(dtype: torch.dtype) -> None:
    """PyTorch's of 1e308 by 0.3 is NaN; real Torch7 gave the first of these."""
    most = torch.finfo(dtype).max
    values = torch.tensor(
        [1e308 if dtype is torch.float64 else 1e38, -7.3, most, 0.0, float("inf")], dtype=dtype
    )
    found = torch.empty_like(values)
    fmod(found, values, 0.3)
    with np.errstate(invalid="ignore"):
        exact = np.fmod(values.double().numpy(), float(torch.tensor(0.3, dtype=dtype)))
    assert np.array_equal(found.numpy(), exact.astype(found.numpy().dtype), equal_nan=True)
    if dtype is torch.float64:
        assert found[0].item() == 0.061388026228177073
    fmod(found, values, 0)
    assert bool(found.isnan().all())
