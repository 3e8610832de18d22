"""A torch.nn.Module with its own forward as a graph of layers, traced by torch.fx."""

import copy
import operator
from collections.abc import Callable
from typing import Any

from torch import fx, nn

from convnet_benchmarks.nets.programs import own_call_within
from convnet_benchmarks.nets.state.kept_state import KeptState
from lua_compat.conversion.composed import for_rows, plus, times
from lua_compat.conversion.errors import CannotTraceError
from lua_compat.conversion.in_place import InPlaceProxy, read_results_instead, written_to
from lua_compat.torch_modules import arithmetic, reduce, shape, tables, transfer
from lua_compat.torch_modules.graph import GraphModule

Step = tuple[int | None, tuple[int, ...], int | None]


def traced(module: nn.Module, is_layer: Callable[[nn.Module], bool]) -> nn.Module:
    """Returns the graph of layers in ``module``'s forward, an nngraph or a chain.

    ``is_layer``: whether an inner module is written as a layer. Raises CannotTraceError.
    """

    class Tracer(fx.Tracer):
        def is_leaf_module(self, m: nn.Module, qualified_name: str) -> bool:
            return is_layer(m)

        def proxy(self, node: fx.Node) -> fx.Proxy:
            return InPlaceProxy(node, self)

    if kind := own_call_within(module):
        raise CannotTraceError(f"{kind} has a __call__ of its own")
    before = KeptState(module, parameters=True)
    try:
        graph = Tracer().trace(module)
    except Exception as error:  # any error of the module's code when run without values
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise CannotTraceError(f"its forward cannot be traced: {reason}") from None
    finally:
        changed = before.changes()
        before.restore()
    if changed:
        name, _, what = changed
        raise CannotTraceError(f"{name}: {what}" if name else what)
    read_results_instead(graph, module)
    for node in reversed(list(graph.nodes)):
        if not node.users and node.op not in ("placeholder", "output"):
            graph.erase_node(node)
    return _Builder(module, graph).result().train(module.training)


