"""Max-pooling of images: its geometry, its interface, and the kernel by PyTorch's operators."""

from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn

from convnet_benchmarks.nets.pair import pair

aten = torch.ops.aten

Pair = tuple[int, int]


class Window(NamedTuple):
    """A pooling's geometry, vertically and horizontally, in pixels."""

    kernel: Pair
    stride: Pair
    padding: Pair
    dilation: Pair
    ceil_mode: bool


class MaxPooling(Protocol):
    """Max-pooling of images (N, H, W, C) with contiguous channels to ``out`` (N, H', W', C).

    ``places`` has the size of ``out`` and the type ``places_dtype``: the position of every result in the
    image, which the gradient uses. ``masks_gradient``: whether :meth:`input_gradient` includes the gradient
    of a ReLU that :meth:`forward` applied; otherwise that has to be applied first.
    """

    places_dtype: torch.dtype
    masks_gradient: bool

    def forward(self, x: Tensor, out: Tensor, places: Tensor, relu: bool) -> None: ...

    def input_gradient(self, grad_out: Tensor, x: Tensor, places: Tensor, grad_in: Tensor) -> None: ...


class OperatorMaxPooling:
    """See :class:`MaxPooling`; for any dtype."""

    places_dtype = torch.int64
    masks_gradient = False

    def __init__(self, window: Window) -> None:
        self._window = window

    def forward(self, x: Tensor, out: Tensor, places: Tensor, relu: bool) -> None:
        aten.max_pool2d_with_indices.out(_nchw(x), *self._window, out=_nchw(out), indices=_nchw(places))
        if relu:
            out.clamp_min_(0)

    def input_gradient(self, grad_out: Tensor, x: Tensor, places: Tensor, grad_in: Tensor) -> None:
        aten.max_pool2d_with_indices_backward.grad_input(
            _nchw(grad_out), _nchw(x), *self._window, _nchw(places), grad_input=_nchw(grad_in)
        )


def window_of(pool: nn.MaxPool2d) -> Window:
    stride = pool.kernel_size if pool.stride is None else pool.stride
    return Window(
        pair(pool.kernel_size), pair(stride), pair(pool.padding), pair(pool.dilation), pool.ceil_mode
    )


def _nchw(images: Tensor) -> Tensor:
    return images.permute(0, 3, 1, 2)
