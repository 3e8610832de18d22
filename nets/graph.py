"""Autograd's graph of a computation."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter


def parameters_read(results: Sequence[Tensor]) -> Counter[Parameter]:
    """Returns the parameters behind ``results``, with how many operations read each; as a result, it is read
    once more."""
    found = Counter(result for result in results if isinstance(result, Parameter))
    found.update(
        variable
        for node in _operations(results)
        for before, _ in node.next_functions
        if isinstance(variable := getattr(before, "variable", None), Parameter)
    )
    return found


def runs_backward_itself(results: Iterable[Tensor]) -> bool:
    """Returns whether a part of the graph is a backward of its own, of checkpointing with ``use_reentrant``,
    which adds to ``.grad``: PyTorch refuses to return its gradients."""
    return any(node.name() == "CheckpointFunctionBackward" for node in _operations(results))


def parameter_gradients(
    results: Sequence[Tensor],
    gradients: Sequence[Tensor],
    parameters: Sequence[Parameter],
    inputs: Sequence[Tensor],
) -> list[Tensor | None]:
    """Returns the gradient of each of ``parameters``, None if it has none, from those of ``results``.

    ``inputs``: the leaves that ``results`` were computed from. Their gradients are not computed, except for a
    group normalisation: asked only for its parameters', PyTorch crashes on channels-last images.
    """
    wanted: list[Tensor] = [parameter for parameter in parameters if parameter.requires_grad]
    if not wanted or not results:
        return [None] * len(parameters)
    trained = len(wanted)
    if any(node.name() == "NativeGroupNormBackward0" for node in _operations(results)):
        wanted += inputs
    with torch.enable_grad():
        found = torch.autograd.grad(results, wanted, gradients, retain_graph=True, allow_unused=True)
    of_trained = iter(found[:trained])
    return [next(of_trained) if parameter.requires_grad else None for parameter in parameters]


def _operations(results: Iterable[Tensor]) -> Iterator[Any]:
    """Yields the nodes of the operations that led to ``results``, each once."""
    waiting, seen = [result.grad_fn for result in results], set()
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        yield node
        waiting += [before for before, _ in node.next_functions]
