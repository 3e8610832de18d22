"""Functions of single elements, of as many as go through Python."""

import numpy as np
import pytest
import torch

from lua_compat.kernels.nn.transfer import transfer
from lua_compat.kernels.pointwise import pow as power
from lua_compat.kernels.pointwise import unary

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
