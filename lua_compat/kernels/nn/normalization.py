"""Normalization: of batches (features are the second dimension), across planes, and of vectors.

PyTorch's operators read all their tensors in the memory format of the first that looks channels-last, which
one with a dimension of size 1 may do by its strides alone. So they get contiguous tensors.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from lua_compat.kernels.nn.layers import batched, layer_kernels
from lua_compat.kernels.nn.sizes import check_same_shape, sizes_text
from lua_compat.kernels.results import Out, Scalar

__all__ = [
    "batch_normalization", "batch_normalization_gradients", "cross_map_lrn", "cross_map_lrn_gradient",
    "normalize", "normalize_gradient",
]  # fmt: skip
SANDBOXED = __all__

_aten = torch.ops.aten


def _check_planes(x: Tensor, *of_planes: Tensor | None) -> None:
    """Raises ValueError unless each of the others has one element for each plane; PyTorch does not check."""
    planes = x.shape[1] if x.dim() > 1 else 0
    for each in of_planes:
        if each is not None and tuple(each.shape) != (planes,):
            raise ValueError(f"batch normalization: {planes} numbers expected, got {sizes_text(each)}")


def _statistics(t: Tensor | None) -> Tensor | None:
    """Returns per-plane numbers as PyTorch expects them: contiguous, and halves in single precision."""
    return t if t is None else _single(t).contiguous()


def _takes(x: Tensor, out: Tensor, *of_planes: Tensor) -> bool:
    """Returns whether the results can be written directly; otherwise they are copied."""
    planes = tuple(x.shape[1:2])
    if x.is_contiguous() and not _apart(out, x):
        return False
    same = all(one.dtype is x.dtype and one.is_contiguous() for one in (out, *of_planes))
    sizes = out.shape == x.shape and all(tuple(one.shape) == planes for one in of_planes)
    return same and sizes and x.dtype is not torch.float16


def _apart(a: Tensor, b: Tensor) -> bool:
    """Returns whether two contiguous tensors do not overlap in memory, whatever their storages."""
    first, second = sorted((a, b), key=Tensor.data_ptr)
    return first.data_ptr() + first.nbytes <= second.data_ptr()


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
    """Normalizes. ``train``: by the batch, whose mean and 1 / standard deviation go to save_mean and
    save_std; this also updates the running statistics. Otherwise by the running statistics."""
    _check_planes(x, weight, bias, running_mean, running_var)
    moved = _single(running_mean), _single(running_var)
    x = x.contiguous()
    on_floats = train and x.device.type == "cpu" and x.dtype is torch.float32
    as_before = [one.clone() for one in moved] if on_floats else []
    if train and _takes(x, out, save_mean, save_std):
        result, mean, inverse_std = out, save_mean, save_std
        _aten.native_batch_norm.out(
            x, weight, bias, *moved, train, momentum, eps,
            out=out, save_mean=save_mean, save_invstd=save_std,
        )  # fmt: skip
    else:
        result, mean, inverse_std = _aten.native_batch_norm(
            x, _statistics(weight), _statistics(bias), *moved, train, momentum, eps
        )
    if on_floats and _overflow(x, mean, inverse_std):
        for one, before in zip(moved, as_before, strict=True):
            one.copy_(before)
        result, mean, inverse_std = _by_overflowing_sums(x, weight, bias, *moved, momentum, eps)
    if result is not out:
        out.resize_(x.shape)
        out.copy_(result)
    if train and mean is not save_mean:
        save_mean.copy_(mean)
        save_std.copy_(inverse_std)
    if train and moved[0] is not running_mean:
        running_mean.copy_(moved[0])
        running_var.copy_(moved[1])


def _by_plane(x: Tensor) -> Tensor:
    """Returns a row for each plane."""
    return x.transpose(0, 1).flatten(1)


def _overflow(x: Tensor, mean: Tensor, inverse_std: Tensor) -> bool:
    """Returns whether a sum of floats, or the square of a difference, may have overflowed in single
    precision."""
    if mean.numel() == 0:
        return False
    count, most = x.numel() // mean.numel(), torch.finfo(torch.float32).max
    sums, least = float(mean.abs().max()) * count, float(inverse_std.min())
    return not (sums <= most and least >= math.sqrt(count / most))  # NaNs, too


def _by_overflowing_sums(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the result, the mean and 1 / standard deviation, and updates the running statistics, as THNN
    does: it rounds a sum to a float before dividing it, and each square before adding it, where PyTorch
    continues in double precision."""
    planes = x.shape[1]
    by_plane = _by_plane(x)
    count = by_plane.shape[1]
    mean = by_plane.double().sum(1).float() / count
    squares = (by_plane - mean[:, None]).square().double().sum(1)
    inverse_std = (squares / count + eps).rsqrt().float()
    broadcast = (1, planes) + (1,) * (x.dim() - 2)
    result = (x - mean.view(broadcast)) * inverse_std.view(broadcast)
    if weight is not None:
        result = result * weight.view(broadcast)
    if bias is not None:
        result = result + bias.view(broadcast)
    running_mean.copy_(momentum * mean + (1 - momentum) * running_mean)
    running_var.copy_((momentum * squares / (count - 1)).float() + (1 - momentum) * running_var)
    return result, mean, inverse_std


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
    """Replaces grad_input; adds scale times the others to grad_weight and grad_bias."""
    check_same_shape(x, grad_output)
    _check_planes(x, weight, running_mean, running_var, save_mean, save_std)
    mask = [grad_input is not None, grad_weight is not None, grad_bias is not None]
    # CUDA's kernel uses the batch's statistics if they are given, even if told not to.
    of_batch = [one if train else one.new_empty(0) for one in (save_mean, save_std)]
    statistics = [_statistics(one) for one in (weight, running_mean, running_var, *of_batch)]
    inputs, weights, biases = _aten.native_batch_norm_backward(
        grad_output.contiguous(), x.contiguous(), *statistics, train, eps, mask
    )
    if grad_input is not None:
        grad_input.copy_(inputs)
    if x.device.type == "cpu":  # THNN's sums stay in double precision, PyTorch's do not
        if grad_weight is not None and not weights.isfinite().all():
            mean = save_mean if train else running_mean
            inverse_std = save_std if train else (running_var + eps).rsqrt()
            products = (_by_plane(x) - mean[:, None]) * _by_plane(grad_output)
            weights = (products.sum(1, dtype=torch.float64) * inverse_std).to(x.dtype)
        if grad_bias is not None and not biases.isfinite().all():
            biases = _by_plane(grad_output).sum(1, dtype=torch.float64).to(x.dtype)
    if grad_weight is not None:
        grad_weight.add_(weights, alpha=scale)
    if grad_bias is not None:
        grad_bias.add_(biases, alpha=scale)


