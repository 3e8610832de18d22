"""Losses and their gradients with respect to the input, for nn's criterions."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from lua_compat.kernels.nn.layers import gradients, rounded
from lua_compat.kernels.nn.sizes import argument_error
from lua_compat.kernels.results import Out, Scalar, read

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_gradient", "class_nll", "class_nll_gradient",
    "cosine_embedding",
    "cosine_embedding_gradients", "elementwise_loss", "elementwise_loss_gradient", "loss", "loss_gradient",
]  # fmt: skip
SANDBOXED = __all__

_MEAN, _SUM = 1, 2
_NOT_COUNTED = -100
_WRONG_CLASS = "Assertion `cur_target >= 0 && cur_target < n_classes' failed. "
_aten = torch.ops.aten


def _classes(x: Tensor, target: Tensor, ignored: int) -> Tensor:
    """Classes from 0; Torch7 counts from 1."""
    low, high = torch.aminmax(target)
    if low < 1 or high > x.shape[-1]:  # ignored or invalid classes
        wrong = target[(target != ignored) & ((target < 1) | (target > x.shape[-1]))]
        if wrong.numel():
            raise ValueError(_WRONG_CLASS)
    return target - 1


def _classes_on_device(x: Tensor, target: Tensor, ignored: int) -> Tensor:
    """Classes from 0, without waiting for the device: ignored and invalid ones are _NOT_COUNTED."""
    classes = target - 1
    inside = classes.clamp(0, x.shape[-1] - 1) == classes
    if 1 <= ignored <= x.shape[-1]:
        inside &= target != ignored
    return torch.where(inside, classes, _NOT_COUNTED)


def class_nll(
    total_weight: Tensor, x: Tensor, target: Tensor, weights: Tensor | None, average: bool, ignored: int
) -> tuple[float, float]:
    """Returns -x[target], weighted, summed over the batch or (``average``) divided by the sum of the weights,
    and that sum, which is also written to total_weight, of one element."""
    batch = x.reshape(-1, x.shape[-1])
    reduction = _MEAN if average else _SUM
    wrong: tuple[Tensor, ...] = ()
    if x.is_cuda:
        labels = target.reshape(-1)
        classes = _classes_on_device(batch, labels, ignored)
        counted = classes != _NOT_COUNTED
        wrong = (((labels != ignored) > counted).any().to(x.dtype),)
        loss, total = _aten.nll_loss_forward(batch, classes, weights, reduction, _NOT_COUNTED)
        if not average:
            total = counted.sum() if weights is None else weights[classes.clamp_(min=0)].mul_(counted).sum()
    else:
        classes = _classes(batch, target.reshape(-1), ignored)
        counted = classes != ignored - 1
        if not counted.all():  # leaves out the ignored rows
            batch, classes = batch[counted], classes[counted]
        loss, total = _aten.nll_loss_forward(batch, classes, weights, reduction, ignored - 1)
        if not average:
            total = (batch.new_ones(batch.shape[1]) if weights is None else weights)[classes].sum()
    total_weight.copy_(total)
    sum_of_losses, sum_of_weights, *is_wrong = read(loss, total.to(x.dtype), *wrong)
    if any(is_wrong):
        raise ValueError(_WRONG_CLASS)
    return sum_of_losses if sum_of_weights != 0 else 0.0, sum_of_weights  # 0: every row was ignored


def class_nll_gradient(
    grad: Out,
    x: Tensor,
    target: Tensor,
    weights: Tensor | None,
    total_weight: Tensor,
    average: bool,
    ignored: int,
) -> None:
    """Computes the gradient; on a device an invalid class is ignored, because the loss has reported it."""
    batch = x.reshape(-1, x.shape[-1])
    labels, on_device = target.reshape(-1), x.is_cuda
    if on_device:
        classes, not_counted = _classes_on_device(batch, labels, ignored), _NOT_COUNTED
    else:
        classes, not_counted = _classes(batch, labels, ignored), ignored - 1
    reduction = _MEAN if average else _SUM
    total = total_weight.to(x.dtype).reshape(())
    result = _aten.nll_loss_backward(x.new_ones(()), batch, classes, weights, reduction, not_counted, total)
    grad.resize_(x.shape)
    if on_device:
        if weights is not None:  # without them the total is 0 only if all rows are ignored
            result = torch.where(total > 0, result, 0)
    elif not total.item() > 0:
        grad.zero_()
        return
    grad.copy_(result.reshape(x.shape))


def _soft_margin_gradient(x: Tensor, y: Tensor) -> Tensor:
    z = torch.exp(-x * y)  # infinite for large negative x * y, where the gradient is NaN, as in Torch7
    return -y * z / (1 + z)


_LOSSES = {
    "mse": (lambda x, y: (x - y).square(), lambda x, y: 2 * (x - y)),
    "absolute": (lambda x, y: (x - y).abs(), lambda x, y: torch.where(x >= y, 1.0, -1.0).to(x.dtype)),
    "smooth_l1": (
        lambda x, y: F.smooth_l1_loss(x, y, reduction="none"),
        lambda x, y: (x - y).clamp(-1, 1),
    ),
    "soft_margin": (lambda x, y: torch.log(1 + torch.exp((-x * y).double())), _soft_margin_gradient),
    "kl_divergence": (
        lambda x, y: torch.where(y > 0, y * (torch.log(y) - x), 0.0),
        lambda x, y: torch.where(y > 0, -y, 0.0),
    ),
}


def elementwise_loss(x: Tensor, target: Tensor, name: str, average: bool) -> float:
    """Returns the sum, or mean, of a function of each element of input and target; halves are computed in
    single precision, as in cunn."""
    if x.dtype == torch.float16:
        x, target = x.float(), target.float()
    values = _LOSSES[name][0](x, target.reshape(x.shape)).double()
    return (values.mean() if average else values.sum()).item()


def elementwise_loss_gradient(grad: Out, x: Tensor, target: Tensor, name: str, average: bool) -> None:
    result = _LOSSES[name][1](x, target.reshape(x.shape))
    grad.resize_(x.shape)
    grad.copy_(result / x.numel() if average else result)


_BCE_EPSILON = 1e-12  # keeps the logarithms finite


def _per_element(weights: Tensor | None, x: Tensor) -> Tensor | float:
    return 1.0 if weights is None else weights.expand_as(x)


def binary_cross_entropy(x: Tensor, target: Tensor, weights: Tensor | None, average: bool) -> float:
    """Returns the loss of probabilities x and targets between 0 and 1; ``weights``: one per column."""
    wrong = x[~((x >= 0) & (x <= 1))]
    if wrong.numel():
        what = f"input value should be between 0~1, but got {wrong[0].item():f}"
        raise ValueError(f"Assertion `x >= 0. && x <= 1.' failed. {what}")
    y = target.reshape(x.shape)
    logs = torch.log(x + _BCE_EPSILON) * y + torch.log(1 - x + _BCE_EPSILON) * (1 - y)
    values = -(logs * _per_element(weights, x)).double()
    return (values.mean() if average else values.sum()).item()


def binary_cross_entropy_gradient(
    grad: Out, x: Tensor, target: Tensor, weights: Tensor | None, average: bool
) -> None:
    y = target.reshape(x.shape)
    result = (x - y) / ((1 - x + _BCE_EPSILON) * (x + _BCE_EPSILON)) * _per_element(weights, x)
    grad.resize_(x.shape)
    grad.copy_(result / x.numel() if average else result)


def _margin(x: Tensor, y: Tensor, weights: None, average: bool, margin: float) -> Tensor:
    z = margin - x * y.reshape(x.shape)
    values = torch.where(z > 0, z, 0.0)
    return values.mean() if average else values.sum()


def _hinge_embedding(x: Tensor, y: Tensor, weights: None, average: bool, margin: float) -> Tensor:
    y = y.reshape(x.shape)
    values = torch.where(y == -1, 0.0, x) + torch.where((y == 1) | (x > margin), 0.0, margin - x)
    return values.mean() if average else values.sum()


def _hinge_embedding_gradient(x: Tensor, y: Tensor, average: bool, margin: float) -> Tensor:
    """Returns y where there is a loss: Torch7's gradient, whatever y is."""
    y = y.reshape(x.shape)
    result = torch.where((y == -1) & (x > margin), 0.0, y)
    return result / x.numel() if average else result