class _Builder:
    """Turns every node of a graph into a step."""

    def __init__(self, module: nn.Module, graph: fx.Graph) -> None:
        self._module = module
        self._graph = graph
        self._children: list[nn.Module] = []
        self._used: set[int] = set()
        self._steps: list[Step] = []
        self._places: dict[fx.Node, int] = {}  # the position of a node's step
        self._batch_sizes: set[fx.Node] = set()  # nodes that are the size of the batch
        self._shapes: set[fx.Node] = set()  # nodes that are a tensor's shape
        self._features: set[fx.Node] = set()  # nodes whose values are rows of features: (batch, features)

    def result(self) -> nn.Module:
        inputs = [node for node in self._graph.nodes if node.op == "placeholder" and node.users]
        for node in inputs:
            if str(node.target).startswith("*"):
                raise CannotTraceError(f"its forward takes {node.target}")
        self._steps.append((None, (), None))
        for number, node in enumerate(inputs, 1):
            # nngraph's first node may have one user only
            self._steps.append((None, (0,), number if len(inputs) > 1 else None))
            self._places[node] = len(self._steps) - 1
        outputs: tuple[int, ...] = ()
        for node in self._graph.nodes:
            if node.op == "output":
                value = node.args[0]
                values = value if isinstance(value, tuple | list) else (value,)
                outputs = tuple(self._place(each) for each in values)
            elif node.op != "placeholder":
                self._add(node)
        chain = all(
            sources == (place,) and select is None
            for place, (_, sources, select) in enumerate(self._steps[1:])
        )
        if chain and outputs == (len(self._steps) - 1,):
            return nn.Sequential(*self._children)
        return GraphModule(self._children, self._steps, outputs, len(inputs))

    def _place(self, value: Any) -> int:
        if not isinstance(value, fx.Node) or value not in self._places:
            raise CannotTraceError(f"{value} is not computed by a layer")
        return self._places[value]

    def _add(self, node: fx.Node) -> None:
        if node.op == "call_module":
            self._add_module(node)
        elif node.op == "get_attr":
            raise CannotTraceError(f"the tensor {node.target} is used outside a layer")
        elif self._is_size(node):
            return
        else:
            self._add_function(node)

    def _is_size(self, node: fx.Node) -> bool:
        """Records nodes that are a shape or the batch size: the only computed numbers that views need."""
        source = node.args[0] if node.args else None
        if node.op == "call_method" and node.target == "size":
            (self._batch_sizes if node.args[1:] == (0,) else self._shapes).add(node)
            return True
        if node.target is getattr and node.args[1:] == ("shape",):
            self._shapes.add(node)
            return True
        if node.target is operator.getitem and source in self._shapes:
            if node.args[1] == 0:
                self._batch_sizes.add(node)
            else:
                self._shapes.add(node)
            return True
        return False

    def _step(
        self, node: fx.Node, module: nn.Module | None, *sources: Any, select: int | None = None
    ) -> None:
        child = None
        if module is not None:
            child = len(self._children)
            self._children.append(module)
        self._steps.append((child, tuple(self._place(source) for source in sources), select))
        self._places[node] = len(self._steps) - 1

    def _add_module(self, node: fx.Node) -> None:
        module: Any = self._module.get_submodule(str(node.target))
        if node.kwargs or not all(isinstance(value, fx.Node) for value in node.args):
            raise CannotTraceError(f"{node.target} is called with more than tensors")
        written = written_to(node, self._module)
        keeps_input = written is not None and len(written.users) > 1
        # nn's layers keep their last output, so each use gets its own.
        if id(module) in self._used or keeps_input:
            module = copy.deepcopy(module, {id(p): p for p in module.parameters()})
            if keeps_input:
                module.inplace = False
        self._used.add(id(module))
        rows = isinstance(module, nn.Flatten) or node.args[0] in self._features
        if isinstance(module, nn.Linear) and not rows:
            module = for_rows(module)
        if rows and isinstance(module, nn.Linear | nn.Flatten | nn.ReLU | nn.Dropout | nn.BatchNorm1d):
            self._features.add(node)
        self._step(node, module, *node.args)

    def _add_function(self, node: fx.Node) -> None:
        name = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "")
        handler = _HANDLERS.get(name.removeprefix("_").rstrip("_"))
        if handler is None:
            raise CannotTraceError(f"{name} has no counterpart among Torch7's layers")
        arguments = _Arguments(node, self)
        made = handler(arguments)
        if made is None or arguments.is_unread():
            raise CannotTraceError(f"{name}({arguments.text()}) has no counterpart among Torch7's layers")
        module, sources = made
        if isinstance(module, nn.Flatten) or (sources[0] in self._features and name in _ELEMENTWISE):
            self._features.add(node)
        self._step(node, module, *sources)

    def is_batch_size(self, value: Any) -> bool:
        return value in self._batch_sizes


Made = tuple[nn.Module, tuple[Any, ...]] | None
_ELEMENTWISE = ("relu", "relu_", "dropout", "tanh", "sigmoid", "gelu", "silu", "leaky_relu", "elu")


class _Arguments:
    """The arguments of a function or method, by position or by name."""

    def __init__(self, node: fx.Node, builder: _Builder) -> None:
        self._node = node
        self._builder = builder
        self._read: set[int | str] = {"inplace", "_stacklevel"}

    def is_unread(self) -> bool:
        """Returns whether an argument with a value that may matter was never asked for."""
        given: dict[Any, Any] = {**dict(enumerate(self._node.args)), **self._node.kwargs}
        return any(key not in self._read and value not in (None, False) for key, value in given.items())

    def get(self, place: int, name: str, default: Any = None) -> Any:
        self._read |= {place, name}
        if len(self._node.args) > place:
            return self._node.args[place]
        return self._node.kwargs.get(name, default)

    @property
    def first(self) -> Any:
        return self.get(0, "input")

    def rest(self, place: int = 1) -> list[Any]:
        """Returns the numbers from a position on, which may be one list."""
        self._read |= set(range(place, len(self._node.args)))
        values = list(self._node.args[place:])
        return list(values[0]) if len(values) == 1 and isinstance(values[0], list | tuple) else values

    def is_batch_size(self, value: Any) -> bool:
        return isinstance(value, fx.Node) and self._builder.is_batch_size(value)

    def text(self) -> str:
        return ", ".join(map(str, [*self._node.args, *(f"{k}={v}" for k, v in self._node.kwargs.items())]))


