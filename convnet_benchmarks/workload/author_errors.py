"""Nets from outside the registry: what their author's code raises or returns, told in one line."""

import importlib
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.workload.memory import is_out_of_memory
from nets.net import Net

if TYPE_CHECKING:
    import torch
    from torch import nn

_ROOT = Path(__file__).resolve().parents[2]
_OURS = tuple(str(_ROOT / package) + "/" for package in ("convnet_benchmarks", "lua_compat", "nets"))


def described(error: BaseException) -> str:
    """One line: the error, and the place in the author's file that raised it."""
    text = " ".join(str(error).split())
    frame = _author_frame(error)
    place = "" if frame is None else f" ({frame.filename}:{frame.lineno})"
    return f"{type(error).__name__}: {text}{place}" if text else f"{type(error).__name__}{place}"


def author_error(net: Net, error: Exception) -> UserError | None:
    """What to tell of an error in the code of ``net``; None if none of its author's code was running."""
    if not net.own_parameters or _author_frame(error) is None:
        return None
    return UserError(f"option --net: {net.name} failed: {described(error)}")


def check_runs(net: Net, module: "nn.Module", input: "torch.Tensor") -> None:
    """Whether a net from outside computes something from an input of this size, two samples of it.

    Raises UserError that names --net and what went wrong.
    """
    import torch
    from torch.utils._pytree import tree_leaves

    size = "x".join(map(str, input.shape))
    try:
        with torch.no_grad():
            output = module(input[:2])
    except Exception as error:  # whatever the author's code raises
        if is_out_of_memory(error):
            raise
        problem = " ".join(str(error).split()) or type(error).__name__
        raise UserError(f"option --net: {net.name} fails on an input of {size}: {problem}") from None
    if not any(isinstance(leaf, torch.Tensor) for leaf in tree_leaves(output)):
        given = "nothing" if output is None else f"a {type(output).__name__} without a tensor"
        raise UserError(f"option --net: {net.name} gives {given}; accepted: a tensor, or several")


def _author_frame(error: BaseException) -> traceback.FrameSummary | None:
    """The innermost frame that is neither ours nor PyTorch's nor Python's."""
    import torch

    others = (
        *_OURS,
        str(Path(torch.__file__).parent) + "/",
        str(Path(importlib.__file__).parent) + "/",
        "<",
    )
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame for frame in reversed(frames) if not frame.filename.startswith(others)), None)
