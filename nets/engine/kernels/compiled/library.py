"""Libraries of compiled code for tensors: for elements of one type each, and run on PyTorch's threads."""

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from convnet_benchmarks.nets.engine.kernels.compiled.compiling import (
    MOST,
    NotCompiled,
    library,
    vector_source,
)
from convnet_benchmarks.nets.engine.kernels.compiled.recording import note
from convnet_benchmarks.nets.torch_library import torch_library

# The type in which compiled code computes, by the type of the elements.
ARITHMETIC = {torch.float32: torch.float32, torch.float64: torch.float64, torch.bfloat16: torch.float32}

_REALS = {torch.float32: "float", torch.float64: "double"}

_UNITS = 16  # of work for each thread


def vector_library(file: Path, dtype: torch.dtype, constants: str = "", level: str = MOST) -> ctypes.CDLL:
    """Returns the library of a C file that is written with vectors.h, for elements of ``dtype``; its
    functions run on all threads. ``constants``: definitions that it needs. Raises :class:`NotCompiled`."""
    if dtype not in ARITHMETIC:
        raise NotCompiled(f"no compiled code in {dtype}")
    _parallel()
    return _with_numbered_threads(library(source_of(file, dtype, constants), level))


def source_of(file: Path, dtype: torch.dtype, constants: str = "") -> str:
    """Returns the text of the library that :func:`vector_library` gives."""
    return vector_source(file, _REALS[ARITHMETIC[dtype]], dtype is torch.bfloat16, constants)


@cache  # every product asks for its library
def _with_numbered_threads(made: ctypes.CDLL) -> ctypes.CDLL:
    """Initializes a library written with vectors.h: passes it the function that numbers threads."""
    made.number_threads_by(ctypes.cast(torch_library().omp_get_thread_num, ctypes.c_void_p))
    return made


def units_at_once(count: int) -> int:
    """Returns how many of ``count`` units a thread takes at once: few enough that a slow thread leaves work
    to others; otherwise as many as possible, since they are contiguous in memory."""
    return max(1, count // (_UNITS * torch.get_num_threads()))


def check_channels(tensor: Tensor) -> None:
    """Raises ValueError if the last dimension is not contiguous in memory."""
    if tensor.shape[-1] > 1 and tensor.stride(-1) != 1:
        raise ValueError("channels must be contiguous in memory")


class Layout(ctypes.Structure):
    """Describes the memory layout of images: vectors.h's ``layout``."""

    _fields_ = [("height", ctypes.c_long), ("width", ctypes.c_long), ("strides", ctypes.c_long * 3)]


def layout(images: Tensor) -> Layout:
    """Returns the layout of images (batch, row, column, channel). Raises as :func:`check_channels`."""
    check_channels(images)
    return Layout(images.shape[1], images.shape[2], images.stride()[:3])


def run_on_all_threads(function: Any, job: ctypes.Structure) -> None:
    """Calls ``function(&job)`` on every thread that PyTorch's operators would use here, at the same time.

    The threads are PyTorch's own: any others would compete with them for the cores.
    """
    note(function, job)
    threads = torch.get_num_threads()
    if threads == 1:
        function(ctypes.byref(job))
    else:
        _parallel()(ctypes.cast(function, ctypes.c_void_p), ctypes.byref(job), threads, 0)


@cache
def _parallel() -> Any:
    """Returns GNU OpenMP's function that runs a parallel region, which LLVM's has, too. Raises
    :class:`NotCompiled`."""
    try:
        found = torch_library().GOMP_parallel
    except (StopIteration, OSError, AttributeError) as error:
        raise NotCompiled("this PyTorch's threads cannot be called from here") from error
    found.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint]
    found.restype = None
    return found
