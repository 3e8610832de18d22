"""Makes any net ready to run: on one plan, or on plans for the parts that the engine has layers for."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map

from convnet_benchmarks.nets.engine.choice.options import Options, takes
from convnet_benchmarks.nets.engine.compilation import PlanMaker
from convnet_benchmarks.nets.engine.mixed import MixedPhases, Seen
from convnet_benchmarks.nets.engine.parts import Part, Shapes, parts_of
from convnet_benchmarks.nets.engine.plan import EnginePhases
from convnet_benchmarks.nets.engine.trace import CompileError, trace
from convnet_benchmarks.nets.phases import NO_GRADIENT, forward_only
from convnet_benchmarks.nets.programs import hookable_parts
from convnet_benchmarks.nets.several_inputs import net_within
from convnet_benchmarks.nets.state.kept_state import KeptState

_PASSES, _FEWEST_PASSES = 8, 2  # a plan's first passes are slower: they copy weights and record it
_SECONDS = 3.0  # of timing, after the fewest passes
_WORTH = 0.98  # of the time: a smaller gain is within the timings' noise

Opened = Callable[[], AbstractContextManager[EnginePhases | MixedPhases]]


@takes(Options)
def prepare(module: nn.Module, input: Any, options: Options) -> EnginePhases | MixedPhases:
    """Makes the phases of ``module`` ready for inputs like ``input``: a tensor, or a tuple, list or dict.

    A net that is a list of operations on one tensor gets a plan, as by :func:`compile`, whose keywords are
    taken. In any other, the parts that the engine has layers for get plans, and PyTorch's autograd runs what
    is between them. With the backend "auto", PyTorch alone runs a net of which it runs a part anyway, if that
    takes less time. The report says which layers ran where, and why.

    Raises :class:`CompileError` for a net that does not run, or is not on the CPU, and ValueError for a bad
    option.
    """
    if isinstance(input, Tensor) and input.is_floating_point():
        options = replace(options, dtype=options.dtype or input.dtype)
    maker = PlanMaker(module, options)
    with KeptState(module, parameters=True), forward_only():
        made = _chosen(maker, module, tree_map(_copy, input))  # a forward may write to it
    return made()


def _copy(leaf: Any) -> Any:
    return leaf.clone() if isinstance(leaf, Tensor) else leaf


def _chosen(maker: PlanMaker, module: nn.Module, input: Any) -> Callable[[], EnginePhases | MixedPhases]:
    """Returns what makes the phases: those that replace layers of the module do so from then on."""
    try:
        plan = _whole_plan(maker, module, input)
    except CompileError as error:
        return _mixed(maker, module, input, str(error))
    has_stock = any("stock" in layer.algorithms.values() for layer in plan.report().layers)
    if maker.options.backend != "auto" or not has_stock:
        return lambda: plan
    _, seen = _observed(module, input, maker.options.inference, "")

    def alone(note: str = "") -> MixedPhases:
        return MixedPhases(module, {}, seen, maker.empty_report(note), maker.options.inference)

    note = _slower(module, lambda: nullcontext(plan), alone, input)
    if not note:
        return lambda: plan
    plan.close()
    return lambda: alone(note)


def _whole_plan(maker: PlanMaker, module: nn.Module, input: Any) -> EnginePhases:
    if not isinstance(input, Tensor):
        raise CompileError("it takes several inputs")
    if any(one.is_complex() for one in (input, *module.parameters())):
        raise CompileError("it computes with complex numbers, for which the engine has no layers")
    if not input.is_floating_point():
        raise CompileError("it takes whole numbers")
    if input.dim() not in (2, 3, 4):
        raise CompileError(f"its input has {input.dim()} dimensions")
    if input.dim() == 3:  # as an image without a batch; the parts handle sequences
        traced = trace(module, torch.zeros(input.shape, dtype=maker.dtype))
        for operation in traced.operations:
            if operation.calls(nn.Linear) and len(traced.shapes[operation.inputs[0]]) == 3:
                raise CompileError("it takes sequences")
    return maker.plan(module, tuple(input.shape))


def _mixed(maker: PlanMaker, module: nn.Module, input: Any, why_not: str) -> Callable[[], MixedPhases]:
    """Returns what makes phases with plans for parts of the net, in PyTorch's graph of the rest."""
    shapes, seen = _observed(module, input, maker.options.inference, why_not)
    parts = (
        {}
        if maker.options.backend == "stock"
        else parts_of(net_within(module), shapes, maker.dtype, maker.plan)
    )

    def made(parts: dict[nn.Module, Part], note: str) -> MixedPhases:
        return MixedPhases(module, parts, seen, maker.empty_report(note), maker.options.inference)

    with KeptState(module), made(parts, "") as phases:  # to be closed, it leaves its place in the module
        phases.updateOutput(input)
        differentiable = phases.notice_outputs()
        if not phases.has_units:
            _close(parts)
    what = "joins the engine's layers" if parts else "runs it all"
    reason = " ".join(why_not.partition("; use PyTorch's autograd")[0].split())
    note = f"PyTorch's autograd {what}: {reason}"
    if not (differentiable or maker.options.inference):
        raise CompileError(f"{type(net_within(module)).__name__}: {NO_GRADIENT}")
    if maker.options.backend != "auto" or not parts:
        return lambda: made(parts, note)
    slower = _slower(module, lambda: made(parts, ""), lambda: made({}, ""), input)
    if not slower:
        return lambda: made(parts, note)
    _close(parts)
    return lambda: made(parts, slower)


