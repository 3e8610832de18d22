"""Tries inputs of some size on a net, with shapes alone (no memory, no arithmetic)."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

_KEPT = (nn.Conv2d, nn.Linear, nn.MaxPool2d, nn.AvgPool2d)  # their outputs are kept until the backward pass


@dataclass(frozen=True)
class Trial:
    """``refused``: the name of the layer that does not accept its input, and the shape of that; None if
    the net accepts the input. ``kept``: elements that a forward pass must keep for its gradients, a lower
    bound: the input, and the outputs of the layers that convolve, multiply or pool.
    """

    refused: tuple[str, tuple[int, ...]] | None
    kept: int


def trial(module: nn.Module, shape: tuple[int, ...], dtype: torch.dtype = torch.float32) -> Trial:
    """Runs ``module``, which is on the meta device, on an input of ``shape`` and ``dtype``."""
    running: list[tuple[str, tuple[int, ...]]] = []
    names = {child: name for name, child in module.named_modules()}
    kept = torch.Size(shape).numel()

    def enter(layer: nn.Module, inputs: tuple[Any, ...]) -> None:
        first = inputs[0][0] if isinstance(inputs[0], (list, tuple)) else inputs[0]
        running.append((names[layer], tuple(first.shape)))

    def leave(layer: nn.Module, inputs: object, output: object) -> None:
        nonlocal kept
        if isinstance(output, torch.Tensor):
            if output.numel() == 0:
                raise ValueError("a kernel larger than its input")  # PyTorch 2.4 misses it on meta
            if isinstance(layer, _KEPT):
                kept += output.numel()

    leaves = [child for child in module.modules() if next(child.children(), None) is None]
    hooks = [leaf.register_forward_pre_hook(enter) for leaf in leaves]
    hooks += [leaf.register_forward_hook(leave) for leaf in leaves]
    refused = None
    try:
        with torch.no_grad():
            module(torch.empty(shape, dtype=dtype, device="meta"))
    except (RuntimeError, ValueError):
        refused = running[-1] if running else ("", shape)
    finally:
        for hook in hooks:
            hook.remove()
    return Trial(refused, kept)


def smallest_accepted(module: nn.Module, shape: tuple[int, ...], dimension: int, most: int) -> int | None:
    """Returns the smallest size of ``dimension``, up to ``most``, that is accepted with the others as
    given."""
    for size in range(1, most + 1):
        if trial(module, (*shape[:dimension], size, *shape[dimension + 1 :])).refused is None:
            return size
    return None
