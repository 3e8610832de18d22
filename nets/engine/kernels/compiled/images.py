"""Copies of images by compiled code (images.c)."""

import ctypes
from pathlib import Path

import torch
from torch import Tensor

from nets.engine.kernels.compiled import library

_SOURCE = Path(__file__).with_suffix(".c")

_Long, _Pointer = ctypes.c_long, ctypes.c_void_p


class _Job(ctypes.Structure):
    _fields_ = [
        ("source", _Pointer),
        ("from_layout", library.Layout),
        ("target", _Pointer),
        ("to_layout", library.Layout),
        ("images", _Long),
        ("channels", _Long),
        ("at_once", _Long),
        ("next", _Long),
    ]


def copy_images(source: Tensor, target: Tensor) -> None:
    """Copies images (N, H, W, C) with neighbouring channels. Raises :class:`library.NotCompiled`."""
    if source.shape != target.shape:
        raise ValueError(f"images of {tuple(source.shape)} are not {tuple(target.shape)}")
    job = _Job(
        source=source.data_ptr(),
        from_layout=library.layout(source),
        target=target.data_ptr(),
        to_layout=library.layout(target),
        images=source.shape[0],
        channels=source.shape[3],
        at_once=library.units_at_once(source.shape[0] * source.shape[1]),
    )
    library.run_on_all_threads(compiled(source.dtype).copy_images, job)


def compiled(dtype: torch.dtype) -> ctypes.CDLL:
    """Returns the library of images.c. Raises :class:`library.NotCompiled`."""
    return library.vector_library(_SOURCE, dtype)
