"""Batch normalisation: the interface of its kernels, and the one by PyTorch's operators."""

from typing import NamedTuple, Protocol

import torch
from torch import Tensor
from torch.autograd.graph import increment_version

from convnet_benchmarks.nets.engine.shapes import runs

aten = torch.ops.aten

_CACHED_BYTES = 2 << 20


class Running(NamedTuple):
    """Running statistics (C,), updated towards those of each batch by the factor ``momentum``; None: their
    cumulative average over the number of ``batches``."""

    mean: Tensor
    variance: Tensor
    batches: Tensor | None
    momentum: float | None


class BatchNormKernel(Protocol):
    """Batch normalisation, perhaps with a ReLU, of images (N, C, H, W), channels last, or of rows (N, C).

    ``masks_gradient``: whether :meth:`input_gradient` includes the ReLU's gradient; otherwise that has to be
    applied first. ``adds_gradient``: whether it can add to the contents of ``grad_in``.
    """

    masks_gradient: bool
    adds_gradient: bool

    def normalise_batch(
        self,
        x: Tensor,
        running: Running | None,
        weight: Tensor | None,
        bias: Tensor | None,
        out: Tensor,
        addend: Tensor | None = None,
    ) -> None:
        """Works like :meth:`normalise` with each channel's mean and biased variance in ``x``, so that the
        gradient passes through them too. Updates ``running`` with them and the unbiased variance."""
        ...

    def normalise(
        self,
        x: Tensor,
        mean: Tensor,
        variance: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        out: Tensor,
        addend: Tensor | None = None,
    ) -> None:
        """Fills ``out`` with weight (x - mean) / sqrt(variance + eps) + bias, plus ``addend``, and applies
        the ReLU."""
        ...

    def input_gradient(
        self,
        x: Tensor,
        grad_out: Tensor,
        weight: Tensor | None,
        grad_in: Tensor,
        output: Tensor | None = None,
        add: bool = False,
    ) -> None:
        """Fills ``grad_in``, or with ``add`` adds to it, for the statistics of the last forward pass.
        ``grad_in`` may be ``grad_out`` itself.

        ``output`` is needed if the kernel masks and there was an addend: the ReLU's gradient is then
        applied to ``grad_out`` itself. With n values per channel, d = x - mean and s the inverse deviation:

        grad_in = weight s (grad_out - sum(grad_out) / n - d s^2 sum(grad_out d) / n)

        The two sums are the gradient of the bias, and that of the weight divided by s. Running statistics are
        constants: with them the gradient is the first term alone.
        """
        ...

    def add_parameter_gradients(self, grad_weight: Tensor | None, grad_bias: Tensor | None) -> None:
        """Adds the gradients (C,) that belong to the last input gradient to those that are given."""
        ...


class OperatorBatchNorm:
    """See :class:`BatchNormKernel`; for any dtype, and for (N, C, length) too."""

    masks_gradient = False
    adds_gradient = False

    def __init__(self, relu: bool, eps: float, dtype: torch.dtype) -> None:
        self._relu, self._eps = relu, eps
        self._by_batch = False
        self._mean = self._variance = self._inverse_deviation = torch.empty(0)
        self._of_parameters = torch.empty(0), torch.empty(0)
        # Outputs of an operator that are not needed.
        self._unused = (torch.empty(0, dtype=dtype), torch.empty(0, dtype=dtype))

    def normalise_batch(
        self,
        x: Tensor,
        running: Running | None,
        weight: Tensor | None,
        bias: Tensor | None,
        out: Tensor,
        addend: Tensor | None = None,
    ) -> None:
        if running is None:
            mean, variance = aten.batch_norm_update_stats(x, None, None, 0.0)
        else:
            part = part_of_batch(running)
            mean, variance = aten.batch_norm_update_stats(x, running.mean, running.variance, part)
            increment_version((running.mean, running.variance))  # PyTorch does not count these writes
        self.normalise(x, mean, variance, weight, bias, out, addend)
        self._by_batch = True

    def normalise(
        self,
        x: Tensor,
        mean: Tensor,
        variance: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        out: Tensor,
        addend: Tensor | None = None,
    ) -> None:
        # With known statistics, images are normalised one by one, so that the ReLU finds them in cache.
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
        self._mean, self._variance, self._by_batch = mean, variance, False
        self._inverse_deviation = (variance + self._eps).rsqrt_()

    def input_gradient(
        self,
        x: Tensor,
        grad_out: Tensor,
        weight: Tensor | None,
        grad_in: Tensor,
        output: Tensor | None = None,
        add: bool = False,
    ) -> None:
        in_stages = x.dtype is not torch.bfloat16  # whose 8 bits are too few for intermediate results
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
        self._of_parameters = of_weight, of_bias
        if not in_stages:
            grad_in.copy_(found)
            return
        per_channel = (-1, *[1] * (x.dim() - 2))
        scale = self._inverse_deviation if weight is None else self._inverse_deviation * weight
        count = x.numel() // scale.numel()
        by_x = -of_weight * self._inverse_deviation * scale / count
        constant = (-of_bias * scale / count - self._mean * by_x).view(per_channel)
        by_x, scale = by_x.view(per_channel), scale.view(per_channel)
        for part in _in_cache(grad_in):
            if self._by_batch:
                torch.addcmul(constant, grad_out[part], scale, out=grad_in[part])
                grad_in[part].addcmul_(x[part], by_x)
            else:
                torch.mul(grad_out[part], scale, out=grad_in[part])

    def add_parameter_gradients(self, grad_weight: Tensor | None, grad_bias: Tensor | None) -> None:
        for total, found in zip((grad_weight, grad_bias), self._of_parameters, strict=True):
            if total is not None:
                total.add_(found)


def part_of_batch(running: Running) -> float:
    """Counts a batch, and returns the factor by which the running statistics are updated."""
    if running.batches is not None:
        running.batches.add_(1)
    if running.momentum is not None:
        return running.momentum
    assert running.batches is not None
    return 1.0 / float(running.batches)


def _in_cache(tensor: Tensor) -> list[slice]:
    """Returns slices of the first dimension that stay in cache between two operators."""
    count = tensor.shape[0]
    return runs(count, max(1, count * _CACHED_BYTES // max(1, tensor.numel() * tensor.element_size())))
