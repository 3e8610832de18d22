"""Parts of a net that run on plans of the engine, within PyTorch's graph of the rest."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import Parameter

from convnet_benchmarks.nets.engine.layers.stock import StockLayer
from convnet_benchmarks.nets.engine.plan import EnginePhases
from convnet_benchmarks.nets.engine.recognise import recognise
from convnet_benchmarks.nets.engine.trace import CompileError, Trace, check_same, trace
from convnet_benchmarks.nets.engine.values import Value
from convnet_benchmarks.nets.hooks import hook_within
from convnet_benchmarks.nets.phases import Calls, autocasts, check_differentiated_once, edge_to, recorder_of

# Layers that treat every row alike: inputs of more dimensions are reshaped to rows.
_OF_ROWS = (nn.Linear, nn.ReLU, nn.Threshold, nn.Dropout)
MakePlan = Callable[[nn.Module, tuple[int, ...]], EnginePhases]


class Part:
    """A module with one plan for each call of it in a pass of the net. A plan is made when it is needed."""

    def __init__(self, name: str, module: nn.Module, make: MakePlan) -> None:
        self.name = name
        self.module = module
        self.copies = False  # whether its output must be copied, because a later layer overwrites it
        self._make = make
        self._plans: dict[tuple[int, ...], list[EnginePhases]] = {}
        self._used: dict[tuple[int, ...], int] = {}
        self._refused: set[tuple[int, ...]] = set()
        self._by_rows = _is_of_rows(module)
        parameter = next(module.parameters())
        self._dtype = parameter.dtype
        self._parameters = [
            (inner._parameters, name, one)
            for inner in module.modules()
            for name, one in inner._parameters.items()
        ]

    def begin(self) -> None:
        """Begins a new pass, which uses the plans from the first on."""
        self._used.clear()

    def shape_of(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Returns the input shape of a plan for inputs of ``shape``."""
        rows = self._by_rows and len(shape) > 2
        return (math.prod(shape[:-1]), shape[-1]) if rows else tuple(shape)

    def prepare(self, shapes: Sequence[tuple[int, ...]]) -> bool:
        """Makes the plans for calls with inputs of these shapes; returns whether there are any."""
        self.begin()
        for shape in shapes:
            self._next_plan(self.shape_of(shape))
        return bool(self.plans)

    def plan_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> EnginePhases | None:
        """Returns the plan for a call; None where PyTorch must run it."""
        if len(args) != 1 or kwargs or not isinstance(args[0], Tensor):
            return None
        input = args[0]
        if input.dtype != self._dtype or not input.numel():
            return None
        if not all(held[name] is one for held, name, one in self._parameters):  # a functional call's
            return None
        return self._next_plan(self.shape_of(input.shape))

    def _next_plan(self, shape: tuple[int, ...]) -> EnginePhases | None:
        number = self._used.get(shape, 0)
        self._used[shape] = number + 1
        plans = self._plans.setdefault(shape, [])
        if number >= len(plans):
            if shape in self._refused:
                return None
            stands_in = vars(self.module).pop("forward", None)
            try:
                plans.append(self._make(self.module, shape))
            except CompileError:
                self._refused.add(shape)
                return None
            finally:
                if stands_in is not None:
                    setattr(self.module, "forward", stands_in)  # noqa: B010
        return plans[number]

    @property
    def plans(self) -> list[EnginePhases]:
        return [plan for plans in self._plans.values() for plan in plans]

    def close(self) -> None:
        for plan in self.plans:
            plan.close()


class Run:
    """One call of a part: its plan and input, whether a later layer overwrote the output, and whether the
    plan has the output's gradient."""

    def __init__(self, part: Part, plan: EnginePhases, input: Tensor) -> None:
        self.part = part
        self.plan = plan
        self.input = input.detach().reshape(part.shape_of(input.shape))
        self.has_gradient = False
        self._lead = input.shape[:-1] if self.input.shape != input.shape else None
        self._output = torch.empty(0)
        self._version = 0

    def output(self) -> Tensor:
        """Runs the plan; returns its buffer as a tensor that is not a view: PyTorch forbids changing views in
        place."""
        found = self.plan.updateOutput(self.input)
        if self._lead is not None:
            found = found.view(*self._lead, -1)
        if self.part.copies:
            return found.clone()
        storage, offset = found.untyped_storage(), found.storage_offset()
        return found.new_empty(0).set_(storage, offset, found.shape, found.stride())

    def watch(self, output: Tensor) -> None:
        """Makes ``overwritten`` report changes of ``output`` from now on."""
        self._output = output.detach()
        self._version = self._output._version

    @property
    def overwritten(self) -> bool:
        return self._output._version != self._version

    def input_gradient(self, gradient: Tensor, shape: torch.Size) -> Tensor:
        """Returns the gradient of an input of that shape, from that of the output."""
        if self.overwritten and not self.part.copies:
            raise RuntimeError(f"{self.part.name}: its output was overwritten: compile the module again")
        self.has_gradient = True
        if self._lead is not None:
            gradient = gradient.reshape(-1, gradient.shape[-1])
        return self.plan.updateGradInput(self.input, gradient).view(shape)


