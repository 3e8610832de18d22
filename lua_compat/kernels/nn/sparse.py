"""Linear layers for sparse inputs, forward and gradients. Indices (keys) count from 1."""

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

from lua_compat.kernels.indices import check_indices, check_shape
from lua_compat.kernels.nn.sizes import as_output
from lua_compat.kernels.results import Out

__all__ = [
    "index_linear", "index_linear_grad_parameters", "index_linear_update", "index_linear_update_parameters",
    "sparse_linear", "sparse_linear_columns", "sparse_linear_grad_parameters",
]  # fmt: skip
SANDBOXED = __all__


def _entries(table: Tensor, columns: int, batch: int | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Returns rows and columns (from 0) and nonzero values, from entries x (row, column, value) or
    batch x entries x (column, value). ``batch``: the number of rows; None: not checked."""
    if table.dim() == 3:
        rows = torch.arange(table.shape[0], device=table.device).repeat_interleave(table.shape[1])
        places, values = table[..., 0].reshape(-1), table[..., 1].reshape(-1)
    else:
        rows, places, values = table[:, 0].long() - 1, table[:, 1], table[:, 2]
    kept = values != 0
    rows, places, values = rows[kept], places[kept].long() - 1, values[kept]
    wrong = places[(places < 0) | (places >= columns)]
    if wrong.numel():
        raise ValueError(f"index out of bound. {int(wrong[0]) + 1} not between 1 and {columns}")
    if batch is not None:
        check_indices(rows, batch, "row of a sparse input", first=0)
    return rows, places, values


def sparse_linear(out: Out, table: Tensor, weight: Tensor, bias: Tensor, batch: int) -> None:
    """Computes out (batch x outputs) = weight * input + bias, for an input whose entries ``table`` lists."""
    rows, places, values = _entries(table, weight.shape[1], batch)
    out.resize_(batch, weight.shape[0])
    out.copy_(bias.expand_as(out))
    out.index_add_(0, rows, weight[:, places].t() * values.unsqueeze(1))


def sparse_linear_grad_parameters(
    grad_weight: Tensor,
    grad_bias: Tensor,
    table: Tensor,
    grad_output: Tensor,
    weight: Tensor,
    decay: float,
    scale: float,
) -> None:
    """Adds scale times the gradients, and decay times the weight."""
    grad_output = as_output(grad_output, (len(grad_output), weight.shape[0]))
    rows, places, values = _entries(table, weight.shape[1], len(grad_output))
    grad_weight.index_add_(1, places, (grad_output[rows] * values.unsqueeze(1)).t(), alpha=scale)
    grad_bias.add_(grad_output.sum(0), alpha=scale)
    if decay != 0:
        grad_weight.add_(weight, alpha=decay)


def sparse_linear_columns(columns: Out, table: Tensor, weight: Tensor) -> None:
    """Computes the columns of weight (from 1) that the input uses, each once, in any order."""
    _, places, _ = _entries(table, weight.shape[1])
    used = torch.unique(places) + 1
    columns.resize_(used.shape)
    columns.copy_(used)


# IndexLinear. weight has a row per key. If inputs are normalized by their largest absolute value, the row
# starts with that value, its inverse, a factor for the learning rate, and the bias of the key.
_LARGEST, _INVERSE, _RATE, _KEY_BIAS, _EXTRA = range(5)
# PyTorch's operator that adds to rows has a cost per row, worth paying from this many numbers on.
_FEW_OUTPUTS = 16
# The gradients of up to this many examples are written one by one, those of more in two passes for all.
_FEW_EXAMPLES = 64
_NO_KEYS = "Keys and values should have the same number of elements"


def _rounds(rows: Tensor) -> Iterator[Tensor]:
    """Yields positions in a vector of rows, in rounds: no row appears twice in a round, and a repeated row
    keeps its order."""
    order = torch.argsort(rows, stable=True)
    ordered = rows[order]
    places = torch.arange(len(rows), device=rows.device)
    starts = torch.ones_like(ordered, dtype=torch.bool)
    starts[1:] = ordered[1:] != ordered[:-1]
    occurrence = places - torch.cummax(torch.where(starts, places, 0), 0).values
    for round_number in range(int(occurrence.max()) + 1 if len(rows) else 0):
        yield order[occurrence == round_number]


def _normalized(weight: Tensor, rows: Tensor, values: Tensor, train: bool) -> Tensor:
    result = torch.empty_like(values)
    for places in _rounds(rows):
        row, value = rows[places], values[places]
        size, largest, inverse = value.abs(), weight[row, _LARGEST], weight[row, _INVERSE]
        if train:
            grown = size > largest
            largest = torch.where(grown, size, largest)
            inverse = torch.where(grown, 1 / size, inverse)
            weight[row, _LARGEST], weight[row, _INVERSE], weight[row, _RATE] = largest, inverse, 1.0
        scaled = torch.where(size > largest, value.sign(), value * inverse)
        result[places] = scaled + weight[row, _KEY_BIAS]
    return result


def _rows_of_keys(keys: Tensor, offset: int, weight: Tensor) -> Tensor:
    """Returns the keys' rows of weight, from 0."""
    check_indices(keys, len(weight), "key", first=-offset)
    return keys + offset


def _batch_rows(sizes: Tensor, count: int) -> Tensor:
    """Returns the example that each of ``count`` keys belongs to."""
    check_indices(sizes, count + 1, "number of keys of an example", first=0)
    check_shape(torch.empty(int(sizes.sum()), device="meta"), (count,), "keys of all examples")
    return torch.arange(len(sizes), device=sizes.device).repeat_interleave(sizes)


def index_linear(
    out: Out,
    normalized: Out,
    keys: Tensor,
    values: Tensor,
    sizes: Tensor,
    weight: Tensor,
    bias: Tensor,
    offset: int,
    train: bool,
) -> None:
    """Computes out[example] = bias + the sum over the example's keys of value * weight[key + offset].

    sizes: how many keys each example has. If weight has columns for it, values are normalized, which goes to
    ``normalized``; ``train``: by the largest so far.
    """
    if keys.numel() != values.numel():
        raise ValueError(_NO_KEYS)
    rows = _rows_of_keys(keys, offset, weight)
    _batch_rows(sizes, len(keys))
    if weight.shape[1] > bias.shape[0]:
        values = _normalized(weight, rows, values, train)
        normalized.resize_(values.shape)
        normalized.copy_(values)
    starts = sizes.cumsum(0) - sizes
    sums = F.embedding_bag(rows, weight, starts, mode="sum", per_sample_weights=values)
    out.resize_(len(sizes), len(bias))
    torch.add(sums[:, -len(bias) :], bias, out=out)


def index_linear_grad_parameters(
    grad_weight: Out,
    grad_bias: Tensor,
    values: Tensor,
    sizes: Tensor,
    grad_output: Tensor,
    weight: Tensor,
    scale: float,
) -> None:
    """Gives grad_weight a row per key: scale times the gradient of the key's bias (if weight has such a
    column), then of its weights. Scale times the gradient is added to grad_bias."""
    outputs = len(grad_bias)
    of_output = grad_output.reshape(len(sizes), outputs) * scale
    with_key_bias = weight.shape[1] > outputs
    grad_weight.resize_(len(values), 2 * outputs if with_key_bias else outputs)
    of_weight = grad_weight[:, -outputs:]
    rows = _batch_rows(sizes, len(values))
    if len(sizes) > _FEW_EXAMPLES:
        torch.index_select(of_output, 0, rows, out=grad_weight[:, :outputs])
        torch.mul(grad_weight[:, :outputs], values.unsqueeze(1), out=of_weight)
    else:
        parts = values.split(sizes.tolist()), grad_weight.split(sizes.tolist())
        for of_example, of_keys, part in zip(of_output, *parts, strict=True):
            torch.mul(of_keys.unsqueeze(1), of_example, out=part[:, -outputs:])
            if with_key_bias:
                part[:, :outputs] = of_example
    grad_bias.add_(of_output.sum(0))


def _step(
    weight: Tensor, rows: Tensor, of_key_bias: Tensor | None, of_weight: Tensor, rate: float, decay: float
) -> None:
    """Takes a step of gradient descent for the rows, one after the other where a row comes twice.

    of_key_bias: None if the weight has no columns for normalization.
    """
    if of_key_bias is None and decay == 0:
        if weight.shape[1] < _FEW_OUTPUTS:
            weight.index_put_((rows,), of_weight * -rate, accumulate=True)
        else:
            weight.index_add_(0, rows, of_weight, alpha=-rate)
        return
    for places in _rounds(rows):
        row = weight[rows[places]]
        if of_key_bias is None:
            row -= decay * row + rate * of_weight[places]
        else:
            factors, own_rate = row[:, _EXTRA:], row[:, _RATE : _RATE + 1]
            row[:, _KEY_BIAS] -= (factors * of_key_bias[places] * own_rate * rate).sum(1)
            shrunk = -decay if factors.shape[1] == 1 else decay  # Torch7's sign for a single output
            factors -= own_rate * (shrunk * factors + rate * of_weight[places])
        weight[rows[places]] = row


def index_linear_update(
    keys: Tensor,
    values: Tensor,
    sizes: Tensor,
    grad_output: Tensor,
    weight: Tensor,
    bias: Tensor,
    offset: int,
    decay: float,
    rate: float,
) -> None:
    """Takes a step along the gradient of one batch, and for the keys in it decays their weights."""
    of_output = grad_output.reshape(len(sizes), len(bias))
    rows, examples = _rows_of_keys(keys, offset, weight), _batch_rows(sizes, len(keys))
    normalizes = weight.shape[1] > len(bias)
    bias.sub_(of_output.sum(0), alpha=rate)
    if not normalizes and decay == 0:
        # the values of one key in one example are summed first: fewer rows to add
        pairs, pair = torch.unique(rows * len(sizes) + examples, return_inverse=True)
        rows, examples = pairs // len(sizes), pairs % len(sizes)
        values = values.new_zeros(len(pairs)).index_add_(0, pair, values)
    of_key = of_output[examples]
    _step(weight, rows, of_key if normalizes else None, of_key * values.unsqueeze(1), rate, decay)
    if normalizes and len(bias) == 1:
        weight[rows, _RATE] = 0


def index_linear_update_parameters(
    grad_weight: Tensor,
    grad_bias: Tensor,
    weight: Tensor,
    bias: Tensor,
    keys: Tensor,
    offset: int,
    decay: float,
    rate: float,
) -> None:
    """Takes a step along the gradients that index_linear_grad_parameters gave for the keys."""
    outputs = len(bias)
    of_key_bias = grad_weight[:, :outputs] if weight.shape[1] > outputs else None
    bias.sub_(grad_bias, alpha=rate)
    _step(weight, _rows_of_keys(keys, offset, weight), of_key_bias, grad_weight[:, -outputs:], rate, decay)