def _check_rows(x: Tensor) -> None:
    if x.dim() not in (1, 2) or not x.numel():
        raise argument_error(2, "vector or matrix expected")


def _multi_margin(
    x: Tensor, y: Tensor, weights: Tensor | None, average: bool, p: int, margin: float
) -> Tensor:
    _check_rows(x)
    rows = x.reshape(-1, x.shape[-1])
    classes = y.reshape(-1).long() - 1
    if classes.numel() != len(rows):
        raise argument_error(3, "inconsistent target size")
    if bool(((classes < 0) | (classes >= rows.shape[1])).any()):
        raise argument_error(3, "target out of range")
    return F.multi_margin_loss(rows, classes, int(p), margin, weights, reduction="mean" if average else "sum")


def _multi_label_margin(x: Tensor, y: Tensor, weights: None, average: bool) -> Tensor:
    """y: the classes of each row, from 1; a 0 ends them."""
    _check_rows(x)
    if y.shape != x.shape:
        raise argument_error(3, "inconsistent target size")
    if bool(((y.long() < 0) | (y.long() > x.shape[-1])).any()):
        raise argument_error(3, "target out of range")
    return F.multilabel_margin_loss(x, y.long() - 1, reduction="mean" if average else "sum")


def _multi_label_soft_margin(x: Tensor, y: Tensor, weights: Tensor | None, average: bool) -> Tensor:
    values = F.binary_cross_entropy_with_logits(x, y.reshape(x.shape), reduction="none") * _per_element(
        weights, x
    )
    return values.mean() if average else values.sum()


