"""Lookup tables: rows of a matrix, chosen by indices."""

import torch
from torch import Tensor

from lua_compat.kernels.indices import check_indices
from lua_compat.kernels.reductions import renorm

__all__ = ["lookup_grad_weight", "lookup_renorm"]
SANDBOXED = __all__


def lookup_renorm(weight: Tensor, index: Tensor, maximum: float, p: float) -> None:
    """Scales the rows of weight in index (from 1) to a p-norm of at most ``maximum``."""
    check_indices(index, len(weight), "index of a row")
    rows = torch.unique(index) - 1
    chosen = weight[rows]
    scaled = torch.empty_like(chosen)
    renorm(scaled, chosen, p, 1, maximum)
    weight[rows] = scaled


def lookup_grad_weight(
    grad_weight: Tensor, index: Tensor, grad_output: Tensor, padding: int, scale: float, by_frequency: bool
) -> None:
    """Adds scale * grad_output to the rows of the indices, from 1; not for the index ``padding``;
    ``by_frequency``: divided by how often the index occurs."""
    rows = grad_output.reshape(-1, grad_weight.shape[1])
    kept = index != padding
    check_indices(index[kept], len(grad_weight), "index of a row")
    places, values = index[kept] - 1, rows[kept]
    if by_frequency:
        values = values / torch.bincount(places)[places].unsqueeze(1)
    grad_weight.index_add_(0, places, values, alpha=scale)