def _close(parts: dict[nn.Module, Part]) -> None:
    for part in parts.values():
        part.close()
    parts.clear()


def _observed(module: nn.Module, input: Any, inference: bool, why_not: str) -> tuple[Shapes, Seen]:
    """Runs the module once; returns the shapes that each part of it gets, and the parts that are called.

    There are no shapes where the forward changes the mode, which a plan would not follow.
    """
    shapes: Shapes = {}
    calls: list[nn.Module] = []
    outer: set[nn.Module] = set()
    stack: list[nn.Module] = []

    def enter(part: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        one = len(args) == 1 and not kwargs and isinstance(args[0], Tensor) and args[0].is_floating_point()
        shapes.setdefault(part, []).append(tuple(args[0].shape) if one else None)
        outer.update(stack[-1:])
        stack.append(part)
        calls.append(part)

    def leave(part: nn.Module, args: tuple[Any, ...], result: Any) -> None:
        stack.pop()

    net = net_within(module)
    names = {part: name for name, part in hookable_parts(net)}
    hooks = [part.register_forward_pre_hook(enter, with_kwargs=True) for part in names]
    hooks += [part.register_forward_hook(leave) for part in names]
    try:
        with KeptState(module), torch.set_grad_enabled(not inference):
            modes = [part.training for part in module.modules()]
            module(input)
            if [part.training for part in module.modules()] != modes:
                shapes.clear()
    except Exception as error:  # any error of the net for this input
        said = str(error).strip().splitlines() or [type(error).__name__]
        raise CompileError(why_not or f"{type(net_within(module)).__name__}: {said[0]}") from error
    finally:
        for hook in hooks:
            hook.remove()
    seen = [(names[part], part, part in outer) for part in dict.fromkeys(calls)]
    return shapes, seen or [("", net, False)]


def _slower(module: nn.Module, ours: Opened, stock: Opened, input: Any) -> str:
    """Returns a note that PyTorch alone takes less time than the engine; empty if it does not, or cannot run
    the net."""
    try:
        with _gradients_kept(module):
            of_ours, alone = _times((ours, stock), input)
    except RuntimeError:  # such as autograd's, where a later operation overwrites what a gradient needs
        return ""
    if alone >= of_ours * _WORTH:
        return ""
    return f"PyTorch alone runs it, in {alone / of_ours:.2f} of the time of the engine's layers and PyTorch"


def _times(both: Sequence[Opened], input: Any) -> list[float]:
    """Returns the least time of a pass of each, alternating: only one at a time may replace a net's
    layers."""
    best = [float("inf")] * len(both)
    began = time.perf_counter()
    for number in range(_PASSES):
        if number >= _FEWEST_PASSES and time.perf_counter() - began > _SECONDS:
            break
        for place, opened in enumerate(both):
            with opened() as phases:
                started = time.perf_counter()
                output = phases.updateOutput(input)
                if phases.trains:
                    phases.updateGradInput(input, output)
                    phases.accGradParameters(input, output)
                best[place] = min(best[place], time.perf_counter() - started)
    return best


@contextmanager
def _gradients_kept(module: nn.Module) -> Iterator[None]:
    """Restores the parameters' gradients afterwards."""
    before = [(parameter, parameter.grad) for parameter in module.parameters()]
    for parameter, _ in before:
        parameter.grad = None
    try:
        yield
    finally:
        for parameter, gradient in before:
            parameter.grad = gradient
