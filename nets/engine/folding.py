"""Batch normalisation with constant statistics, folded into the convolution before it."""

import threading

import torch
from torch import Tensor, nn
from torch.nn import Parameter

from convnet_benchmarks.nets.engine.memory import Memory
from convnet_benchmarks.nets.engine.weights import StaleWeightError


class FoldedNorm:
    """The weight and bias of a convolution and the batch normalisation after it, as those of one convolution.

    With scale = weight of the norm / sqrt(running variance + eps), by output channel:

        folded weight = scale * weight
        folded bias = scale * (bias - running mean) + bias of the norm

    They are recomputed when one of the six tensors has another version or address. Writes that bypass
    PyTorch's version counter are not noticed: call :meth:`invalidate` after them, or set ``checked`` to
    compare on every use and raise :class:`StaleWeightError`.
    """

    def __init__(
        self, weight: Parameter, bias: Parameter | None, norm: nn.BatchNorm2d, memory: Memory
    ) -> None:
        self._weight, self._bias, self._norm = weight, bias, norm
        self._memory = memory
        self._made_from: tuple[tuple[int, int], ...] | None = None
        self._result: tuple[Tensor, Tensor] | None = None
        self.checked = False
        self._lock = threading.Lock()

    def parameters(self) -> list[Parameter]:
        """Returns the normalisation's parameters."""
        return list(self._norm.parameters())

    def invalidate(self) -> None:
        """Makes the next use fold again."""
        self._made_from = None

    def get(self) -> tuple[Tensor, Tensor]:
        """Returns the folded weight and bias, in the same memory every time."""
        with self._lock:  # one thread folds, the others wait
            return self._get()

    def _get(self) -> tuple[Tensor, Tensor]:
        norm = self._norm
        read = (self._weight, self._bias, norm.weight, norm.bias, norm.running_mean, norm.running_var)
        sources = tuple((tensor._version, tensor.data_ptr()) for tensor in read if tensor is not None)
        if self._result is None:
            # Separate: parts of one mapping share a version, and kernels would copy the weight again.
            self._result = (
                self._memory.lasting(self._weight.shape, self._weight.dtype),
                self._memory.lasting(self._weight.shape[:1], self._weight.dtype),
            )
        if sources != self._made_from:
            self._fold(*self._result)
            self._made_from = sources
        elif self.checked:
            again = (torch.empty_like(self._result[0]), torch.empty_like(self._result[1]))
            self._fold(*again)
            if not all(map(torch.equal, again, self._result)):
                raise StaleWeightError(
                    "a weight or a statistic of a batch normalisation changed without PyTorch noticing "
                    "(a write through .data, numpy or a memory map): call invalidate() after such a write"
                )
        return self._result

    def _constants(self) -> tuple[Tensor, Tensor, Tensor]:
        """Returns by channel, in float64: the inverse deviation, the scale, and the bias less the mean."""
        norm = self._norm
        assert norm.running_mean is not None and norm.running_var is not None
        inverse = (norm.running_var.double() + norm.eps).rsqrt_()
        scale = inverse if norm.weight is None else inverse * norm.weight.detach()
        shift = -norm.running_mean.double()
        return inverse, scale, shift if self._bias is None else shift.add_(self._bias.detach())

    def _fold(self, weight: Tensor, bias: Tensor) -> None:
        _, scale, shift = self._constants()
        torch.mul(self._weight.detach(), scale.to(weight.dtype)[:, None, None, None], out=weight)
        folded = scale * shift
        bias.copy_(folded if self._norm.bias is None else folded.add_(self._norm.bias.detach()))

    def gradients(self, weight: Tensor, bias: Tensor) -> list[tuple[Parameter | None, Tensor]]:
        """Returns the parameters' gradients, given those of the folded ``weight`` and ``bias``.

        Those of the convolution are ``scale`` times them. The norm's weight multiplies the normalised output,
        whose products with the gradient, summed over all positions, follow from the same sums: (sum of
        weight * gradient of the folded weight + (bias - mean) * gradient of the folded bias) / deviation.
        """
        inverse, scale, shift = self._constants()
        products = (self._weight.detach().double() * weight).sum((1, 2, 3))
        by_norm = (products.addcmul_(shift, bias)).mul_(inverse)
        return [
            (self._weight, weight * scale.to(weight.dtype)[:, None, None, None]),
            (self._bias, bias * scale),
            (self._norm.weight, by_norm),
            (self._norm.bias, bias),
        ]
