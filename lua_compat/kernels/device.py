"""The device of a tensor."""

from torch import Tensor

__all__ = ["tensor_device"]
SANDBOXED = __all__


def tensor_device(t: Tensor) -> int:
    """Returns the GPU's number, from 1; 1 also for the CPU that stands in for a GPU."""
    return (t.device.index or 0) + 1
