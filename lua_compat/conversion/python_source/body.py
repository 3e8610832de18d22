"""The forward of a block, line by line."""

import keyword
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import nn

from convnet_benchmarks.nets.modules.torch7 import Concat, ConcatTable
from lua_compat.conversion.python_source.nodes import Block, Chain, Node
from lua_compat.torch_modules import containers
from lua_compat.torch_modules.graph import GraphModule

BRANCHING = (ConcatTable, Concat, containers.ParallelTable)
_ALIKE = 3  # this many equal blocks in a row become one chain
_LONGEST_PERIOD = 6  # layers from one block to the next equal one, at most

# A path, a module at it, and whether that is a block of its own.
_Unit = tuple[str, nn.Module, bool]


@dataclass
class _Line:
    """``result`` = ``text``, where {0}, {1}, ... stand for the values ``taken`` and {layer} for a child."""

    result: int
    text: str
    taken: list[Any]
    layer: int | None = None


class Body:
    """A forward under construction: values are numbers, tables are lists of them; the input is 0.

    ``node`` makes the node of a module at a path; ``copied`` returns the name of the function that copies
    tables.
    """

    def __init__(self, node: Callable[[nn.Module, str], Node], copied: Callable[[], str]) -> None:
        self.nodes: list[Node] = []
        self._node = node
        self._name_of_copied = copied
        self._values = 1
        self._lines: list[_Line] = []
        self._hints: list[str] = []
        self._runs: dict[type, Callable[[Any, Any, str], Any]] = {
            GraphModule: self._graph,
            ConcatTable: self._concat_table,
            containers.SharedConcatTable: self._shared_concat_table,
            Concat: self._concat,
            containers.SharedConcat: self._shared_concat,
            containers.ParallelTable: self._parallel_table,
            nn.Identity: lambda module, value, path: value,
        }
        self._depth = 0

    def run(self, module: nn.Module, value: Any, path: str, hint: str = "") -> Any:
        """Returns the value of the module's result for ``value``."""
        kind = type(module)
        opens = kind in self._runs and (kind is not GraphModule or self._depth == 0)
        if kind is nn.Sequential and (self._depth == 0 or len(module) == 1):  # type: ignore[arg-type]
            opens = True
        if not opens:
            return self._call(self._node(module, path), value, hint)
        self._depth += 1
        run = self._chain if kind is nn.Sequential else self._runs[kind]
        found = run(module, value, path)
        self._depth -= 1
        return found

    def _line(self, text: str, taken: list[Any], layer: int | None = None) -> int:
        self._values += 1
        self._lines.append(_Line(self._values - 1, text, taken, layer))
        return self._values - 1

    def _call(self, node: Node, value: Any, hint: str = "") -> int:
        self.nodes.append(node)
        self._hints.append(hint or _hint(node))
        return self._line("self.{layer}({0})", [value], len(self.nodes) - 1)

    def _chain(self, module: Any, value: Any, path: str) -> Any:
        units = _units(list(module), path)
        nodes: dict[int, Node] = {}

        def node(place: int) -> Node:
            if place not in nodes:
                nodes[place] = self._node(units[place][1], units[place][0])
            return nodes[place]

        place = 0
        while place < len(units):
            here, unit, apart = units[place]
            length, times = _repeated(units, node, place)
            if times:
                found: list[Node] = [node(number) for number in range(place, place + length * times)]
                if length > 1:
                    found = [
                        _chained(found[first : first + length]) for first in range(0, len(found), length)
                    ]
                value = self._call(_chained(found), value, "blocks")
            else:
                value = self._call(node(place), value) if apart else self.run(unit, value, here)
            place += length * times or 1
        return value

    def _branches(self, modules: Any, value: Any, path: str) -> list[Any]:
        return [
            self.run(child, value, f"{path}[{place}]", _branch(child)) for place, child in enumerate(modules)
        ]

    def _concat_table(self, module: Any, value: Any, path: str) -> list[Any]:
        return self._branches(module, value, path)

    def _shared_concat_table(self, module: Any, value: Any, path: str) -> list[Any]:
        return self._branches(module, self._copied(value), path)

    def _concat(self, module: Any, value: Any, path: str) -> int:
        parts = self._branches(module.branches, value, f"{path}.branches")
        return self._line(f"torch.cat({{0}}, {module.dim})", [parts])

    def _shared_concat(self, module: Any, value: Any, path: str) -> int:
        return self._concat(module, self._copied(value), path)

    def _copied(self, value: Any) -> int:
        return self._line(f"{self._name_of_copied()}({{0}})", [value])

    def _parallel_table(self, module: Any, value: Any, path: str) -> list[Any]:
        parts = (
            value
            if isinstance(value, list)
            else [self._line(f"{{0}}[{i}]", [value]) for i in range(len(module))]
        )
        return [
            self.run(child, part, f"{path}[{place}]", _branch(child))
            for place, (child, part) in enumerate(zip(module, parts, strict=False))
        ]

    def _graph(self, module: GraphModule, value: Any, path: str) -> Any:
        values: list[Any] = []
        for child, sources, select in module.steps:
            taken = [values[source] for source in sources] if sources else [value]
            found: Any = taken[0] if len(taken) == 1 else taken
            if select is not None:
                found = (
                    found[select - 1]
                    if isinstance(found, list)
                    else self._line(f"{{0}}[{select - 1}]", [found])
                )
            if child is not None:
                found = self.run(module.children_in_order[child], found, f"{path}.children_in_order[{child}]")
            values.append(self._copied(found) if len(values) in module._copied else found)
        chosen = [values[place] for place in module.outputs]
        return chosen[0] if len(chosen) == 1 else chosen

    def names(self) -> list[str]:
        """Returns the names of the layers: numbered where there are several of a kind."""
        several = Counter(self._hints)
        seen: Counter[str] = Counter()
        found = []
        for hint in self._hints:
            seen[hint] += 1
            found.append(f"{hint}{seen[hint]}" if several[hint] > 1 else hint)
        return found

    def lines(self, result: Any, names: list[str]) -> list[str]:
        """Returns the lines of the forward; a variable's name is reused once nothing reads it any more."""
        last_read = {value: len(self._lines) for value in _flat(result)}
        for place, line in enumerate(self._lines):
            for value in _flat(line.taken):
                last_read[value] = max(last_read.get(value, 0), place)
        called = {0: "input"}
        free: list[str] = []
        made = 0
        found: list[str] = []
        for place, line in enumerate(self._lines):
            layer = names[line.layer] if line.layer is not None else ""
            text = line.text.format(*(_shown(value, called) for value in line.taken), layer=layer)
            free += [
                called[value]
                for value in dict.fromkeys(_flat(line.taken))
                if value and last_read[value] == place
            ]
            if place == len(self._lines) - 1 and result == line.result:
                return [*found, f"return {text}"]
            if not free:
                free.append(_VARIABLES[made] if made < len(_VARIABLES) else f"x{made}")
                made += 1
            free.sort(key=_order)
            called[line.result] = free.pop(0)
            found.append(f"{called[line.result]} = {text}")
            if line.result not in last_read:  # a child whose result is not used
                free.append(called[line.result])
        return [*found, f"return {_shown(result, called)}"]


