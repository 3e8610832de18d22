"""Decomposes a module into nodes: layers, chains of them, and blocks with a forward of their own."""

import inspect
from typing import Any

from torch import Tensor, nn

from convnet_benchmarks.nets.modules.torch7 import CAddTable
from lua_compat.conversion.errors import ConversionError
from lua_compat.conversion.python_source.body import BRANCHING, Body
from lua_compat.conversion.python_source.definitions import (
    Definitions,
    assigned_names,
    has_default,
    is_ours,
)
from lua_compat.conversion.python_source.nodes import Argument, Block, Chain, Literal, Node, literal
from lua_compat.torch_modules import containers, tables
from lua_compat.torch_modules.base import InPlace, Torch7Module, declared_fields, is_parameter
from lua_compat.torch_modules.graph import GraphModule

_SUMS = (tables.CAddTable, CAddTable)
_PAIRS = ("kernel_size", "stride", "padding", "dilation", "output_padding", "output_size")
_RECURRENT = ("input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional")


class Builder:
    """Makes the nodes of one net; the classes that they need are added to ``definitions``."""

    def __init__(self, definitions: Definitions) -> None:
        self.definitions = definitions

    def node(self, module: nn.Module, path: str) -> Node:
        """Returns the node for a module. Raises ConversionError, with its ``path``, if there is none."""
        if isinstance(module, nn.Sequential) and type(module).forward is nn.Sequential.forward:
            if len(module) == 1:
                return self.node(module[0], f"{path}[0]")
            if not any(isinstance(child, BRANCHING) for child in module):
                nodes = [self.node(child, f"{path}[{place}]") for place, child in enumerate(module)]
                return Chain(module, children=dict(zip(map(str, range(len(nodes))), nodes, strict=True)))
        if isinstance(module, (nn.Sequential, GraphModule, *BRANCHING)):
            return self.block(module, path)
        return self._layer(module, path)

    def block(self, module: nn.Module, path: str) -> Block:
        """Returns a node with a forward of its own for any module."""
        body = Body(self.node, lambda: self.definitions.need(containers.copied))
        result = body.run(module, 0, path)
        names = body.names()
        children = dict(zip(names, body.nodes, strict=True))
        return Block(module, children=children, kind=_kind(module), body=body.lines(result, names))

    def _layer(self, module: nn.Module, path: str) -> Node:
        kind = type(module)
        if isinstance(module, InPlace) and not isinstance(module, Torch7Module):
            kind = next(base for base in kind.__mro__ if base.__module__.startswith("torch.nn."))
        if is_ours(kind.__module__):
            node = Node(module, kind.__name__)
        elif kind.__module__.startswith("torch.nn."):
            node = Node(module, f"nn.{kind.__name__}")
        else:
            raise ConversionError(f"{kind.__name__} is neither PyTorch's nor made by to_torch", path)
        if issubclass(kind, Torch7Module):
            self._fields(node, kind, path)
        elif is_ours(kind.__module__) and not _keeps_arguments(module, kind):
            self._parts(node, kind, path)
        else:
            self._parameters(node, kind, path)
        return node

    def _fields(self, node: Node, kind: Any, path: str) -> None:
        """Gives a node the declared fields of its module as arguments."""
        self.definitions.need(kind)
        for name, what in declared_fields(kind).items():
            value = _value(node.module, name)
            default = literal(getattr(kind, name, None)).text if has_default(kind, name, what) else None
            if is_parameter(what) or (isinstance(value, Tensor) and what is Tensor):
                given: Any = literal(None) if value is None else _empty(node.module, name, path)
                default = None if what is nn.Parameter or what is Tensor else "None"
                node.arguments.append(Argument(name, given, default=default))
            else:
                self._give(node, name, value, path, default)

    def _give(self, node: Node, name: str, value: Any, path: str, default: str | None = None) -> None:
        """Gives a node one argument: a part of its module, or what has a text."""
        given: Any
        if isinstance(value, nn.Module):
            given = node.children[name] = self.node(value, f"{path}.{name}")
        else:
            tensor = isinstance(value, Tensor)
            given = _empty(node.module, name, path) if tensor else _literal(value, name, path)
        node.arguments.append(Argument(name, given, default=default))

    def _parts(self, node: Node, kind: type[nn.Module], path: str) -> None:
        """Gives a node what its module's constructor made as arguments of a constructor that takes them."""
        names = assigned_names(kind)
        base = next(base for base in kind.__mro__[1:] if base.__module__.startswith("torch.nn."))
        if base is nn.Module and _is_made_here(kind):
            self.definitions.need(kind, {name: getattr(node.module, name) for name in names})
            for name in names:
                self._give(node, name, getattr(node.module, name), path)
        elif names:
            raise ConversionError(f"{kind.__name__} does not keep its arguments", path)
        else:
            self.definitions.need(kind, {})
            self._parameters(node, base, path)

    def _parameters(self, node: Node, kind: type[nn.Module], path: str) -> None:
        """Gives a node its module's constructor arguments, which the module stores as attributes."""
        module = node.module
        if is_ours(kind.__module__):
            self.definitions.need(kind)
        for parameter in _signature(kind):
            name, default = parameter.name, parameter.default
            if isinstance(module, nn.ModuleList) and name == "modules":
                children = [self.node(child, f"{path}[{place}]") for place, child in enumerate(module)]
                node.children |= {str(place): child for place, child in enumerate(children)}
                node.arguments.append(Argument(name, children, keyword=False))
                continue
            value = _value(module, name)
            if isinstance(value, nn.Module):
                self._give(node, name, value, path)
                continue
            if parameter.kind is parameter.VAR_POSITIONAL:
                node.arguments += [
                    Argument(name, _literal(each, name, path), keyword=False) for each in value or ()
                ]
                continue
            required = default is parameter.empty
            if value is _MISSING:
                if required:
                    raise ConversionError(f"{kind.__name__} does not keep its argument {name}", path)
                continue
            if name == "bias" and not isinstance(value, bool):
                value = value is not None
                if not value and not getattr(module, "affine", True):
                    continue  # a batch normalization without weight and bias
            if name in _PAIRS and isinstance(value, tuple) and len(set(value)) == 1:
                value = value[0]
            if not required and value == default:
                value = default
            given = _literal(value, name, path)
            node.arguments.append(
                Argument(
                    name, given, keyword=not required, default=None if required else literal(default).text
                )
            )


