"""Batch, local and contrast normalization, and norms of rows."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from lua_compat.torch_modules.base import Torch7Module


class _OneSampleRules:
    """The rules of Torch7's batch normalization that torch.nn's lacks, mixed into nn.BatchNorm1d/2d/3d.

    Training on a batch of one sample uses the running statistics without changing them; when evaluating, an
    input without a batch dimension is accepted.
    """

    sample_dims: int

    def forward(self, input: Tensor) -> Tensor:
        assert isinstance(self, nn.modules.batchnorm._BatchNorm)
        if not self.training and input.dim() == self.sample_dims:
            return self._running(input.unsqueeze(0)).squeeze(0)
        if self.training and input.shape[0] == 1:
            return self._running(input)
        return super().forward(input)  # type: ignore[misc]

    def _running(self, input: Tensor) -> Tensor:
        assert isinstance(self, nn.modules.batchnorm._BatchNorm)
        return functional.batch_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias, False, 0.0, self.eps
        )


class BatchNormalization(_OneSampleRules, nn.BatchNorm1d):
    sample_dims = 1


class SpatialBatchNormalization(_OneSampleRules, nn.BatchNorm2d):
    sample_dims = 3


class VolumetricBatchNormalization(_OneSampleRules, nn.BatchNorm3d):
    sample_dims = 4


class SpatialCrossMapLRN(nn.LocalResponseNorm):
    """nn.LocalResponseNorm that treats three dimensions as one image."""

    def forward(self, input: Tensor) -> Tensor:
        return super().forward(input.unsqueeze(0)).squeeze(0) if input.dim() == 3 else super().forward(input)


class Normalize(Torch7Module):
    """Each row divided by its ``p``-norm, (sum |x|^p + eps)^(1/p); p may be infinite: max |x| + eps."""

    p: float
    eps: float

    def forward(self, input: Tensor) -> Tensor:
        if self.p == float("inf"):
            return input / (input.abs().amax(-1, keepdim=True) + self.eps)
        powers = input.abs().pow(self.p).sum(-1, keepdim=True) + self.eps
        return input / powers.pow(1 / self.p)


def _fix(module: nn.Module) -> None:
    """Turns untrained parameters into buffers."""
    for part in module.modules():
        for name, parameter in list(part.named_parameters(recurse=False)):
            delattr(part, name)
            part.register_buffer(name, parameter.detach())


class SpatialSubtractiveNormalization(Torch7Module):
    """Subtracts the local mean over all planes; at the border the mean of what is inside the image.

    ``meanestimator``: maps planes to their sum weighted by ``kernel``, in every plane.
    """

    meanestimator: nn.Module
    nInputPlane: int
    kernel: Tensor

    def __init__(self, **fields: Any) -> None:
        super().__init__(**fields)
        _fix(self.meanestimator)

    def forward(self, input: Tensor) -> Tensor:
        return input - self._estimated(self.meanestimator, input) / self._inside(input)

    def _estimated(self, estimator: nn.Module, input: Tensor) -> Tensor:
        """Returns the estimator's result for each element; it adds a dimension for the planes."""
        estimate: Tensor = estimator(input)
        return estimate.reshape(input.shape)

    def _inside(self, input: Tensor) -> Tensor:
        """Returns how much of the kernel is inside the image, for each position of one image."""
        with torch.no_grad():
            return self._estimated(
                self.meanestimator, torch.ones_like(input[0] if input.dim() == 4 else input)
            )


class SpatialDivisiveNormalization(SpatialSubtractiveNormalization):
    """Divides by the local standard deviation over all planes, which is replaced by ``thresval`` if it is not
    above ``threshold``."""

    stdestimator: nn.Module
    threshold: float
    thresval: float

    def __init__(self, **fields: Any) -> None:
        super().__init__(**fields)
        _fix(self.stdestimator)

    def forward(self, input: Tensor) -> Tensor:
        deviation = self._estimated(self.stdestimator, input) / self._inside(input)
        return input / functional.threshold(deviation, self.threshold, self.thresval)
