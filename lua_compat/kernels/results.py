"""Ways to hand over what PyTorch computed: into the tensor that the caller gave."""

from typing import Annotated

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
