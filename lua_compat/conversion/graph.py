"""nngraph's gModule."""

from typing import Any

from torch import nn

from lua_compat import t7
from lua_compat.conversion.declared import Conversion
from lua_compat.conversion.fields import Fields
from lua_compat.torch_modules.containers import GraphModule
from lua_compat.torch_modules.tables import FlattenTable

Step = tuple[int | None, tuple[int, ...], int | None]


def _graph_module(f: Fields) -> nn.Module:
    """The forward graph in its recorded order, which is one in which inputs come before what takes them.

    A node's ``data`` is shared by the graph's copies of the node and so is what identifies it. ``mapindex``
    lists a node's inputs by their data, in order, at 1, 2, ...
    """
    nodes = f.get("forwardnodes")
    if not isinstance(nodes, t7.LuaTable):
        f.fail("field forwardnodes must be a table: a graph is expected that nn.gModule made")
    places: dict[int, int] = {}
    children: list[nn.Module] = []
    steps: list[Step] = []
    outputs: tuple[int, ...] = ()
    out_data = _data(f, f.get("outnode"))
    for number, node in enumerate(nodes.array(), 1):
        data = _data(f, node)
        sources = _sources(f, data, places)
        if data is out_data:
            outputs = sources
            continue
        module, child = data.get("module"), None
        if module is not None:
            child = len(children)
            children.append(f.convert(module, f".forwardnodes[{number}].data.module"))
        places[id(data)] = len(steps)
        steps.append((child, sources, data.get("selectindex")))
    if not outputs:
        f.fail("its output node takes nothing")
    return GraphModule(children, steps, outputs, f.integer("nInputs", 1))


def _data(f: Fields, node: Any) -> t7.LuaTable:
    data = node.get("data") if isinstance(node, t7.TorchObject) else None
    if not isinstance(data, t7.LuaTable):
        f.fail("a node of the graph has no data")
    return data


def _sources(f: Fields, data: t7.LuaTable, places: dict[int, int]) -> tuple[int, ...]:
    mapindex = data.get("mapindex")
    if not isinstance(mapindex, t7.LuaTable):
        return ()
    inputs = mapindex.array()
    if any(id(source) not in places for source in inputs):
        f.fail("a node of the graph comes before one of its inputs")
    return tuple(places[id(source)] for source in inputs)


CONVERSIONS: dict[str, Conversion] = {
    "nn.gModule": _graph_module,
    "nngraph.JustElement": lambda f: _Element(),
    "nngraph.JustTable": lambda f: _Table(),
}


class _Element(FlattenTable):
    """{x} -> x."""

    def forward(self, input: Any) -> Any:
        return input[0]


class _Table(FlattenTable):
    """x -> {x}."""

    def forward(self, input: Any) -> Any:
        return [input]
