"""Torch7's criterions, with separate forward and backward methods."""

import torch
from torch import Tensor


class ClassNLLCriterion:
    """Mean negative log-likelihood (``nn.ClassNLLCriterion``).

    ``input`` holds log-probabilities, (classes,) or (batch, classes); ``target`` class indices counted from
    0, shape () or (batch,): Torch7's class 1 is 0 here.
    """

    _MEAN = 1  # at::Reduction::Mean
    _IGNORE_NOTHING = -100

    def updateOutput(self, input: Tensor, target: Tensor) -> Tensor:
        """Returns the loss, a tensor of shape ()."""
        loss, self._total_weight = torch.ops.aten.nll_loss_forward(
            input, target, None, self._MEAN, self._IGNORE_NOTHING
        )
        return loss

    def updateGradInput(self, input: Tensor, target: Tensor) -> Tensor:
        """Returns the gradient of the loss, in the shape of ``input``. updateOutput has been called
        before."""
        gradient: Tensor = torch.ops.aten.nll_loss_backward(
            torch.ones((), dtype=input.dtype, device=input.device),
            input,
            target,
            None,
            self._MEAN,
            self._IGNORE_NOTHING,
            self._total_weight,
        )
        return gradient
