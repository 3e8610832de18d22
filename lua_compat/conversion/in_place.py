"""Operations of a traced forward that write to their input."""

import inspect
import operator
from collections.abc import Iterator
from functools import partialmethod
from typing import Any

from torch import Tensor, fx, nn

from convnet_benchmarks.nets.modules.torch7 import View
from lua_compat.conversion.errors import CannotTraceError

# What may give a view of its input; Dropout when it does not drop.
_VIEWS = {
    "flatten", "view", "reshape", "transpose", "permute", "unsqueeze", "contiguous", "getitem", "dropout"
}  # fmt: skip
_VIEW_LAYERS = (nn.Flatten, nn.Unflatten, nn.Identity, nn.Dropout, nn.Dropout2d, nn.Dropout3d, View)
_OPERATORS = (operator.iadd, operator.isub, operator.imul, operator.itruediv)


class InPlaceProxy(fx.Proxy):
    """Has ``+=`` and the like recorded as such; fx itself records ``+``."""

    def _recorded(self, function: Any, other: Any) -> Any:
        return self.tracer.create_proxy("call_function", function, (self, other), {})

    __iadd__ = partialmethod(_recorded, operator.iadd)
    __isub__ = partialmethod(_recorded, operator.isub)
    __imul__ = partialmethod(_recorded, operator.imul)
    __itruediv__ = partialmethod(_recorded, operator.itruediv)


def written_to(node: fx.Node, module: nn.Module) -> fx.Node | None:
    """Returns the node in a graph of ``module`` to whose value an operation writes; None if to none."""
    writes = False
    if node.op == "call_module":
        writes = bool(getattr(module.get_submodule(str(node.target)), "inplace", False))
    elif node.op == "call_method":
        writes = _is_in_place(str(node.target))
    elif node.op == "call_function":
        writes = _is_in_place(_name(node)) or node.target in _OPERATORS or bool(_argument(node, "inplace"))
    target = node.args[0] if writes and node.args else None
    return target if isinstance(target, fx.Node) else None


def read_results_instead(graph: fx.Graph, module: nn.Module) -> None:
    """Has the later readers of a value that an operation writes to read the operation's result.

    Raises CannotTraceError if they read it by a view, or it is one.
    """
    order = {node: place for place, node in enumerate(graph.nodes)}
    for node in graph.nodes:
        written = written_to(node, module)
        if written is None:
            continue

        def is_later(user: fx.Node, than: fx.Node = node) -> bool:
            return order[user] > order[than]

        for other in _views(_whole(written, module), node, module):
            if other is not written and any(map(is_later, other.users)):
                raise CannotTraceError(
                    f"{node.name} writes to {written.name}, which shares memory with {other.name}"
                )
        written.replace_all_uses_with(node, is_later)


def _whole(node: fx.Node, module: nn.Module) -> fx.Node:
    """Returns the node of whose value that of ``node`` may be a view."""
    while _may_be_view(node, module):
        node = node.args[0]  # type: ignore[assignment]
    return node


def _views(whole: fx.Node, but: fx.Node, module: nn.Module) -> Iterator[fx.Node]:
    """Yields a node and those that may be views of it, not by ``but``."""
    yield whole
    for user in whole.users:
        if user is not but and _may_be_view(user, module) and user.args[0] is whole:
            yield from _views(user, but, module)


def _may_be_view(node: fx.Node, module: nn.Module) -> bool:
    if not (node.args and isinstance(node.args[0], fx.Node)):
        return False
    if node.op == "call_module":
        by_layer = isinstance(module.get_submodule(str(node.target)), _VIEW_LAYERS)
        return by_layer or written_to(node, module) is not None
    return node.op.startswith("call_") and (_name(node) in _VIEWS or written_to(node, module) is not None)


def _name(node: fx.Node) -> str:
    return str(node.target if isinstance(node.target, str) else getattr(node.target, "__name__", ""))


def _is_in_place(name: str) -> bool:
    return name.endswith("_") and hasattr(Tensor, name) and not name.endswith("__")


def _argument(node: fx.Node, name: str) -> Any:
    try:
        given = inspect.signature(node.target).bind(*node.args, **node.kwargs)  # type: ignore[arg-type]
    except (TypeError, ValueError):  # of PyTorch's functions that are not Python's
        return node.kwargs.get(name)
    return given.arguments.get(name)
