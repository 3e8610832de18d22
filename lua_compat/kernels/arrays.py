"""Tensors as numpy arrays."""

import numpy as np
from numpy.lib.stride_tricks import as_strided
from torch import Tensor

from lua_compat.kernels.element_types import TYPE_NAMES
from lua_compat.kernels.lua_memory import array_at


def array_of(t: Tensor) -> np.ndarray:
    """Returns a numpy view of a tensor on the CPU; it keeps the tensor alive.

    ``Tensor.numpy()`` would make it impossible to resize the storage ever again.
    """
    assert t.device.type == "cpu"
    if t.is_contiguous():
        return array_at(t.data_ptr(), TYPE_NAMES[t.dtype], t.shape, owner=t)
    extent = 1 + sum((size - 1) * step for size, step in zip(t.shape, t.stride(), strict=True))
    elements = array_at(t.data_ptr(), TYPE_NAMES[t.dtype], (extent,), owner=t)
    return as_strided(elements, t.shape, [step * t.element_size() for step in t.stride()])
