"""The tensors of an input or output that may be several."""

from typing import TYPE_CHECKING, Any

from convnet_benchmarks.nets.outputs import fields_of

if TYPE_CHECKING:
    from torch import Tensor


def sizes(input: Any) -> str:
    """Returns the sizes of an input as people write them: 8x3x32x32, or ids 2x128, mask 2x128."""
    if isinstance(input, dict):
        return ", ".join(f"{name} {sizes(one)}" for name, one in input.items())
    return ", ".join("x".join(map(str, one.shape)) for one in tensors_in(input))


def tensors_in(output: Any) -> "list[Tensor]":
    """Returns the tensors of a net's input or output: one, or those in a tuple, list, dict or dataclass."""
    import torch

    if isinstance(output, torch.Tensor):
        return [output]
    output = fields_of(output)
    if isinstance(output, dict):
        output = list(output.values())
    if not isinstance(output, (list, tuple)):
        return []
    return [tensor for part in output for tensor in tensors_in(part)]
