"""Which input sizes a net accepts, found out on shapes alone (no memory, no arithmetic)."""

from typing import Any

import torch
from torch import nn


def failing_layer(
    module: nn.Module, shape: tuple[int, ...], dtype: torch.dtype = torch.float32
) -> tuple[str, tuple[int, ...]] | None:
    """Runs ``module``, which lies on the meta device, on an input of ``shape`` and ``dtype``.

    Returns None when it accepts it, else the name of the layer that does not and the shape that layer got.
    """
    running: list[tuple[str, tuple[int, ...]]] = []
    names = {child: name for name, child in module.named_modules()}

    def enter(layer: nn.Module, inputs: tuple[Any, ...]) -> None:
        first = inputs[0][0] if isinstance(inputs[0], (list, tuple)) else inputs[0]
        running.append((names[layer], tuple(first.shape)))

    def leave(layer: nn.Module, inputs: object, output: object) -> None:
        if isinstance(output, torch.Tensor) and output.numel() == 0:
            raise ValueError("a kernel larger than its input")  # which PyTorch 2.4 lets pass on shapes alone

    leaves = [child for child in module.modules() if next(child.children(), None) is None]
    hooks = [leaf.register_forward_pre_hook(enter) for leaf in leaves]
    hooks += [leaf.register_forward_hook(leave) for leaf in leaves]
    try:
        with torch.no_grad():
            module(torch.empty(shape, dtype=dtype, device="meta"))
    except (RuntimeError, ValueError):
        return running[-1] if running else ("", shape)
    finally:
        for hook in hooks:
            hook.remove()
    return None


def smallest_accepted(module: nn.Module, shape: tuple[int, ...], dimension: int, most: int) -> int | None:
    """Returns the smallest size of ``dimension``, up to ``most``, that is accepted with the others as
    given."""
    for size in range(1, most + 1):
        trial = (*shape[:dimension], size, *shape[dimension + 1 :])
        if failing_layer(module, trial) is None:
            return size
    return None


def activation_elements(module: nn.Module, shape: tuple[int, ...], dtype: torch.dtype = torch.float32) -> int:
    """Elements that a forward pass of ``module`` (on the meta device) must keep for its gradients.

    A lower bound: the input, and the outputs of the layers that convolve, multiply or pool.
    """
    kept = [torch.Size(shape).numel()]

    def leave(layer: nn.Module, inputs: object, output: object) -> None:
        if isinstance(output, torch.Tensor):
            kept.append(output.numel())

    kinds = (nn.Conv2d, nn.Linear, nn.MaxPool2d, nn.AvgPool2d)
    hooks = [child.register_forward_hook(leave) for child in module.modules() if isinstance(child, kinds)]
    try:
        with torch.no_grad():
            module(torch.empty(shape, dtype=dtype, device="meta"))
    finally:
        for hook in hooks:
            hook.remove()
    return sum(kept)
