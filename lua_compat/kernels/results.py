"""Ways to hand over what PyTorch computed: into the tensor that the caller gave."""

from typing import Annotated

import torch
from torch import Tensor

# The annotation of a result that the kernel gives its size itself.
Out = Annotated[Tensor, "resized by the kernel"]

# The annotation of a number that Torch7 gives to a function of torch: a text that reads as a number is one.
# (A float is one that Torch7 gives to THNN: LuaJIT converts it to C's double, and refuses texts.)
Scalar = Annotated[float, "or a text"]


def write(out: Tensor, result: Tensor, like: Tensor | None = None) -> None:
    """Makes ``out`` equal ``result``, without its batch dimension of one if ``like`` has a dimension less."""
    if like is not None and result.dim() > like.dim():
        result = result.squeeze(0)
    if out.shape != result.shape:  # a comparison costs less than resizing to the same
        out.resize_(result.shape)
    out.copy_(result)


def read(*numbers: Tensor) -> list[float]:
    """Returns tensors of one type, each a number, as numbers: a device is waited for once, not for each."""
    if numbers[0].is_cuda:
        return torch.stack(numbers).cpu().tolist()
    return [number.item() for number in numbers]