def _layer(kind: Callable[..., nn.Module], *argument: Any) -> Callable[[_Arguments], Made]:
    """Returns the handler of a function of each element; ``argument``: the name of its one, and the
    default."""

    def handle(a: _Arguments) -> Made:
        given = {argument[0]: a.get(1, *argument)} if argument else {}
        a.get(1 + len(given), "inplace")  # its result is what is read later
        return kind(**given), (a.first,)

    return handle


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _combined(
    table: Callable[[], nn.Module],
    with_number: Callable[[float], nn.Module],
    reversed_: Callable[[float], nn.Module],
) -> Callable[[_Arguments], Made]:
    """Returns the handler of an operator between tensors, or a tensor and a number on either side."""

    def handle(a: _Arguments) -> Made:
        one, other, alpha = a.get(0, "input"), a.get(1, "other"), a.get(2, "alpha", 1)
        if alpha != 1:
            return None
        if isinstance(one, fx.Node) and isinstance(other, fx.Node):
            return table(), (one, other)
        if isinstance(one, fx.Node) and _number(other):
            return with_number(float(other)), (one,)
        if _number(one) and isinstance(other, fx.Node):
            return reversed_(float(one)), (other,)
        return None

    return handle


def _softmax(kind: type[nn.Module]) -> Callable[[_Arguments], Made]:
    def handle(a: _Arguments) -> Made:
        dim = a.get(1, "dim")
        if dim == -1:
            return for_rows(kind()), (a.first,)
        return (kind(), (a.first,)) if dim == 1 else None

    return handle


def _cat(a: _Arguments) -> Made:
    tensors, dim = a.get(0, "tensors"), a.get(1, "dim", 0)
    if not isinstance(tensors, list | tuple) or not isinstance(dim, int):
        return None
    return tables.JoinTable(dimension=dim + 1 if dim >= 0 else dim), tuple(tensors)


def _flatten(a: _Arguments) -> Made:
    return (
        (nn.Flatten(), (a.first,)) if (a.get(1, "start_dim", 0), a.get(2, "end_dim", -1)) == (1, -1) else None
    )


def _view(a: _Arguments) -> Made:
    batch, *sizes = a.rest()
    if sizes == [-1] and (a.is_batch_size(batch) or batch == -1):
        return nn.Flatten(), (a.first,)
    if a.is_batch_size(batch) and sizes and all(isinstance(size, int) and size > 0 for size in sizes):
        return shape.Reshape(size=tuple(sizes), batchMode=True), (a.first,)
    return None


def _swap(a: _Arguments) -> Made:
    one, other = a.get(1, "dim0"), a.get(2, "dim1")
    if min(one, other) < 0:
        return None
    return shape.Transpose(permutations=[[one + 1, other + 1]]), (a.first,)


def _unsqueeze(a: _Arguments) -> Made:
    dim = a.get(1, "dim")
    return (shape.Unsqueeze(pos=dim + 1), (a.first,)) if dim >= 0 else None


def _permute(a: _Arguments) -> Made:
    wanted = a.rest()
    if min(wanted) < 0:
        return None
    order, swaps = list(range(len(wanted))), []
    for place, dim in enumerate(wanted):
        source = order.index(dim)
        if source != place:
            order[place], order[source] = order[source], order[place]
            swaps.append([place + 1, source + 1])
    return shape.Transpose(permutations=swaps), (a.first,)


def _mean(a: _Arguments) -> Made:
    dims, keep = a.get(1, "dim"), a.get(2, "keepdim", False)
    dims = [dims] if isinstance(dims, int) else list(dims or ())
    if not dims or min(dims) < 0 or 0 in dims:
        return None
    parts = [reduce.Mean(dimension=dim + 1, squeeze=not keep) for dim in sorted(dims, reverse=True)]
    return nn.Sequential(*parts), (a.first,)


def _item(a: _Arguments) -> Made:
    places = a.get(1, "index")
    places = places if isinstance(places, tuple) else (places,)
    parts: list[nn.Module] = []
    for dim, place in reversed(list(enumerate(places, 1))):
        if isinstance(place, int):
            parts.append(shape.Select(dimension=dim, index=place + (place >= 0)))
        elif not isinstance(place, slice) or place.step not in (None, 1):
            return None
        elif (place.start, place.stop) != (None, None):
            start, stop = place.start or 0, place.stop
            if start < 0 or (stop is not None and stop < 0):
                return None
            length = -1 if stop is None else stop - start
            parts.append(shape.Narrow(dimension=dim, index=start + 1, length=length))
    return nn.Sequential(*parts), (a.first,)


