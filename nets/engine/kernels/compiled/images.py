"""Copies of images, sums of two, gradients of ReLUs and sums over all pixels by compiled code (images.c)."""

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from convnet_benchmarks.nets.engine.kernels.compiled import library
from convnet_benchmarks.nets.engine.kernels.compiled.compiling import NotCompiled
from convnet_benchmarks.nets.engine.values import Value, to_images

_SOURCE = Path(__file__).with_suffix(".c")

_CHANNELS = 16  # summed together by a thread, at least
_MOST_CHANNELS = 64

_Long, _Pointer = ctypes.c_long, ctypes.c_void_p


class _Job(ctypes.Structure):
    _fields_ = [
        ("source", _Pointer),
        ("from_layout", library.Layout),
        ("from_channel", _Long),
        ("target", _Pointer),
        ("to_layout", library.Layout),
        ("images", _Long),
        ("channels", _Long),
        ("at_once", _Long),
        ("next", _Long),
    ]


def copy_images(source: Tensor, target: Tensor) -> None:
    """Copies images (N, H, W, C) of any strides to contiguous channels.

    Raises :class:`NotCompiled`.
    """
    library.run_on_all_threads(compiled(source.dtype).copy_images, _job(source, target))


def add_images(source: Tensor, target: Tensor) -> None:
    """Adds images (N, H, W, C) with neighbouring channels to others. Raises :class:`NotCompiled`."""
    library.check_channels(source)
    library.run_on_all_threads(compiled(source.dtype).add_images, _job(source, target))


def mask_images(source: Tensor, target: Tensor) -> None:
    """Sets ``target`` to 0 where ``source`` is not positive. Otherwise like :func:`add_images`."""
    library.check_channels(source)
    library.run_on_all_threads(compiled(source.dtype).mask_images, _job(source, target))


def add_channel_sums(rows: Tensor, total: Tensor) -> None:
    """Adds the sums over all ``rows`` (R, C), whose channels are contiguous, to ``total`` (C,), contiguous.

    Raises :class:`NotCompiled`.
    """
    images, sums = rows[None, None], total[None, None, None]
    library.check_channels(images)
    if not total.is_contiguous():
        raise ValueError("sums of channels must be contiguous in memory")
    made = compiled(rows.dtype)
    job = _job(images, sums.expand_as(images))
    share = -(-rows.shape[1] // (torch.get_num_threads() * _CHANNELS)) * _CHANNELS
    job.at_once = min(_MOST_CHANNELS, share)
    library.run_on_all_threads(made.add_channel_sums, job)


def _job(source: Tensor, target: Tensor) -> _Job:
    if source.shape != target.shape or source.dtype is not target.dtype:
        found, wanted = ((tuple(t.shape), t.dtype) for t in (source, target))
        raise ValueError(f"images of {found[0]} in {found[1]} are not {wanted[0]} in {wanted[1]}")
    return _Job(
        source=source.data_ptr(),
        from_layout=library.Layout(source.shape[1], source.shape[2], source.stride()[:3]),
        from_channel=source.stride(3),
        target=target.data_ptr(),
        to_layout=library.layout(target),
        images=source.shape[0],
        channels=source.shape[3],
        at_once=library.units_at_once(source.shape[0] * source.shape[1]),
    )


def copying(value: Value) -> Callable[[Tensor, Tensor], object]:
    """Returns a function that copies to ``value``'s data, its first argument, from a tensor of that shape and
    dtype."""
    try:
        made = compiled(value.dtype)
    except NotCompiled:
        return Tensor.copy_
    return _Copying(made.copy_images) if value.is_image else Tensor.copy_


class _Copying:
    """Copies images, in the module's shape, of one layout to a fixed address, with a job that is made
    once."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self._place: tuple[object, ...] = ()
        self._job = _Job()

    def __call__(self, target: Tensor, source: Tensor) -> None:
        if source.layout is not torch.strided or source.device != target.device or source.is_neg():
            target.copy_(source)
            return
        place = target.data_ptr(), source.stride()
        if place != self._place:
            self._place, self._job = place, _job(to_images(source), to_images(target))
        self._job.source, self._job.next = source.data_ptr(), 0
        library.run_on_all_threads(self._function, self._job)


def compiled(dtype: torch.dtype) -> ctypes.CDLL:
    """Returns the library of images.c. Raises :class:`NotCompiled`."""
    return library.vector_library(_SOURCE, dtype)
