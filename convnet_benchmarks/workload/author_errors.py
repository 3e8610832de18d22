"""Nets from outside the registry: what their author's code raises or returns, in one line."""

import importlib
import re
import sysconfig
import traceback
from pathlib import Path

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.nets.net import Net

_BACKWARD = "_engine_run_backward"  # PyTorch's function that runs a net's backward
_OF_TORCHSCRIPT = "The following operation failed in the TorchScript interpreter."
_ROOT = Path(__file__).resolve().parents[2]
_STANDARD = str(Path(importlib.__file__).parents[1]) + "/"
_INSTALLED = (sysconfig.get_path("purelib") + "/", sysconfig.get_path("platlib") + "/")
_OURS = tuple(str(_ROOT / package) + "/" for package in ("convnet_benchmarks", "lua_compat"))


def described(error: BaseException) -> str:
    """Returns one line: the error, and the place in the author's file that raised it."""
    text = without_tensors(" ".join(text_of(error).split()))
    frame = _author_frame(error)
    place = "" if frame is None else f" ({frame.filename}:{frame.lineno})"
    return f"{type(error).__name__}: {text}{place}" if text else f"{type(error).__name__}{place}"


def text_of(error: BaseException) -> str:
    """Returns an error's message; of TorchScript's, which begin with the program's text, the end."""
    text = str(error)
    return text.rpartition("\nRuntimeError: ")[2] if text.startswith(_OF_TORCHSCRIPT) else text


def without_tensors(text: str) -> str:
    """Returns a message with "a tensor" for each that it prints."""
    kept, rest = "", text
    while (found := re.search(r"\b(?:tensor|Parameter containing: ?tensor)\(", rest)) is not None:
        kept += rest[: found.start()] + "a tensor"
        depth, end = 1, found.end()
        while end < len(rest) and depth:
            depth += {"(": 1, ")": -1}.get(rest[end], 0)
            end += 1
        rest = rest[end:]
    return kept + rest


def author_error(net: Net, error: Exception) -> UserError | None:
    """Returns the error to show for one in the code of ``net``; None if none of its author's code was
    running.
    """
    if not net.own_parameters or not raised_by_author(error):
        return None
    return UserError(f"option --net: {net.name} failed: {described(error)}")


def raised_by_author(error: BaseException) -> bool:
    """Returns whether code was running that is neither ours nor PyTorch's nor Python's, or its gradients were
    computed."""
    frames = traceback.extract_tb(error.__traceback__)
    return _author_frame(error) is not None or any(frame.name == _BACKWARD for frame in frames)


def _author_frame(error: BaseException) -> traceback.FrameSummary | None:
    """Returns the innermost frame that is neither ours nor PyTorch's nor Python's."""
    import torch

    others = (*_OURS, str(Path(torch.__file__).parent) + "/", "<")

    def is_the_authors(file: str) -> bool:
        installed = file.startswith(_INSTALLED) or not file.startswith(_STANDARD)
        return installed and not file.startswith(others)

    frames = traceback.extract_tb(error.__traceback__)
    return next((frame for frame in reversed(frames) if is_the_authors(frame.filename)), None)
