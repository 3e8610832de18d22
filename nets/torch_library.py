"""PyTorch's CPU library, for its C interface: threads and BLAS."""

import ctypes
from functools import cache
from pathlib import Path

import torch


@cache
def torch_library() -> ctypes.CDLL:
    """Opens the library, and through it the OpenMP runtime that it is linked with."""
    return ctypes.CDLL(str(next((Path(torch.__file__).parent / "lib").glob("*torch_cpu.*"))))
