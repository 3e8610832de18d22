"""Resampling of images and connectionist temporal classification, for the Lua package nnx."""

import torch
import torch.nn.functional as F
from torch import Tensor

from lua_compat.kernels.nn.layers import batched, layer_kernels
from lua_compat.kernels.results import Out

__all__ = ["ctc", "sample_anew", "sample_anew_gradient"]
SANDBOXED = __all__


def _sample_anew(x: Tensor, height: int, width: int) -> Tensor:
    """Resamples bilinearly, with the corners of both images aligned."""
    return batched(lambda t: F.interpolate(t, (height, width), mode="bilinear", align_corners=True), x, 3)


sample_anew, sample_anew_gradient = layer_kernels(_sample_anew)


def ctc(grad: Out, activations: Tensor, labels: Tensor, steps: Tensor, counts: Tensor) -> float:
    """Returns the sum of the costs; ``grad``: its gradient.

    activations: steps x batch x classes, class 0 the blank; labels: of all sequences, concatenated;
    ``counts``: the number of labels of each. A sequence too short for its labels has cost 0.
    """
    with torch.inference_mode(False), torch.enable_grad():
        leaf = activations.clone().requires_grad_()
        logs = F.log_softmax(leaf, 2)
        cost = F.ctc_loss(
            logs, labels.clone(), steps.clone(), counts.clone(), reduction="sum", zero_infinity=True
        )
        (gradient,) = torch.autograd.grad(cost, leaf)
    grad.resize_(activations.shape).copy_(gradient)
    return float(cost.detach())
