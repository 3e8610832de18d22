"""Checks indices before PyTorch uses them: some of its backward functions write out of bounds otherwise."""

import torch
from torch import Tensor

from lua_compat.kernels.results import read


def check_indices(indices: Tensor, count: int, what: str, first: int = 1, none: int | None = None) -> bool:
    """Raises ValueError unless every index is an integer among the ``count`` from ``first`` on, or is
    ``none`` (``first`` - 1, for "no index"); returns whether any is ``none``.

    indices: of any shape, of an integer type; ``what`` names them in the message.
    """
    if indices.dtype.is_floating_point or indices.dtype.is_complex or indices.dtype == torch.bool:
        raise ValueError(f"{what}: whole numbers expected, got a tensor of {str(indices.dtype)[6:]}")
    if indices.numel() == 0:
        return False
    low, high = map(int, read(*torch.aminmax(indices)))
    if low == none and high < first + count:
        return True
    if low < first or high >= first + count:
        bad = low if low < first else high
        raise ValueError(f"{what}: {bad} is not one of {first} to {first + count - 1}")
    return False


def check_shape(t: Tensor, shape: tuple[int, ...] | torch.Size, what: str) -> None:
    """Raises ValueError unless a tensor has these sizes."""
    if tuple(t.shape) != tuple(shape):
        expected, got = (" x ".join(map(str, sizes)) or "one number" for sizes in (shape, t.shape))
        raise ValueError(f"{what}: {expected} expected, got {got}")
