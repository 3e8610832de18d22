"""The parts of a written net: each is an expression that makes a module, or has a class of its own."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Union

import torch
from torch import Tensor, nn

WIDTH = 100  # columns of the text
Bound = Mapping[int, str]  # constructor's arguments, by the id of the Literal that they replace


@dataclass(eq=False)
class Literal:
    text: str
    is_number: bool = False  # or numbers, or None: may differ between two layers of one kind


@dataclass
class Argument:
    """``keyword``: whether the name is written. ``default``: the text that may be omitted."""

    name: str
    value: Union[Literal, "Node", list["Node"]]
    keyword: bool = True
    default: str | None = None


@dataclass(eq=False)
class Node:
    """An expression: a call of ``callee`` with ``arguments``, which computes the same as ``module``.

    ``children``: its parts that are nodes, too, by their names in the result.
    """

    module: nn.Module
    callee: str = ""
    arguments: list[Argument] = field(default_factory=list)
    children: dict[str, "Node"] = field(default_factory=dict)

    def key(self) -> Any:
        """Returns a key that is equal for nodes whose texts differ only in numbers."""
        return self.callee, tuple((each.name, _key(each.value)) for each in self.arguments)

    def literals(self) -> Iterator[tuple[str, Literal]]:
        """Yields literals that may become arguments of the enclosing class, with the argument's name."""
        for each in self.arguments:
            yield from _literals(each)

    def text(self, bound: Bound, indent: int) -> str:
        """Returns the expression, for a position at column ``indent`` of a line."""
        parts = []
        for each in self.arguments:
            is_default = isinstance(each.value, Literal) and each.value.text == each.default
            if is_default and id(each.value) not in bound:
                continue
            name = f"{each.name}=" if each.keyword else ""
            parts.append(name + _value_text(each.value, bound, indent + 4))
        return call_text(self.callee, parts, indent)


@dataclass(eq=False)
class Chain(Node):
    """One after the other: an nn.Sequential."""

    def key(self) -> Any:
        return "chain", tuple(child.key() for child in self.children.values())

    def literals(self) -> Iterator[tuple[str, Literal]]:
        for child in self.children.values():
            yield from child.literals()

    def text(self, bound: Bound, indent: int) -> str:
        parts = runs([child.text(bound, indent + 4) for child in self.children.values()], indent + 4)
        return call_text("nn.Sequential", parts, indent)


@dataclass(eq=False)
class Block(Node):
    """Layers with a forward of their own, whose lines are ``body``. It becomes a class and a call of it."""

    kind: str = "Block"
    body: list[str] = field(default_factory=list)

    def key(self) -> Any:
        children = tuple((name, child.key()) for name, child in self.children.items())
        return "block", self.kind, tuple(self.body), children


def call_text(callee: str, parts: list[str], indent: int) -> str:
    line = f"{callee}({', '.join(parts)})"
    if "\n" not in line and indent + len(line) < WIDTH - 4:
        return line
    margin = " " * (indent + 4)
    return f"{callee}(\n" + "".join(f"{margin}{part},\n" for part in parts) + " " * indent + ")"


def runs(parts: list[str], indent: int) -> list[str]:
    """Returns the texts, with consecutive equal ones replaced by a repetition."""
    found = []
    for text, same in itertools.groupby(parts):
        count = len(list(same))
        if count > 2 or (count == 2 and len(text) > WIDTH // 2):
            found.append(_several(text, count, indent))
        else:
            found += [text] * count
    return found


def _several(text: str, count: int, indent: int) -> str:
    line = f"*({text} for _ in range({count}))"
    if "\n" not in line and indent + len(line) < WIDTH - 1:
        return line
    margin = " " * indent
    shifted = text.replace("\n", "\n    ")
    return f"*(\n{margin}    {shifted}\n{margin}    for _ in range({count})\n{margin})"


def _key(value: Any) -> Any:
    if isinstance(value, Literal):
        return "number" if value.is_number else value.text
    return tuple(each.key() for each in value) if isinstance(value, list) else value.key()


def _literals(argument: Argument) -> Iterator[tuple[str, Literal]]:
    value = argument.value
    if isinstance(value, Literal):
        if value.is_number:
            yield argument.name, value
        return
    for node in value if isinstance(value, list) else [value]:
        yield from node.literals()


def _value_text(value: Any, bound: Bound, indent: int) -> str:
    if isinstance(value, Literal):
        return bound.get(id(value), value.text)
    if not isinstance(value, list):
        node: Node = value
        return node.text(bound, indent)
    parts = [each.text(bound, indent + 4) for each in value]
    if (
        not any("\n" in part for part in parts)
        and indent + sum(map(len, parts)) + 2 * len(parts) < WIDTH - 10
    ):
        return f"[{', '.join(parts)}]"
    margin = " " * (indent + 4)
    return "[\n" + "".join(f"{margin}{part},\n" for part in parts) + " " * indent + "]"


def literal(value: Any) -> Literal:
    return Literal(_written(value), _is_number(value))


def _is_number(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_number, value))
    return value is None or isinstance(value, bool | int | float)


def _written(value: Any) -> str:
    """Returns Python's text for a value. Raises TypeError if there is none."""
    if isinstance(value, float):
        return repr(value) if value - value == 0 else f'float("{value}")'
    if value is None or isinstance(value, bool | int | str):
        return repr(value)
    if isinstance(value, torch.dtype):
        return str(value)
    if isinstance(value, Tensor):
        return f"torch.tensor({_written(value.tolist())}, dtype={value.dtype})"
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    if isinstance(value, tuple):
        inner = ", ".join(map(_written, value))
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    raise TypeError(f"a {type(value).__name__}")