class PartRecorder:
    """Stands in for the forward of a part in PyTorch's graph: a ``Recorder`` of ``nets/phases.py``."""

    def __init__(self, part: Part, calls: Calls, inference: bool) -> None:
        self._part = part
        self._calls = calls
        self._inference = inference
        self._stock = recorder_of(part.module, calls)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        wanted = torch.is_grad_enabled() != self._inference and not autocasts()
        plan = self._part.plan_for(args, kwargs) if wanted else None
        if plan is None:
            return self._stock.forward(*args, **kwargs)
        run = Run(self._part, plan, args[0])
        if self._inference:
            return run.output()
        output = _OnPlan.apply(run, torch.empty(0, requires_grad=True), args[0])
        run.watch(output)
        self._calls.append((self, (edge_to(output),), run))
        return output

    def accumulate(self, saved: Run, gradients: tuple[Tensor | None, ...]) -> None:
        gradient = gradients[0]
        if gradient is None:
            return
        if not saved.has_gradient:  # the first part of the net: nothing before it needed its gradient
            saved.input_gradient(gradient, saved.input.shape)
        saved.plan.accGradParameters(saved.input, gradient)

    def reads(self, saved: Run) -> list[Parameter]:
        return []

    def without(self, saved: Run, apart: set[Parameter]) -> Run:
        return saved


class _OnPlan(torch.autograd.Function):
    """Joins a plan to the graph around it. Its second argument requires a gradient, so that the output does,
    too."""

    @staticmethod
    def forward(ctx: Any, run: Run, anchor: Tensor, input: Tensor) -> Tensor:
        ctx.run, ctx.shape = run, input.shape
        return run.output()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, None, Tensor]:
        check_differentiated_once()
        return None, None, ctx.run.input_gradient(gradient, ctx.shape)


Shapes = dict[nn.Module, list[tuple[int, ...] | None]]  # of each call's input; None: not one tensor


def parts_of(module: nn.Module, shapes: Shapes, dtype: torch.dtype, make: MakePlan) -> dict[nn.Module, Part]:
    """Returns the largest parts of ``module`` that the engine has layers for, each with its plans.

    ``shapes``: what was seen in one pass.
    """
    found: dict[nn.Module, Part] = {}
    for name, inner in _candidates(module, "", shapes, dtype):
        if inner in found:
            continue
        part = Part(name, inner, make)
        if part.prepare([shape for shape in shapes[inner] if shape is not None]):
            found[inner] = part
    return found


def _candidates(
    module: nn.Module, name: str, shapes: Shapes, dtype: torch.dtype
) -> Iterator[tuple[str, nn.Module]]:
    called = shapes.get(module, [])
    whole = called and all(shape is not None and _fits(module, shape, dtype) for shape in set(called))
    if whole and not hook_within(module):
        yield name, module
        return
    for inner, child in module.named_children():
        yield from _candidates(child, f"{name}.{inner}" if name else inner, shapes, dtype)


def _fits(module: nn.Module, shape: tuple[int, ...] | None, dtype: torch.dtype) -> bool:
    """Returns whether the engine has a layer for all that a module does, and the module parameters."""
    assert shape is not None
    parameters = list(module.parameters())
    if not parameters or any(parameter.dtype != dtype for parameter in parameters):
        return False
    if _is_of_rows(module) and len(shape) > 2:
        shape = (2, shape[-1])
    if len(shape) not in (2, 3, 4):
        return False
    try:
        traced = trace(module, torch.zeros(shape, dtype=dtype))
        check_same(module, traced, dtype)
    except CompileError:
        return False
    return all(kind is not StockLayer for kind in _kinds(traced, dtype))


def _kinds(traced: Trace, dtype: torch.dtype) -> Iterator[type]:
    image_dims = 3 if len(traced.shapes[0]) == 3 else 4
    values = [Value(shape, len(shape) == image_dims, dtype) for shape in traced.shapes]
    for operation in traced.operations:
        inputs = [values[index] for index in operation.inputs]
        yield recognise(operation, inputs, values[operation.result])


def _is_of_rows(module: nn.Module) -> bool:
    leaves = [part for part in module.modules() if not isinstance(part, nn.Sequential)]
    return all(isinstance(part, _OF_ROWS) for part in leaves)
