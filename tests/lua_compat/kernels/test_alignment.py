"""Products have the same bits at every address of their factors."""

import pytest
import torch
from torch import Tensor

from lua_compat.kernels.alignment import multiply
from lua_compat.kernels.convolution import correlate


def shifted(t: Tensor, elements: int) -> Tensor:
    """Returns a copy of t, with its strides, this many elements after a multiple of 64 bytes."""
    room = torch.empty(t.numel() + 80, dtype=t.dtype)
    start = -(room.data_ptr() // t.element_size()) % 16 + elements
    return torch.as_strided(room, t.shape, t.stride(), start).copy_(t)


def made(rows: int, columns: int, transposed: bool, dtype: torch.dtype) -> Tensor:
    return (
        torch.randn(columns, rows, dtype=dtype).t() if transposed else torch.randn(rows, columns, dtype=dtype)
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    "sizes", [(1, 1024, 100), (100, 1024, 1), (3, 50, 17), (64, 65, 33), (1, 9000, 65), (65, 130, 1)]
)
@pytest.mark.parametrize("layouts", [(False, False), (False, True), (True, False), (True, True)])
def test_the_bits_of_a_product_do_not_depend_on_addresses(
    dtype: torch.dtype, sizes: tuple[int, int, int], layouts: tuple[bool, bool]
) -> None:
    torch.manual_seed(1)
    rows, inner, columns = sizes
    a, b = made(rows, inner, layouts[0], dtype), made(inner, columns, layouts[1], dtype)
    t = torch.randn(rows, columns, dtype=dtype)
    plain, added = torch.empty_like(t), shifted(t, 0)
    multiply(plain, a, b)
    multiply(added, a, b, 0.5, added, 2.0)
    torch.testing.assert_close(plain, a @ b, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(added, 0.5 * t + 2 * (a @ b), rtol=1e-4, atol=1e-3)
    for shift in range(1, 6):
        out = shifted(t, shift)
        multiply(out, shifted(a, shift), shifted(b, (2 * shift) % 7))
        assert torch.equal(out, plain)
        out.copy_(t)
        multiply(out, shifted(a, shift), shifted(b, shift), 0.5, out, 2.0)
        assert torch.equal(out, added)


@pytest.mark.parametrize("dims", [2, 3])
def test_planes_are_convolved_as_they_are_alone(dims: int) -> None:
    torch.manual_seed(2)
    for trial in range(4):
        plane = torch.randn([9 + trial] * dims, dtype=torch.float64)
        kernel = torch.randn([2 + trial % 3] * dims, dtype=torch.float64)
        alone, together = torch.empty(0, dtype=torch.float64), torch.empty(0, dtype=torch.float64)
        correlate(alone, plane, kernel, dims, False, True)
        correlate(together, torch.stack([plane] * 3), torch.stack([kernel] * 3), dims, False, True)
        assert all(torch.equal(one, alone) for one in together)
