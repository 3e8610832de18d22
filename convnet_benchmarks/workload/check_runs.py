"""Whether a net from outside the registry runs at all, said in one line before it is measured."""

from typing import TYPE_CHECKING

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.nets.net import Net
from convnet_benchmarks.workload.memory import is_out_of_memory
from convnet_benchmarks.workload.nets import an

if TYPE_CHECKING:
    import torch
    from torch import nn


def check_runs(net: Net, module: "nn.Module", input: "torch.Tensor", named_by: str) -> None:
    """Checks that a net from outside computes something from an input of this size, two samples of it.

    Raises UserError that says what went wrong, after ``named_by``, where the net was named: "option --net".
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
        raise UserError(f"{named_by}: {net.name} fails on an input of {size}: {problem}") from None
    if not any(isinstance(leaf, torch.Tensor) for leaf in tree_leaves(output)):
        given = "nothing" if output is None else f"{an(type(output).__name__)} without a tensor"
        raise UserError(f"{named_by}: {net.name} gives {given}; accepted: a tensor, or several")
