"""A module's forward pass as a flat list of operations, by torch.fx."""

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, fx, nn
from torch.jit import ScriptModule
from torch.nn import Parameter

from convnet_benchmarks.nets.graph import parameters_read, runs_backward_itself
from convnet_benchmarks.nets.hooks import has_legacy_hook, hook_on, hook_on_parameter, hook_within
from convnet_benchmarks.nets.phases import autocasts, is_checkpointed
from convnet_benchmarks.nets.programs import computes_as, is_known_code, is_program, origin, own_call_within
from convnet_benchmarks.nets.state.kept_state import KeptState


class CompileError(Exception):
    """The engine cannot run a module. The message names the part of the module and what is wrong."""


@dataclass(frozen=True)
class Slot:
    """Stands for a value (an activation) among an operation's arguments."""

    index: int


@dataclass
class Operation:
    """One call. ``values[result]`` = ``call(*args, **kwargs)``, every :class:`Slot` replaced by its value."""

    name: str  # the module's dotted path, or the function's name in the traced graph
    call: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: int
    shape: tuple[int, ...]
    in_place: bool = False
    reshapes: bool = False  # returns its input's elements in their order, under another shape
    parameters: list[Parameter] = field(default_factory=list)

    @property
    def inputs(self) -> list[int]:
        """Returns the values it reads, in order, without duplicates."""
        return list(dict.fromkeys(slot.index for slot in _slots((self.args, self.kwargs))))

    @property
    def held(self) -> list[Tensor]:
        """Returns the parameters it reads, and the tensors among its arguments."""
        given = _leaves((self.args, self.kwargs))
        return [*self.parameters, *(leaf for leaf in given if isinstance(leaf, Tensor))]

    @property
    def kind(self) -> str:
        """Names what is called: the module's class, or the function."""
        if isinstance(self.call, nn.Module):
            return type(self.call).__name__
        return getattr(self.call, "__name__", str(self.call))

    @property
    def hook(self) -> str:
        """Returns the kind of a hook on it; empty without one."""
        return hook_within(self.call) if isinstance(self.call, nn.Module) else ""

    def calls(self, *modules: type[nn.Module]) -> bool:
        """Returns whether it calls one of these modules, or a subclass that computes the same."""
        return isinstance(self.call, modules) and any(
            computes_as(type(self.call), module) for module in modules
        )

    def arguments(self, *names: str) -> dict[str, Any]:
        """Returns the arguments given, by name; ``names`` are the function's parameters in
        order."""
        return {**dict(zip(names, self.args, strict=False)), **self.kwargs}


@dataclass
class Trace:
    """``operations`` in order over values numbered from 0, the input; ``output`` is the last one's result.

    ``checkpointed``: PyTorch runs some of them again in the backward, which changes statistics again.
    """

    operations: list[Operation]
    shapes: list[tuple[int, ...]]
    output: int
    checkpointed: bool


class _Untraceable(Exception):
    def __init__(self, module: nn.Module, cause: Exception) -> None:
        super().__init__(str(cause))
        self.module = module


