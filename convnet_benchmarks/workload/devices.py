"""Devices and number formats by name: read and checked here for every command."""

import re
from typing import TYPE_CHECKING

from convnet_benchmarks.errors import UserError

if TYPE_CHECKING:
    import torch

DTYPES = ("float32", "float64", "bfloat16", "float16")
CPU, CUDA = "cpu", "cuda"
_CUDA_NAME = re.compile(r"cuda(?::(\d{1,9}))?")


def device_type(name: str) -> str:
    """Returns ``cpu`` or ``cuda``; raises UserError for a name of another form. Loads nothing."""
    if name != CPU and not _CUDA_NAME.fullmatch(name):
        raise UserError(f"device '{name}': accepted: cpu, cuda, cuda:0 and so on")
    return CPU if name == CPU else CUDA


def open_device(name: str) -> "torch.device":
    """Returns the device ``cpu``, ``cuda`` or ``cuda:N``, which becomes the current GPU.

    Raises UserError if it is not there.
    """
    import torch

    if device_type(name) == CPU:
        return torch.device(CPU)
    return open_gpu(ordinal(name), f"device '{name}'", f"device '{name}'", CPU)


def open_gpu(number: int, wanted: str, named: str, instead: str) -> "torch.device":
    """Returns GPU ``number``, which becomes the current one.

    Raises UserError: where there is no GPU at all it begins with ``wanted``, what asked for one, and offers
    ``instead``; where there is none of this number it begins with ``named``, what gave the number.
    """
    import torch

    if not torch.cuda.is_available():
        why = "this build of PyTorch has no CUDA" if torch.version.cuda is None else "no CUDA GPU was found"
        raise UserError(f"{wanted}: {why}; accepted here: {instead}")
    count = torch.cuda.device_count()
    if number >= count:
        raise UserError(f"{named}: there is no GPU {number}; the GPUs here are 0 to {count - 1}")
    device = torch.device(CUDA, number)
    torch.cuda.set_device(device)
    return device


def ordinal(name: str) -> int:
    """Returns the number of the GPU that ``name`` (cuda, cuda:N) means; 0 if it has none."""
    found = _CUDA_NAME.fullmatch(name)
    assert found is not None, "device_type has accepted the name"
    return int(found[1] or 0)