def _units(modules: list[nn.Module], path: str) -> list[_Unit]:
    """Returns the parts of a chain. If it branches several times, each branching layer becomes a block,
    together with the layer that joins its table."""
    alone = [(f"{path}[{place}]", module, False) for place, module in enumerate(modules)]
    if sum(isinstance(module, ConcatTable | Concat) for module in modules) < 2:
        return alone
    found: list[_Unit] = []
    waiting: list[_Unit] = []
    for here, module, _ in alone:
        if waiting or isinstance(module, ConcatTable):
            waiting.append((here, module, False))
            if not isinstance(module, ConcatTable | containers.ParallelTable):
                found.append((here, nn.Sequential(*(each for _, each, _ in waiting)), True))
                waiting = []
        else:
            found.append((here, module, isinstance(module, Concat)))
    return [*found, *waiting] if len(found) > 1 else alone


def _repeated(units: list[_Unit], node: Callable[[int], Node], place: int) -> tuple[int, int]:
    """Returns how many units from ``place`` on are repeated, and how often: with a block among them, and
    differing only in numbers. (0, 0) if there are none."""
    for length in range(1, _LONGEST_PERIOD + 1):
        if place + _ALIKE * length > len(units):
            break
        period = range(place, place + length)
        if not any(isinstance(node(number), Block) for number in period):
            continue
        times = 1
        while place + (times + 1) * length <= len(units) and all(
            node(number + times * length).key() == node(number).key() for number in period
        ):
            times += 1
        if times >= _ALIKE:
            return length, times
    return 0, 0


def _chained(nodes: list[Node]) -> Chain:
    return Chain(nn.Sequential(), children={str(place): node for place, node in enumerate(nodes)})


_VARIABLES = ("x", "y", "z", "u", "v", "w")


def _order(name: str) -> tuple[int, str]:
    return (len(name), str(_VARIABLES.index(name)) if name in _VARIABLES else name)


def _flat(value: Any) -> list[int]:
    return [each for item in value for each in _flat(item)] if isinstance(value, list) else [value]


def _shown(value: Any, called: dict[int, str]) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_shown(each, called) for each in value)}]"
    return called[value]


def _branch(module: nn.Module) -> str:
    return "branch" if isinstance(module, nn.Sequential) else ""


_HINTS = ("conv", "pool", "dropout", "linear")


def _hint(node: Node) -> str:
    """Returns a name for a layer: conv, bn, relu, or its class's name."""
    if isinstance(node, Block):
        return node.kind.lower()
    if isinstance(node, Chain):
        return "layers"
    kind = type(node.module).__name__
    if ("Normalization" in kind and "Batch" in kind) or "BatchNorm" in kind:
        return "bn"
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", kind).lower().strip("_")
    snake = snake.removesuffix("_table").removeprefix("c_")
    name = next((hint for hint in _HINTS if hint in snake), snake)
    if snake.endswith(("re_lu", "re_lu6", "prelu")):
        name = "relu"
    return f"{name}_" if hasattr(nn.Module, name) or keyword.iskeyword(name) else name
