"""Batch normalisation, forward and gradients; features are the second dimension."""

import torch
from torch import Tensor

from lua_compat.kernels.results import Out

__all__ = ["batch_normalization", "batch_normalization_gradients"]

_aten = torch.ops.aten


def batch_normalization(
    out: Out,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    save_mean: Tensor,
    save_std: Tensor,
    train: bool,
    momentum: float,
    eps: float,
) -> None:
    """``train``: normalises by the batch, whose mean and 1 / standard deviation go to save_mean and
    save_std, and moves the running statistics; otherwise by the running statistics."""
    result, mean, inverse_std = _aten.native_batch_norm(
        x, weight, bias, running_mean, running_var, train, momentum, eps
    )
    out.resize_(x.shape)
    out.copy_(result)
    if train:
        save_mean.copy_(mean)
        save_std.copy_(inverse_std)


def batch_normalization_gradients(
    grad_input: Tensor | None,
    grad_weight: Tensor | None,
    grad_bias: Tensor | None,
    x: Tensor,
    grad_output: Tensor,
    weight: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    save_mean: Tensor,
    save_std: Tensor,
    train: bool,
    scale: float,
    eps: float,
) -> None:
    """grad_input is replaced; scale times the others is added to grad_weight and grad_bias."""
    mask = [grad_input is not None, grad_weight is not None, grad_bias is not None]
    inputs, weights, biases = _aten.native_batch_norm_backward(
        grad_output, x, weight, running_mean, running_var, save_mean, save_std, train, eps, mask
    )
    if grad_input is not None:
        grad_input.copy_(inputs)
    if grad_weight is not None:
        grad_weight.add_(weights, alpha=scale)
    if grad_bias is not None:
        grad_bias.add_(biases, alpha=scale)
