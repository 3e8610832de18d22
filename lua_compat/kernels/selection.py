"""Elements selected by their indices, from 1, or by a mask of zeros and ones."""

import torch
from torch import Tensor

from lua_compat.kernels.indices import check_indices
from lua_compat.kernels.results import read

__all__ = [
    "count_nonzero", "gather", "index_add", "index_copy", "index_fill", "index_select", "masked_copy",
    "masked_fill", "masked_select", "nonzero", "out_of_mask", "out_of_range", "scatter", "scatter_add",
    "scatter_fill",
]  # fmt: skip
SANDBOXED = __all__


def out_of_range(index: Tensor, size: int) -> bool:
    """Returns whether any index is not one of 1 to size."""
    if index.numel() == 0:
        return False
    low, high = read(*torch.aminmax(index))
    return low < 1 or high > size


def out_of_mask(mask: Tensor) -> bool:
    """Returns whether a mask has elements other than 0 and 1. On a device they are taken for 1, as in
    cutorch: checking would mean waiting."""
    return not mask.is_cuda and mask.max().item() > 1


def index_select(out: Tensor, t: Tensor, dimension: int, index: Tensor) -> None:
    torch.index_select(t, dimension - 1, index - 1, out=out)


def index_copy(out: Tensor, dimension: int, index: Tensor, source: Tensor) -> None:
    out.index_copy_(dimension - 1, index - 1, source)


def index_add(out: Tensor, dimension: int, index: Tensor, source: Tensor) -> None:
    out.index_add_(dimension - 1, index - 1, source)


def index_fill(out: Tensor, dimension: int, index: Tensor, value: float) -> None:
    check_indices(index, out.shape[dimension - 1], "index")  # PyTorch accepts negative ones
    out.index_fill_(dimension - 1, index - 1, value)


def gather(out: Tensor, t: Tensor, dimension: int, index: Tensor) -> None:
    torch.gather(t, dimension - 1, index - 1, out=out)


def scatter(out: Tensor, dimension: int, index: Tensor, source: Tensor) -> None:
    out.scatter_(dimension - 1, index - 1, source)


def scatter_fill(out: Tensor, dimension: int, index: Tensor, value: float) -> None:
    out.scatter_(dimension - 1, index - 1, value)


def scatter_add(out: Tensor, dimension: int, index: Tensor, source: Tensor) -> None:
    out.scatter_add_(dimension - 1, index - 1, source)


def masked_select(out: Tensor, t: Tensor, mask: Tensor) -> None:
    out.copy_(torch.masked_select(t, mask.bool()))


def masked_fill(out: Tensor, mask: Tensor, value: float) -> None:
    out.masked_fill_(mask.bool(), value)


def masked_copy(out: Tensor, mask: Tensor, source: Tensor) -> None:
    """Gives the positions of the mask, in order, the elements of source, in order."""
    out.masked_scatter_(mask.bool(), source)


def count_nonzero(t: Tensor) -> int:
    return int(torch.count_nonzero(t))


def nonzero(out: Tensor, t: Tensor) -> None:
    """Lists one row of indices for each element that is not zero."""
    torch.add(torch.nonzero(t), 1, out=out)
