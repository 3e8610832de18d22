"""Tensors as numpy arrays."""

import ctypes

import numpy as np
import torch
from torch import Tensor

_DTYPES = {
    torch.uint8: np.uint8,
    torch.int8: np.int8,
    torch.int16: np.int16,
    torch.int32: np.int32,
    torch.int64: np.int64,
    torch.float16: np.float16,
    torch.float32: np.float32,
    torch.float64: np.float64,
}


def array_of(t: Tensor) -> np.ndarray:
    """Returns a numpy view of a contiguous tensor on the CPU; it keeps the tensor alive.

    ``Tensor.numpy()`` would not do: it makes the storage one that can never be resized again.
    """
    assert t.is_contiguous() and t.device.type == "cpu"
    dtype = np.dtype(_DTYPES[t.dtype])
    count = t.numel()
    if count == 0:
        return np.empty(t.shape, dtype)
    memory = (ctypes.c_char * (count * dtype.itemsize)).from_address(t.data_ptr())
    memory.tensor = t  # type: ignore[attr-defined]  # the view has a reference to the memory
    return np.ndarray(tuple(t.shape), dtype, buffer=memoryview(memory))