class _Tracer(fx.Tracer):
    """Descends into user-defined modules; those of torch.nn, with hooks, or in ``opaque`` are kept whole."""

    def __init__(self, opaque: set[nn.Module]) -> None:
        super().__init__()
        self.opaque = opaque
        self.checkpointed = False

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        if is_program(m):
            return True
        container = isinstance(m, (nn.Sequential, nn.ModuleList, nn.ModuleDict))
        of_torch = origin(m).startswith("torch.nn.modules") and not container
        return m in self.opaque or bool(hook_on(m)) or of_torch

    def create_node(self, *args: Any, **kwargs: Any) -> fx.Node:
        self._check_mode()
        return super().create_node(*args, **kwargs)

    def call_module(
        self, m: nn.Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        # Outside the try, as these are the caller's: it changed the mode, or keeps ``m`` in a plain list.
        self._check_mode()
        self.path_of_module(m)
        try:
            return super().call_module(m, forward, args, kwargs)
        except _Untraceable:
            raise
        except Exception as error:  # any error of the module's code for a proxy
            raise _Untraceable(m, error) from error

    def _check_mode(self) -> None:
        """Raises RuntimeError inside ``torch.no_grad()`` and ``torch.autocast``, which a list of operations
        cannot represent; notices checkpointing."""
        self.checkpointed = self.checkpointed or is_checkpointed()
        if not torch.is_grad_enabled():
            raise RuntimeError("part of it runs without gradients")
        if autocasts():
            raise RuntimeError("part of it runs in other number types (autocast)")


def _graph(module: nn.Module) -> tuple[fx.Graph, nn.Module, dict[fx.Node, Any], bool]:
    """Returns the graph, the module its names refer to, the values of the attributes that it reads, and
    whether a part is checkpointed."""
    opaque: set[nn.Module] = set()
    checkpointed = False
    while True:
        tracer = _Tracer(opaque)
        root: nn.Module = module
        if tracer.is_leaf_module(module, ""):
            root = nn.Sequential(module)  # a single layer: fx traces only the inside of a root
        before = KeptState(module, parameters=True)
        try:
            with torch.enable_grad(), torch.autocast("cpu", enabled=False):
                graph = tracer.trace(root)
            read = {node: _attribute(root, node.target) for node in graph.nodes if node.op == "get_attr"}
        except _Untraceable as error:
            opaque.add(error.module)  # this one runs whole, through PyTorch's autograd
            continue
        except Exception as error:
            raise CompileError(
                f"{type(module).__name__}: its forward cannot be traced ({error}); "
                "use PyTorch's autograd for it"
            ) from error
        finally:
            changed = before.changes()
            before.restore()
            checkpointed = checkpointed or tracer.checkpointed
        if not changed:
            return graph, root, read, checkpointed
        name, part, what = changed
        if part is None or part is module or part in opaque:  # what changes an opaque one is outside it
            raise CompileError(f"{name or type(module).__name__}: {what}; use PyTorch's autograd for it")
        opaque.add(part)


_IN_PLACE_FUNCTIONS = {operator.iadd, operator.imul, operator.isub, operator.itruediv, F.relu_}
_NEUTRAL_OF_IN_PLACE = {
    operator.iadd: operator.add,
    operator.imul: operator.mul,
    operator.isub: operator.sub,
    operator.itruediv: operator.truediv,
    F.relu_: F.relu,
}


def trace(module: nn.Module, example: Tensor) -> Trace:
    """Traces ``module`` on ``example``; every operation runs once, to learn its shape. Changes no buffer.

    Raises :class:`CompileError` if the module's computation cannot be expressed as such a list.
    """
    for name, parameter in module.named_parameters():
        if kind := hook_on_parameter(parameter):
            raise CompileError(f"{name}: has a {kind}; use PyTorch's autograd for this module")
    if any(isinstance(part, ScriptModule) for part in module.modules()):
        raise CompileError(f"{type(module).__name__}: is a TorchScript program, or has one inside")
    if kind := own_call_within(module):
        raise CompileError(f"{kind}: has a __call__ of its own; use PyTorch's autograd for this module")
    graph, root, read, checkpointed = _graph(module)
    operations: list[Operation] = []
    shapes: list[tuple[int, ...]] = []
    known: dict[fx.Node, Any] = dict(read)  # a Slot, or a value that does not depend on the input
    samples: dict[int, Tensor] = {}  # of the values that are read later
    output: int | None = None
    position = {node: index for index, node in enumerate(graph.nodes)}
    last_use = {node: max((position[user] for user in node.users), default=-1) for node in graph.nodes}

    def new_value(sample: Tensor) -> Slot:
        samples[len(shapes)] = sample
        shapes.append(tuple(sample.shape))
        return Slot(len(shapes) - 1)

    with KeptState(module), torch.no_grad():
        for node in graph.nodes:
            if node.op == "placeholder":
                if shapes:
                    if node.args:  # an optional argument of forward
                        known[node] = node.args[0]
                        continue
                    raise CompileError(f"{type(module).__name__}: its forward takes more than one input")
                known[node] = new_value(example)
                continue
            args, kwargs = (fx.node.map_arg(part, lambda n: known[n]) for part in (node.args, node.kwargs))
            if node.op == "get_attr":
                continue
            if node.op == "output":
                if not isinstance(args[0], Slot):
                    raise CompileError(
                        f"{type(module).__name__}: its forward returns {_kind(args[0])}, not a tensor"
                    )
                output = args[0].index
                continue
            name, call, in_place = _callable(root, module, node, args)
            constant = next(_slots((args, kwargs)), None) is None
            drawn = torch.get_rng_state() if constant else None
            found, in_place, reshapes, parameters = _run(name, call, args, kwargs, samples, in_place)
            if drawn is not None and not torch.equal(drawn, torch.get_rng_state()):
                raise CompileError(
                    f"{name}: draws numbers of its own; use PyTorch's autograd for this module"
                )
            if constant and parameters:
                raise CompileError(
                    f"{name}: computes from parameters alone; use PyTorch's autograd for this module"
                )
            if constant or not isinstance(found, Tensor):  # sizes and the like: fixed with the input's shape
                if isinstance(found, (tuple, list)) and any(isinstance(part, Tensor) for part in found):
                    raise CompileError(
                        f"{name}: returns several tensors; use PyTorch's autograd for this module"
                    )
                known[node] = found
                continue
            if not found.is_floating_point():
                raise CompileError(f"{name}: computes {found.dtype}; use PyTorch's autograd for this module")
            slot = new_value(found)
            operations.append(
                Operation(
                    name, call, args, kwargs, slot.index, tuple(found.shape), in_place, reshapes, parameters
                )
            )
            if in_place:  # later readers of the changed value read the new one
                changed = next(_slots(args))
                known.update({other: slot for other, value in known.items() if value is changed})
            known[node] = slot
            needed = {
                value.index
                for other, value in known.items()
                if isinstance(value, Slot) and last_use[other] > position[node]
            }
            samples = {index: kept for index, kept in samples.items() if index in needed}
    if output is None or not operations:
        raise CompileError(f"{type(module).__name__}: its forward computes nothing from its input")
    return Trace(_needed(operations, output), shapes, output, checkpointed)


def check_same(module: nn.Module, traced: Trace, dtype: torch.dtype) -> None:
    """Checks, where code other than torch.nn's and ours runs, that the operations compute what it does.

    A forward may ask what kind of thing it gets, which differs while it is traced, or change a part of a
    tensor that others read. Raises :class:`CompileError`.
    """
    if all(is_known_code(origin(part)) for part in module.modules()):
        return
    input = torch.randn(traced.shapes[0], generator=torch.Generator().manual_seed(1)).to(dtype)
    try:
        with torch.enable_grad():  # for hooks of gradients; what is no leaf may be written to
            input = input.requires_grad_().clone()
            with KeptState(module, parameters=True):
                wanted = module(input.clone()).detach()
            with KeptState(module, parameters=True):
                found = _computed(traced, input).detach()
    except Exception as error:  # whatever its author's code says to these numbers
        raise CompileError(f"{type(module).__name__}: {error}") from error
    largest = float(wanted.abs().nan_to_num(0, 0).max()) if wanted.numel() else 0.0
    tolerance = 4 * torch.finfo(dtype).eps ** 0.5
    alike = (tolerance, tolerance * largest, True)  # NaN where NaN is wanted
    if found.shape != wanted.shape or not torch.allclose(found, wanted, *alike):
        raise CompileError(
            f"{type(module).__name__}: its forward computes something else while it is traced; "
            "use PyTorch's autograd for it"
        )


def _computed(traced: Trace, input: Tensor) -> Tensor:
    values = {0: input}
    for operation in traced.operations:

        def fill(item: Any, in_place: bool = operation.in_place) -> Any:
            found = values[item.index] if isinstance(item, Slot) else item
            return found.clone() if in_place and isinstance(found, Tensor) else found

        args, kwargs = map_leaves(operation.args, fill), map_leaves(operation.kwargs, fill)
        values[operation.result] = operation.call(*args, **kwargs)
    return values[traced.output]


def _needed(operations: list[Operation], output: int) -> list[Operation]:
    """Returns the operations that the output depends on."""
    wanted, kept = {output}, []
    for operation in reversed(operations):
        if operation.result in wanted:
            kept.append(operation)
            wanted.update(operation.inputs)
    return kept[::-1]


def _callable(
    root: nn.Module, module: nn.Module, node: fx.Node, args: tuple[Any, ...]
) -> tuple[str, Callable[..., Any], bool]:
    """Returns the operation's name, a callable that changes none of its arguments, and whether the original
    does."""
    if node.op == "call_module":
        layer = root.get_submodule(str(node.target))
        name = str(node.target) if root is module else type(module).__name__
        return name, layer, bool(getattr(layer, "inplace", False))
    if node.op == "call_method":
        method = str(node.target)
        if method.endswith("_") and not method.endswith("__"):
            neutral = method[:-1]
            if not hasattr(Tensor, neutral):
                raise CompileError(
                    f"{node.name}: Tensor.{method} changes its input; use PyTorch's autograd for it"
                )
            return node.name, getattr(Tensor, neutral), True
        return node.name, getattr(Tensor, method), False
    target = node.target
    assert callable(target)
    if target in _IN_PLACE_FUNCTIONS:
        return node.name, _NEUTRAL_OF_IN_PLACE[target], True
    return node.name, target, bool(node.kwargs.get("inplace", False))


def _run(
    name: str, call: Callable[..., Any], args: Any, kwargs: Any, samples: dict[int, Tensor], in_place: bool
) -> tuple[Any, bool, bool, list[Parameter]]:
    """Runs the call as autograd will. Returns its result, whether it changes its input, whether it only
    reshapes it, and the parameters it reads."""
    leaves = {slot.index: samples[slot.index].detach().requires_grad_() for slot in _slots((args, kwargs))}
    given: dict[int, Tensor] = {}

    def fill(item: Any) -> Any:
        found = given[item.index] if isinstance(item, Slot) else item
        return found.clone() if in_place and isinstance(found, Tensor) else found

    try:
        with torch.enable_grad():
            # Not leaves, which autograd does not allow to be changed in place.
            given.update((index, leaf.view_as(leaf)) for index, leaf in leaves.items())
            versions = [tensor._version for tensor in given.values()]
            found = _convolved(call, args, given)
            if found is None:
                found = call(*map_leaves(args, fill), **map_leaves(kwargs, fill))
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        raise CompileError(f"{name}: {error}") from error
    if not in_place and versions != [tensor._version for tensor in given.values()]:
        raise CompileError(f"{name}: changes its input in place; use PyTorch's autograd for this module")
    parameters = _parameters(call, args, kwargs)
    if not isinstance(found, Tensor):
        return found, in_place, False, parameters
    if runs_backward_itself([found]):
        raise CompileError(f"{name}: is checkpointed; use PyTorch's autograd for this module")
    # Including those that a hook or a closure reads.
    parameters = list(dict.fromkeys([*parameters, *parameters_read([found])]))
    if any(found is tensor for tensor in given.values()) and _has_legacy_hook(call):
        raise CompileError(
            f"{name}: a legacy backward hook on a module that returns its input; "
            "use PyTorch's autograd for this module"
        )
    plain = not in_place and not (isinstance(call, nn.Module) and hook_within(call))
    reshapes = plain and len(leaves) == 1 and _reshapes(next(iter(leaves.values())), found)
    return found.detach(), in_place, reshapes, parameters


def _convolved(call: Callable[..., Any], args: Any, given: dict[int, Tensor]) -> Tensor | None:
    """Returns zeros in the shape of a plain convolution's result; None for another call, or one that may
    fail. Convolutions take most of the time of a trace, which needs only their shapes."""
    if type(call) is not nn.Conv2d or hook_within(call) or isinstance(call.padding, str):
        return None
    if len(args) != 1 or not isinstance(args[0], Slot):
        return None
    x, weight = given[args[0].index], call.weight
    plain = isinstance(weight, Parameter) and (call.bias is None or isinstance(call.bias, Parameter))
    if not plain or x.dim() not in (3, 4) or (x.dtype, x.device) != (weight.dtype, weight.device):
        return None
    sizes = [
        (size + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1
        for size, pad, dilation, kernel, stride in zip(
            x.shape[-2:], call.padding, call.dilation, call.kernel_size, call.stride, strict=True
        )
    ]
    if x.shape[-3] != call.in_channels or min(sizes) < 1:
        return None
    return x.new_zeros((*x.shape[:-3], call.out_channels, *sizes))


def _has_legacy_hook(call: Callable[..., Any]) -> bool:
    return isinstance(call, nn.Module) and any(map(has_legacy_hook, call.modules()))


def _reshapes(leaf: Tensor, found: Tensor) -> bool:
    """Returns whether ``found`` has the elements of ``leaf`` in the same order and memory, and passes on its
    gradient unchanged: neither none (detach) nor another one (a function with its own backward)."""
    same = (
        found.requires_grad
        and found.data_ptr() == leaf.data_ptr()
        and found.numel() == leaf.numel()
        and found.is_contiguous()
        and leaf.is_contiguous()
    )
    if not same:
        return False
    probe = torch.rand_like(found)
    # The gradient of a scalar: for others PyTorch loads sympy, which takes half a second.
    with torch.enable_grad():
        (gradient,) = torch.autograd.grad((found * probe).sum(), leaf, allow_unused=True)
    return gradient is not None and torch.equal(gradient.reshape(-1), probe.reshape(-1))


def _attribute(root: nn.Module, target: Any) -> Any:
    found: Any = root
    for part in str(target).split("."):
        found = getattr(found, part)
    return found


def _parameters(call: Callable[..., Any], args: Any, kwargs: Any) -> list[Parameter]:
    """Returns the parameters an operation reads: its module's, or those among its arguments."""
    if isinstance(call, nn.Module):
        return list(call.parameters())
    return [item for item in _leaves((args, kwargs)) if isinstance(item, Parameter)]


def map_leaves(item: Any, function: Callable[[Any], Any]) -> Any:
    """Returns ``item`` with ``function`` applied to the leaves of its tuples, lists, dicts and slices."""
    if isinstance(item, (tuple, list)):  # a torch.Size accepts only numbers: it becomes a tuple
        parts = [map_leaves(part, function) for part in item]
        return parts if isinstance(item, list) else tuple(parts)
    if isinstance(item, dict):
        return {key: map_leaves(part, function) for key, part in item.items()}
    if isinstance(item, slice):
        return slice(*(map_leaves(part, function) for part in (item.start, item.stop, item.step)))
    return function(item)


def _leaves(item: Any) -> Iterator[Any]:
    found: list[Any] = []
    map_leaves(item, found.append)
    return iter(found)


def _slots(item: Any) -> Iterator[Slot]:
    return (leaf for leaf in _leaves(item) if isinstance(leaf, Slot))


def _kind(item: Any) -> str:
    return f"a {type(item).__name__}"
