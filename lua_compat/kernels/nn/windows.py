"""Pooling windows that start outside the image.

With ``ceil`` and without padding Torch7 keeps a last window even if it starts past the image; PyTorch drops
it. Sizes computed by scripts, as of a Linear layer after it, depend on this.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor


def windows_outside(
    sizes: Sequence[int],
    kernel: Sequence[int],
    steps: Sequence[int],
    padding: Sequence[int],
    ceil: bool,
    dilation: Sequence[int] | None = None,
) -> list[int]:
    """Returns how many more windows (0 or 1 in each dimension) Torch7 has than PyTorch."""
    if not ceil or any(padding):
        return [0] * len(sizes)
    spans = [n * (k - 1) + 1 for n, k in zip(dilation or [1] * len(kernel), kernel, strict=True)]
    # Torch7's last window, from 0, is the first that reaches the end
    lasts = [-(-(size - span) // step) for size, span, step in zip(sizes, spans, steps, strict=True)]
    return [
        int(last > 0 and last * step >= size) for last, size, step in zip(lasts, sizes, steps, strict=True)
    ]


def with_outside(result: Tensor, outside: Sequence[int], value: float) -> Tensor:
    """Returns a pooling's result with ``value`` for the windows outside."""
    if not any(outside):
        return result
    return F.pad(result, [n for count in reversed(outside) for n in (0, count)], value=value)


def means_outside(
    sizes: Sequence[int], kernel: Sequence[int], steps: Sequence[int], counts: Sequence[int]
) -> Tensor:
    """Returns Torch7's means of windows some of which start outside an image: 0 / (elements up to the end).

    That is NaN where a window starts exactly at the end, and 0 if it starts past it. ``counts``: the numbers
    of windows. Only the windows outside are meaningful in the result (windows x windows).
    """
    slacks = [
        (size - torch.arange(count) * step).clamp(max=width)
        for size, width, step, count in zip(sizes, kernel, steps, counts, strict=True)
    ]
    rows, columns = slacks
    return 0.0 / (rows.unsqueeze(1) * columns).double()


def without_outside(of_output: Tensor, outside: Sequence[int]) -> Tensor:
    """Returns what belongs to an output, such as its gradient, without the windows outside."""
    if not any(outside):
        return of_output
    for axis, count in zip(range(-len(outside), 0), outside, strict=True):
        of_output = of_output.narrow(axis, 0, of_output.shape[axis] - count)
    return of_output.contiguous()


def lowest(dtype: torch.dtype) -> float:
    """Returns the maximum of an empty window: the lowest finite number, as in Torch7."""
    return torch.finfo(dtype).min
