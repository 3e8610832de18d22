"""Tensors as numpy arrays."""

import numpy as np
from torch import Tensor

from lua_compat.kernels.element_types import TYPE_NAMES
from lua_compat.kernels.lua_memory import array_at


def array_of(t: Tensor) -> np.ndarray:
    """Returns a numpy view of a contiguous tensor on the CPU; it keeps the tensor alive.

    ``Tensor.numpy()`` would not do: it makes the storage one that can never be resized again.
    """
    assert t.is_contiguous() and t.device.type == "cpu"
    return array_at(t.data_ptr(), TYPE_NAMES[t.dtype], t.shape, owner=t)