_DIFFERENTIATED: dict[str, Callable[..., Tensor]] = {
    "margin": _margin,
    "hinge_embedding": _hinge_embedding,
    "multi_margin": _multi_margin,
    "multi_label_margin": _multi_label_margin,
    "multi_label_soft_margin": _multi_label_soft_margin,
}


def loss(
    x: Tensor, target: Tensor, weights: Tensor | None, name: str, average: bool, *numbers: float
) -> float:
    numbers = rounded(numbers, x)
    return _DIFFERENTIATED[name](x, target.to(x.dtype), weights, average, *numbers).item()


def loss_gradient(
    grad: Out, x: Tensor, target: Tensor, weights: Tensor | None, name: str, average: bool, *numbers: float
) -> None:
    numbers = rounded(numbers, x)
    target = target.to(x.dtype)
    if name == "hinge_embedding":
        result = _hinge_embedding_gradient(x, target, average, *numbers)
    else:
        f = _DIFFERENTIATED[name]
        inputs = [x, target, weights]
        (result,) = gradients(lambda t, y, w: f(t, y, w, average, *numbers), inputs, [0], x.new_ones(()))
    grad.resize_(x.shape)
    grad.copy_(result)


def _cosine_embedding_losses(a: Tensor, b: Tensor, y: Tensor, margin: float) -> Tensor:
    """The loss of each row; where y is not 1, that of a NaN is 0."""
    squares = (a.square().sum(-1) + 1e-12) * (b.square().sum(-1) + 1e-12)
    cosines = ((a * b).sum(-1) / squares.sqrt()).reshape(-1)
    over = cosines - margin
    return torch.where(y.reshape(-1) == 1, 1 - cosines, torch.where(over > 0, over, 0.0))


def _cosine_embedding(a: Tensor, b: Tensor, y: Tensor, margin: float, average: bool) -> Tensor:
    values = _cosine_embedding_losses(a, b, y, margin)
    return values.mean() if average else values.sum()


def cosine_embedding(a: Tensor, b: Tensor, y: Tensor, margin: Scalar, average: bool) -> float:
    """Returns 1 - the cosine of the rows where y is 1, and how far the cosine exceeds margin where y is
    -1."""
    return _cosine_embedding(a, b, y, margin, average).item()


def cosine_embedding_gradients(
    grad_a: Out, grad_b: Out, a: Tensor, b: Tensor, y: Tensor, margin: Scalar, average: bool
) -> None:
    one = a.new_ones(())
    results = gradients(lambda s, t, z: _cosine_embedding(s, t, z, margin, average), [a, b, y], [0, 1], one)
    without_loss = _cosine_embedding_losses(a, b, y, margin) <= 0  # and so without gradient
    if a.dim() > 1:
        without_loss = without_loss.unsqueeze(1)
    for grad, result in zip((grad_a, grad_b), results, strict=True):
        grad.resize_(result.shape)
        grad.copy_(result.masked_fill(without_loss, 0))
