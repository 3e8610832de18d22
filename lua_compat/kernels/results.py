"""How kernels hand over what PyTorch computed: into the tensor that the caller gave."""

from torch import Tensor


def write(out: Tensor, result: Tensor, like: Tensor | None = None) -> None:
    """``out`` becomes ``result``, without its batch dimension of one if ``like`` has a dimension less."""
    if like is not None and result.dim() > like.dim():
        result = result.squeeze(0)
    if out.shape != result.shape:  # a comparison costs less than resizing to the same
        out.resize_(result.shape)
    out.copy_(result)
