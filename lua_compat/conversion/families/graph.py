"""nngraph's gModule."""

from typing import Any

from torch import nn

from lua_compat import t7
from lua_compat.conversion.reading import Conversion, Fields
from lua_compat.conversion.writing import Export, ModuleWriter
from lua_compat.torch_modules.graph import GraphModule
from lua_compat.torch_modules.tables import FlattenTable

Step = tuple[int | None, tuple[int, ...], int | None]


def _graph_module(f: Fields) -> nn.Module:
    """Converts the forward graph in its recorded order, in which inputs come before the nodes that use them.

    A node's ``data`` is shared by the graph's copies of the node, and so identifies it. ``mapindex``
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


class _Element(FlattenTable):
    """{x} -> x."""

    def forward(self, input: Any) -> Any:
        return input[0]


class _Table(FlattenTable):
    """x -> {x}."""

    def forward(self, input: Any) -> Any:
        return [input]


CONVERSIONS: dict[str, Conversion] = {
    "nn.gModule": _graph_module,
    "nngraph.JustElement": lambda f: _Element(),
    "nngraph.JustTable": lambda f: _Table(),
}


class _Nodes:
    """The nodes of one direction: nngraph's forward and backward graphs share only their nodes' data."""

    def __init__(self, data: list[t7.LuaTable]) -> None:
        self.nodes = [
            t7.TorchObject(
                "nngraph.Node",
                1,
                t7.LuaTable(
                    {"id": number, "data": each, "children": t7.LuaTable(), "visited": False, "marked": False}
                ),
            )
            for number, each in enumerate(data, 1)
        ]
        self._edges: list[t7.TorchObject] = []

    def connect(self, parent: int, child: int) -> None:
        _append_indexed(self.nodes[parent]["children"], self.nodes[child])
        ends = t7.LuaTable({"from": self.nodes[parent], "to": self.nodes[child]})
        self._edges.append(t7.TorchObject("graph.Edge", 1, ends))

    def graph(self) -> t7.TorchObject:
        tables = {"nodes": t7.LuaTable(), "edges": t7.LuaTable()}
        for name, items in (("nodes", self.nodes), ("edges", self._edges)):
            for item in items:
                _append_indexed(tables[name], item)
        return t7.TorchObject("graph.Graph", 1, t7.LuaTable(tables))


def _append_indexed(table: t7.LuaTable, item: Any) -> None:
    """Sets table[n] = item and table[item] = n, as the package graph does to find an item."""
    place = len(table) // 2 + 1
    table[place], table[item] = item, place


def _graph_export(w: ModuleWriter, m: GraphModule) -> t7.TorchObject:
    """gModule runs its nodes in the order of forwardnodes, and backward in that of backwardnodes."""
    steps: list[Step] = [*m.steps, (None, m.outputs, None)]  # the last one is nngraph's output node
    modules = w.children(m.children_in_order)
    data = [_node_data(number, step, modules) for number, step in enumerate(steps, 1)]
    forward, backward = _Nodes(data), _Nodes(data)
    for consumer, (_, sources, select) in enumerate(steps):
        for source in sources:
            _append_indexed(data[consumer]["mapindex"], data[source])
            data[source]["reverseMap"][backward.nodes[consumer]] = True
            forward.connect(source, consumer)
            backward.connect(consumer, source)
            if select is not None:
                data[source]["nSplitOutputs"] = data[source].get("nSplitOutputs", 0) + 1
    return w.object(
        "nn.gModule",
        modules=modules,
        fg=forward.graph(),
        bg=backward.graph(),
        innode=forward.nodes[0],
        outnode=backward.nodes[-1],
        forwardnodes=list(forward.nodes),
        backwardnodes=list(reversed(backward.nodes)),
        nInputs=m.inputs,
        verbose=False,
    )


def _node_data(number: int, step: Step, modules: t7.LuaTable) -> t7.LuaTable:
    child, _, select = step
    return t7.LuaTable(
        {
            "module": None if child is None else modules[child + 1],
            "selectindex": select,
            "annotations": t7.LuaTable(),
            "mapindex": t7.LuaTable(),
            "reverseMap": t7.LuaTable(),
            "forwardNodeId": number,
            "input": t7.LuaTable(),
        }
    )


EXPORTS: dict[type, Export] = {
    GraphModule: _graph_export,
    _Element: lambda w, m: w.object("nngraph.JustElement", gradInput=[]),
    _Table: lambda w, m: w.object("nngraph.JustTable", output=[]),
}
