"""Hands PyTorch's results over: into the tensor given by the caller, or as numbers."""

from typing import Annotated

import torch
from torch import Tensor

# The annotation of a result that the kernel resizes itself.
Out = Annotated[Tensor, "resized by the kernel"]

# The annotation of a number that Torch7 passes to a function of torch: a string that reads as a number is
# accepted. (float annotates one that Torch7 passes to THNN: LuaJIT converts it to C's double, and refuses
# strings.)
Scalar = Annotated[float, "or a text"]


def write(out: Tensor, result: Tensor, like: Tensor | None = None) -> None:
    """Makes ``out`` equal ``result``, without its batch dimension of size 1 if ``like`` has one dimension
    less."""
    if like is not None and result.dim() > like.dim():
        result = result.squeeze(0)
    if out.shape != result.shape:  # comparing costs less than resizing to the same shape
        out.resize_(result.shape)
    out.copy_(result)


def read(*numbers: Tensor) -> list[float]:
    """Returns scalar tensors of one type as numbers, waiting for a device only once."""
    if numbers[0].is_cuda:
        return torch.stack(numbers).cpu().tolist()
    return [number.item() for number in numbers]
