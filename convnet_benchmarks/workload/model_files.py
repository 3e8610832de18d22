"""Reads a net's parameters from a state_dict, and writes them as one, as a Torch7 .t7 or as Python."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.nets.registry import on_meta
from convnet_benchmarks.workload.pt_files import load_pt

if TYPE_CHECKING:
    from torch import nn

    from convnet_benchmarks.nets.registry import Net

STATE_SUFFIXES = (".pt", ".pth", ".safetensors")
TARGETS = (*STATE_SUFFIXES, ".t7", ".py")


def _require_safetensors(place: str) -> None:
    """Raises UserError, which names ``place`` (an option or a file), without the package."""
    try:
        import safetensors.torch  # noqa: F401
    except ImportError:
        raise UserError(
            f"{place}: .safetensors needs the package safetensors (pip install safetensors)"
        ) from None


def net_with_state(net: "Net", file: str) -> "nn.Module":
    """Returns ``net`` in evaluation mode with the state_dict in ``file``. Raises UserError if it does
    not fit.
    """
    suffix = Path(file).suffix.lower()
    if suffix not in STATE_SUFFIXES:
        raise UserError(f"{file}: a state_dict must end in {', '.join(STATE_SUFFIXES)}")
    try:
        if suffix == ".safetensors":
            _require_safetensors(file)
            state = _load_safetensors(file)
        else:
            state = load_pt(file)
    except OSError as error:
        raise UserError(f"{file}: {error.strerror or error}") from None
    except ValueError as error:
        raise UserError(f"{file}: not a state_dict ({str(error).splitlines()[0]})") from None
    module = on_meta(net)
    try:
        module.load_state_dict(state, assign=True)
    except (RuntimeError, TypeError, AttributeError) as error:
        reason = " ".join(str(error).split())
        raise UserError(f"{file}: not a state_dict of {net.name}: {reason[:200]}") from None
    return module.eval()


def _load_safetensors(file: str) -> Any:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(file)
    except SafetensorError as error:
        raise ValueError(str(error)) from None


def check_target(path: str, option: str, others: tuple[str, ...] = (), source: str = "") -> None:
    """Raises UserError if ``write_model`` could not write: before the model is made.

    ``others``: endings that the option takes, too. ``source``: the file that is read.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in TARGETS:
        raise UserError(f"{option}: '{path}' must end in {', '.join((*TARGETS, *others))}")
    if suffix == ".safetensors":
        _require_safetensors(option)
    check_folder(path, option)
    if suffix == ".py":
        from lua_compat.conversion.python_source.program import weights_file

        if (weights := weights_file(path)).exists() and os.path.exists(source) and weights.samefile(source):
            raise UserError(f"{option}: '{path}' would put its numbers into {weights}: choose another name")


def check_folder(path: str, option: str) -> None:
    """Raises UserError if the file's folder does not exist."""
    folder = Path(path).parent
    if not folder.is_dir():
        raise UserError(f"{option}: cannot write '{path}': there is no folder '{folder}'")


def write_model(module: "nn.Module", path: str, option: str) -> None:
    """Writes the state_dict; for .t7 the module for Torch7; for .py its code, and its numbers beside it.

    Raises UserError if it cannot be written.
    """
    from lua_compat import t7
    from lua_compat.conversion import ConversionError, from_torch
    from lua_compat.conversion.python_source.program import save_python
    from lua_compat.conversion.state_files import save_state_dict

    try:
        if Path(path).suffix.lower() == ".t7":
            t7.save(path, from_torch(module))
        elif Path(path).suffix.lower() == ".py":
            print(f"{path}: its numbers are in {save_python(module, path)}", file=sys.stderr)
        else:
            save_state_dict(module, path)
    except ConversionError as error:
        raise UserError(str(error)) from None
    except OSError as error:
        raise UserError(f"{option}: cannot write '{path}': {error.strerror or error}") from None