def _normalize(x: Tensor, p: Scalar, eps: Scalar) -> Tensor:
    """Rows divided by (sum |x|^p + eps)^(1/p); p infinite: by max |x| + eps."""
    if p == math.inf:
        return x / (x.abs().amax(-1, keepdim=True) + eps)
    return x / (x.abs().pow(p).sum(-1, keepdim=True) + eps).pow(1 / p)


def _normalize_gradient(x: Tensor, grad: Tensor, p: Scalar, eps: Scalar) -> Tensor:
    """For infinite p only the first maximum has a gradient; as in Torch7, eps keeps negative powers
    finite."""
    products = (x * grad).sum(-1, keepdim=True)
    size = x.abs()
    if p == math.inf:
        place = size.argmax(-1, keepdim=True)
        length = size.gather(-1, place) + eps
        of_largest = products / length.square() * (x.gather(-1, place) / length)
        return (grad / length).scatter_add(-1, place, -of_largest)
    powers = size.pow(p).sum(-1, keepdim=True) + eps
    length = powers.pow(1 / p)
    slopes = x * ((size + eps) if p < 2 else size).pow(p - 2)
    return grad / length - products / (powers * length) * slopes


normalize, normalize_gradient = layer_kernels(_normalize, _normalize_gradient, lambda x, p, eps: x.shape)


def _sums_of_planes(x: Tensor, before: int, after: int) -> Tensor:
    """Returns for each plane of a batch of images the sum of it, those before and those after it."""
    padded = F.pad(x.unsqueeze(1), (0, 0, 0, 0, before, after))
    return F.avg_pool3d(padded, (before + after + 1, 1, 1), 1, divisor_override=1).squeeze(1)


def _single(x: Tensor) -> Tensor:
    """Returns halves in single precision: their squares overflow, and PyTorch does not pool them on a CPU."""
    return x.float() if x.dtype == torch.float16 else x


def _cross_map_lrn(x: Tensor, size: Scalar, alpha: Scalar, beta: Scalar, k: Scalar) -> Tensor:
    return batched(lambda images: F.local_response_norm(images, int(size), alpha, beta, k), _single(x), 3).to(
        x.dtype
    )


def _cross_map_lrn_gradient(
    x: Tensor, grad: Tensor, size: Scalar, alpha: Scalar, beta: Scalar, k: Scalar
) -> Tensor:
    """The layer is x * s^-beta, where s is k + alpha times the mean of the squares in a window."""
    before, after = int(size) // 2, (int(size) - 1) // 2
    images, grads = (_single(t if t.dim() == 4 else t.unsqueeze(0)) for t in (x, grad))
    s = k + alpha / size * _sums_of_planes(images.square(), before, after)
    power = s.pow(-beta)
    # each plane is in the windows of those from ``after`` before it to ``before`` after it
    through = _sums_of_planes(grads * images * power / s, after, before)
    return (grads * power - 2 * alpha * beta / size * images * through).view(x.shape).to(x.dtype)


cross_map_lrn, cross_map_lrn_gradient = layer_kernels(
    _cross_map_lrn, _cross_map_lrn_gradient, lambda x, size, alpha, beta, k: x.shape
)
