"""The graph that autograd keeps of a computation."""

from collections import Counter
from collections.abc import Iterable

from torch import Tensor
from torch.nn import Parameter


def parameters_read(results: Iterable[Tensor]) -> Counter[Parameter]:
    """Returns the parameters behind ``results``, with how many operations read each."""
    found: Counter[Parameter] = Counter()
    waiting, seen = [result.grad_fn for result in results], set()
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        for before, _ in node.next_functions:
            variable = getattr(before, "variable", None)
            if isinstance(variable, Parameter):
                found[variable] += 1
            else:
                waiting.append(before)
    return found
