"""A module's state_dict in a file: .pt or .safetensors."""

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn

from lua_compat.whole_file import replaced_when_whole, write_when_whole

SUFFIXES = (".pt", ".pth", ".safetensors")


def save_state_dict(module: nn.Module, path: str | os.PathLike[str]) -> None:
    """Writes every parameter and buffer under its state_dict name; otherwise like ``save_state``."""
    save_state(module.state_dict(), path)


def save_state(state: Mapping[str, Tensor], path: str | os.PathLike[str]) -> None:
    """Writes tensors under their names; the file appears only when complete.

    In .safetensors tied parameters are written under each of their names, which that format cannot share.
    Raises OSError, ValueError for another suffix, ImportError for .safetensors without its package.
    """
    suffix = Path(path).suffix.lower()
    if suffix in (".pt", ".pth"):
        write_when_whole(path, partial(torch.save, dict(state)))
    elif suffix == ".safetensors":
        from safetensors import SafetensorError
        from safetensors.torch import save_file

        clones = {name: tensor.clone(memory_format=torch.contiguous_format) for name, tensor in state.items()}
        with replaced_when_whole(path) as temporary:
            temporary.touch()
            mode = temporary.stat().st_mode
            try:
                save_file(clones, temporary)
            except SafetensorError as error:  # of the system's
                raise OSError(str(error)) from None
            temporary.chmod(mode)  # save_file makes a file that only its user may read
    else:
        raise ValueError(f"'{path}' must end in {', '.join(SUFFIXES)}")
