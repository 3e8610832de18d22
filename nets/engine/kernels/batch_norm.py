"""Batch normalisation: what a layer asks of it, and how PyTorch's operators run it."""

from typing import Protocol

import torch
from torch import Tensor

from nets.engine.shapes import runs

aten = torch.ops.aten

_CACHED_BYTES = 2 << 20


class BatchNormKernel(Protocol):
    """Batch normalisation, perhaps with a ReLU, of images (N, C, H, W), channels last, or of rows (N, C).

    ``masks_gradient``: whether :meth:`input_gradient` includes the ReLU's gradient; otherwise that has to be
    applied before.
    """

    masks_gradient: bool

    def statistics(
        self, x: Tensor, running_mean: Tensor | None, running_variance: Tensor | None, momentum: float
    ) -> tuple[Tensor, Tensor]:
        """Returns each channel's mean and biased variance (C,). The running statistics, if any, go towards
        them, and towards the unbiased variance, by a part of ``momentum``."""
        ...

    def forward(
        self,
        x: Tensor,
        mean: Tensor,
        variance: Tensor,
        by_batch: bool,
        weight: Tensor | None,
        bias: Tensor | None,
        out: Tensor,
        addend: Tensor | None = None,
    ) -> None:
        """Fills ``out`` with weight (x - mean) / sqrt(variance + eps) + bias, plus ``addend``, and applies
        the ReLU. ``by_batch``: the statistics are those of x, so that its gradient goes through them too."""
        ...

    def input_gradient(
        self, x: Tensor, grad_out: Tensor, weight: Tensor | None, grad_in: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Fills ``grad_in`` for the last forward's statistics; returns the gradients of weight and bias (C,).
        With an addend the ReLU's gradient has to be applied before.

        With n values per channel, d = x - mean and s the inverse deviation:

        grad_in = weight s (grad_out - sum(grad_out) / n - d s^2 sum(grad_out d) / n)

        The two sums are the bias' gradient, and the weight's over s. Running statistics are constants: their
        gradient is the first term alone.
        """
        ...


class OperatorBatchNorm:
    """See :class:`BatchNormKernel`; for any dtype, and for (N, C, length) too."""

    masks_gradient = False

    def __init__(self, relu: bool, eps: float, dtype: torch.dtype) -> None:
        self._relu, self._eps = relu, eps
        self._by_batch = False
        self._mean = self._variance = self._inverse_deviation = torch.empty(0)
        # Statistics that an operator gives once more.
        self._unused = (torch.empty(0, dtype=dtype), torch.empty(0, dtype=dtype))

    def statistics(
        self, x: Tensor, running_mean: Tensor | None, running_variance: Tensor | None, momentum: float
    ) -> tuple[Tensor, Tensor]:
        mean, variance = aten.batch_norm_update_stats(x, running_mean, running_variance, momentum)
        return mean, variance

    def forward(
        self,
        x: Tensor,
        mean: Tensor,
        variance: Tensor,
        by_batch: bool,
        weight: Tensor | None,
        bias: Tensor | None,
        out: Tensor,
        addend: Tensor | None = None,
    ) -> None:
        # With the statistics known a batch is normalised image by image, and the ReLU finds them in cache.
        for part in _in_cache(out):
            aten.native_batch_norm.out(
                x[part],
                weight,
                bias,
                mean,
                variance,
                False,
                0.0,
                self._eps,
                out=out[part],
                save_mean=self._unused[0],
                save_invstd=self._unused[1],
            )
            if addend is not None:
                out[part].add_(addend[part])
            if self._relu:
                out[part].clamp_min_(0)
        self._mean, self._variance, self._by_batch = mean, variance, by_batch
        self._inverse_deviation = (variance + self._eps).rsqrt_()

    def input_gradient(
        self, x: Tensor, grad_out: Tensor, weight: Tensor | None, grad_in: Tensor
    ) -> tuple[Tensor, Tensor]:
        in_stages = x.dtype is not torch.bfloat16  # whose 8 bits must not be rounded to in between
        found, of_weight, of_bias = aten.native_batch_norm_backward(
            grad_out,
            x,
            weight,
            self._mean,
            self._variance,
            self._mean,
            self._inverse_deviation,
            self._by_batch,
            self._eps,
            [not in_stages, True, True],
        )
        if not in_stages:
            grad_in.copy_(found)
            return of_weight, of_bias
        per_channel = (-1, *[1] * (x.dim() - 2))
        scale = self._inverse_deviation if weight is None else self._inverse_deviation * weight
        count = x.numel() // scale.numel()
        by_x = -of_weight * self._inverse_deviation * scale / count
        constant = (-of_bias * scale / count - self._mean * by_x).view(per_channel)
        by_x, scale = by_x.view(per_channel), scale.view(per_channel)
        for part in _in_cache(grad_in):
            if self._by_batch:
                torch.addcmul(constant, x[part], by_x, out=grad_in[part])
                grad_in[part].addcmul_(grad_out[part], scale)
            else:
                torch.mul(grad_out[part], scale, out=grad_in[part])
        return of_weight, of_bias


def _in_cache(tensor: Tensor) -> list[slice]:
    """Slices of the first dimension, each of a size that stays in cache between two operators."""
    count = tensor.shape[0]
    return runs(count, max(1, count * _CACHED_BYTES // max(1, tensor.numel() * tensor.element_size())))