_MISSING = object()


def _keeps_arguments(module: nn.Module, kind: type[nn.Module]) -> bool:
    """Returns whether a module has as attributes what its constructor needs."""
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return all(
        each.default is not each.empty or each.kind in several or hasattr(module, each.name)
        for each in _signature(kind)
        if not issubclass(kind, nn.ModuleList)
    )


def _is_made_here(kind: type[nn.Module]) -> bool:
    """Returns whether a class's own constructor makes all of its modules."""
    return [base for base in kind.__mro__ if "__init__" in vars(base)][:2] == [kind, nn.Module]


def _value(module: nn.Module, name: str) -> Any:
    """Returns a constructor's argument as stored in the module. A layer remains in-place only if others see
    the change."""
    if name == "inplace" and isinstance(module, InPlace):
        return module._inplace and module.shared
    return getattr(module, name, _MISSING)


def _literal(value: Any, name: str, path: str) -> Literal:
    try:
        return literal(value)
    except TypeError as error:
        raise ConversionError(f"{name} is {error}, which has no text", path) from None


def _empty(module: nn.Module, name: str, path: str) -> Node:
    """Returns zeros in the shape of a module's tensor: the values are in the weights' file."""
    tensor = getattr(module, name)
    if name not in module.state_dict():
        raise ConversionError(f"the state_dict of {type(module).__name__} lacks the tensor {name}", path)
    sizes = [
        Argument(f"size{place or ''}", literal(size), keyword=False)
        for place, size in enumerate(tensor.shape)
    ]
    if not sizes:
        sizes = [Argument("size", Literal("()"), keyword=False)]
    if not tensor.is_floating_point():
        sizes.append(Argument("dtype", literal(tensor.dtype)))
    return Node(nn.Identity(), "torch.zeros", sizes)


def _signature(kind: type[nn.Module]) -> list[inspect.Parameter]:
    """Returns the arguments of a constructor, those of its base class in place of *args and **kwargs."""
    variable = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    found: list[inspect.Parameter] = []
    for base in kind.__mro__:
        if base is nn.Module:
            break
        if base.__module__ == nn.RNNBase.__module__:  # whose constructors take *args
            known = inspect.signature(nn.RNNBase.__init__).parameters
            more = inspect.Parameter("nonlinearity", inspect.Parameter.KEYWORD_ONLY, default="tanh")
            return [
                *(known[name] for name in _RECURRENT),
                *([more] if issubclass(kind, nn.RNN) else []),
                *found,
            ]
        if "__init__" in vars(base):
            here = list(inspect.signature(vars(base)["__init__"]).parameters.values())[1:]
            if not {each.kind for each in here} >= variable:
                return [*here, *found]
            found = [*(each for each in here if each.kind not in variable), *found]
    return found


def _kind(module: nn.Module) -> str:
    """Returns a name for the class of a block."""
    inside = [child for child in module.modules() if not isinstance(child, nn.Sequential)]
    if isinstance(module, GraphModule):
        return "Graph"
    if isinstance(module, nn.Sequential) and any(isinstance(child, _SUMS) for child in module):
        return "Residual"
    return "Branches" if inside and isinstance(inside[0], BRANCHING) else "Block"