def _pool(kind: Any, **more: Any) -> Callable[[_Arguments], Made]:
    """Returns the handler of a pooling; ``more``: its arguments after the padding, and their defaults."""
    options = {"kernel_size": None, "stride": None, "padding": 0, **more}

    def handle(a: _Arguments) -> Made:
        given = {name: a.get(place, name, options[name]) for place, name in enumerate(options, 1)}
        return kind(**given), (a.first,)

    return handle


def _matmul(a: _Arguments) -> Made:
    return arithmetic.MM(), (a.get(0, "input"), a.get(1, "other"))


def _dropout(a: _Arguments) -> Made:
    p, training, _ = a.get(1, "p", 0.5), a.get(2, "training", True), a.get(3, "inplace")
    return nn.Identity() if training is False else nn.Dropout(p), (a.first,)


def _interpolate(a: _Arguments) -> Made:
    module = nn.Upsample(
        a.get(1, "size"), a.get(2, "scale_factor"), a.get(3, "mode", "nearest"), a.get(4, "align_corners")
    )
    return module, (a.first,)


def _power(a: _Arguments) -> Made:
    exponent = a.get(1, "exponent")
    return (transfer.Power(pow=exponent), (a.first,)) if _number(exponent) else None


_add = _combined(lambda: tables.CAddTable(inplace=False), plus, plus)
_mul = _combined(tables.CMulTable, times, times)
_sub = _combined(tables.CSubTable, lambda n: plus(-n), lambda n: nn.Sequential(times(-1), plus(n)))
_div = _combined(
    tables.CDivTable, lambda n: times(1 / n), lambda n: nn.Sequential(transfer.Power(pow=-1), times(n))
)

_HANDLERS: dict[str, Callable[[_Arguments], Made]] = {
    "add": _add, "iadd": _add, "sub": _sub, "isub": _sub, "mul": _mul, "imul": _mul,
    "truediv": _div, "itruediv": _div, "div": _div, "matmul": _matmul, "bmm": _matmul,
    "cat": _cat, "concat": _cat,
    "neg": _layer(lambda: times(-1)), "relu": _layer(nn.ReLU), "relu6": _layer(nn.ReLU6),
    "sigmoid": _layer(nn.Sigmoid), "tanh": _layer(nn.Tanh), "exp": _layer(transfer.Exp),
    "log": _layer(transfer.Log), "sqrt": _layer(transfer.Sqrt), "abs": _layer(transfer.Abs),
    "square": _layer(transfer.Square), "silu": _layer(nn.SiLU), "mish": _layer(nn.Mish),
    "hardswish": _layer(nn.Hardswish), "hardsigmoid": _layer(nn.Hardsigmoid),
    "gelu": lambda a: (nn.GELU(a.get(1, "approximate", "none")), (a.first,)),
    "elu": _layer(nn.ELU, "alpha", 1.0), "leaky_relu": _layer(nn.LeakyReLU, "negative_slope", 0.01),
    "softplus": lambda a: (nn.Softplus(a.get(1, "beta", 1), a.get(2, "threshold", 20)), (a.first,)),
    "pow": _power,
    "softmax": _softmax(transfer.SoftMax), "log_softmax": _softmax(transfer.LogSoftMax),
    "flatten": _flatten, "view": _view, "reshape": _view, "transpose": _swap, "permute": _permute,
    "unsqueeze": _unsqueeze,
    "contiguous": _layer(shape.Contiguous), "mean": _mean, "getitem": _item, "dropout": _dropout,
    "max_pool2d": _pool(nn.MaxPool2d, dilation=1, ceil_mode=False, return_indices=False),
    "avg_pool2d": _pool(nn.AvgPool2d, ceil_mode=False, count_include_pad=True, divisor_override=None),
    "adaptive_avg_pool2d": lambda a: (nn.AdaptiveAvgPool2d(a.get(1, "output_size")), (a.first,)),
    "adaptive_max_pool2d": lambda a: (nn.AdaptiveMaxPool2d(a.get(1, "output_size")), (a.first,)),
    "interpolate": _interpolate,
}  # fmt: skip
