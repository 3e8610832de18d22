"""Torch7's element types in the order of their codes on the Lua side (torch/core/types.lua), from 1."""

import torch

DTYPES = (
    None,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.float32,
    torch.float64,
)

TYPE_NAMES = dict(
    zip(DTYPES[1:], ("Byte", "Char", "Short", "Int", "Long", "Half", "Float", "Double"), strict=True)
)

# CUDA's types follow in the same order.
HOST_TYPES = len(DTYPES) - 1


def dtype_of(code: int) -> torch.dtype:
    """Returns PyTorch's type of the elements of a type, CUDA's or not."""
    dtype = DTYPES[code if code <= HOST_TYPES else code - HOST_TYPES]
    assert dtype is not None
    return dtype
