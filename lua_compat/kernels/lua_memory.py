"""Memory that a Lua state owns, as numpy arrays: for kernels that do not need PyTorch."""

import ctypes
import math
from collections.abc import Sequence

import numpy as np

from lua_compat.t7.elements import TENSOR_DTYPES


def array_at(address: float, type_name: str, shape: Sequence[float], owner: object = None) -> np.ndarray:
    """Returns the elements of a contiguous tensor, ``type_name`` 'Byte', 'Double' and so on, without copying.

    The array keeps the ``owner`` of the memory alive; without one the caller keeps the tensor.
    """
    dtype = np.dtype(TENSOR_DTYPES[f"torch.{type_name}Tensor"])
    sizes = tuple(int(size) for size in shape)
    count = math.prod(sizes)
    if count == 0:
        return np.empty(sizes, dtype)
    memory = (ctypes.c_char * (count * dtype.itemsize)).from_address(int(address))
    memory.owner = owner  # type: ignore[attr-defined]  # the array has a reference to the memory
    return np.ndarray(sizes, dtype, buffer=memoryview(memory))
