"""Torch7's three phases - updateOutput, updateGradInput, accGradParameters - on any torch.nn.Module.

Autograd computes both gradients in one sweep; Torch7 computed them one after the other, and its benchmarks
time them separately. Here updateGradInput asks autograd only for the gradients of the input and of the output
of every module that has parameters, so that no parameter gradient is computed; accGradParameters then
computes each module's parameter gradients alone, from its input and the gradient kept for its output.

A module may return several tensors (a table, in Torch7's words) in tuples, lists, dicts and dataclasses
(which become dicts); gradOutput then has the same structure.
"""

import contextlib
import itertools
import sys
import warnings
from collections.abc import Callable, Container, Iterator, Sequence
from types import FrameType
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, get_gradient_edge
from torch.nn import Parameter
from torch.utils import checkpoint
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

from convnet_benchmarks.nets.graph import parameter_gradients, parameters_read, runs_backward_itself
from convnet_benchmarks.nets.hooks import hook_on, needs_whole_backward, run_after_accumulation
from convnet_benchmarks.nets.outputs import as_tree
from convnet_benchmarks.nets.programs import is_program
from convnet_benchmarks.nets.state.frozen import Frozen
from convnet_benchmarks.nets.state.kept_state import KeptState

# Torch7's names.
FORWARD, INPUT_GRADIENT, WEIGHT_GRADIENT = PHASES = ("updateOutput", "updateGradInput", "accGradParameters")


NO_GRADIENT = "its output does not depend on its input or parameters"


class NoGradientError(RuntimeError):
    """There is nothing to train: no tensor of the output has a gradient."""


class WholeBackwardError(RuntimeError):
    """There can be no units: a forward differentiates itself, or the backward runs parts of it again."""


def check_differentiated_once(*_: object) -> None:
    """Raises :class:`WholeBackwardError` in a backward that is itself recorded (``create_graph``)."""
    if torch.is_grad_enabled():
        raise WholeBackwardError("a forward differentiates itself")


def is_checkpointed() -> bool:
    """Returns whether torch.utils.checkpoint has called what calls this: it runs again in the backward."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code.co_filename != checkpoint.__file__:
        frame = frame.f_back
    return frame is not None


@contextlib.contextmanager
def forward_only() -> Iterator[None]:
    """Lets passes without a backward run: torch.utils.checkpoint warns that their inputs get no gradients."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "None of the inputs have requires_grad")
        yield


def autocasts() -> bool:
    """Returns whether ``torch.autocast`` is in force, on whatever device."""
    return torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda")


class Phases(Protocol):
    """The phases that a benchmark times, by any engine."""

    def updateOutput(self, input: Any) -> Any:
        """Returns the module's output for ``input``; either is a tensor or a table of them."""

    def updateGradInput(self, input: Any, gradOutput: Any) -> Any:
        """Returns the gradient of ``input`` alone. updateOutput has been called with this ``input``.

        Token ids (an input of whole numbers) have no gradient: zeros, as from Torch7's LookupTable.
        """

    def accGradParameters(self, input: Any, gradOutput: Any) -> None:
        """Adds every parameter's gradient to its ``.grad``. updateGradInput has been called before."""

    def zeroGradParameters(self) -> None:
        """Sets every parameter's ``.grad`` to zeros, making it where there is none."""

    def close(self) -> None:
        """Restores the module."""


class AutogradPhases:
    """The three phases by PyTorch's own kernels and graph.

    While it is open the module's forward records what accGradParameters needs; ``close()`` (or leaving a
    ``with`` block) ends that. A module called more than once, and parameters shared between modules, add up
    as in a full backward. Modules with parameters of their own are units: for Conv1d/2d/3d and Linear the
    gradients come straight from PyTorch's kernels; any other unit runs on a small graph of its own.

    The first updateOutput notices parameters that are also read outside their unit, by a hook or by a module
    that uses another's weight: updateGradInput then computes their gradients, too, and accGradParameters adds
    them.

    A program (TorchScript) has no units either: its parameters are among those that updateGradInput computes.

    Hooks run as in a full backward. Where one wants the gradients of inputs and parameters together (a legacy
    backward hook, or a hook on a parameter, when this is opened), where the forward itself computes gradients
    to be differentiated, and where it is checkpointed, there are no units: updateGradInput does a full
    backward, and accGradParameters adds the gradients it has kept.
    """

    def __init__(
        self,
        module: nn.Module,
        recorder: "MakeRecorder | None" = None,
        whole_units: Container[nn.Module] = (),
    ) -> None:
        """``recorder`` replaces the forward of a module with parameters; by default :func:`recorder_of` makes
        it.

        ``whole_units``: modules that are units as a whole.
        """
        self.module = module
        self._calls = Calls()
        self._gradients: list[tuple[Tensor | None, ...]] | None = None
        self._input: Any = None
        self._graph_input: Any = None
        self._graph_output: Any = None
        # Parameters whose gradients updateGradInput computes as well, and these gradients in their order.
        self._wanted: list[Parameter] = []
        self._kept: list[tuple[Parameter, Tensor | None]] = []  # their gradients
        self._reads_known = False
        self._by_backward = False  # whether only torch.autograd.backward can run the graph
        self._units: list[tuple[nn.Module, Any]] = []
        if needs_whole_backward(module):
            self._do_without_units()
            return
        # With its own ``forward`` attribute, if any.
        units = list(_parametrised(module, whole_units))
        self._units = [(unit, vars(unit).get("forward")) for unit in units]
        computed = {parameter for unit, _ in self._units for parameter in unit.parameters()}
        self._frozen = Frozen(module, [one for one in module.parameters() if one not in computed])
        for unit, _ in self._units:
            # An instance attribute, over the class's method until close().
            setattr(unit, "forward", (recorder or recorder_of)(unit, self._calls).forward)  # noqa: B010

    @property
    def has_units(self) -> bool:
        """Returns whether parameter gradients are computed apart; known from the first pass on."""
        return bool(self._units)

    @property
    def note(self) -> str:
        """Says how many parameters' gradients updateGradInput computes, too; empty if none. It is known from
        the first pass on."""
        trained = sum(one.requires_grad for one in self.module.parameters())
        apart = sum(one.requires_grad for one in self._wanted)
        if not apart:
            return ""
        return (
            f"updateGradInput also computes the gradients of {apart} of {trained} parameters: hooks, "
            "checkpoints, TorchScript or shared weights keep PyTorch from computing them apart"
        )

    def _do_without_units(self) -> None:
        self._free_units()
        self._wanted = [parameter for parameter in self.module.parameters() if parameter.requires_grad]
        self._reads_known = True
        self._frozen = Frozen(self.module, self.module.parameters())

    def _free_units(self) -> None:
        for unit, forward in self._units:
            del unit.forward
            if forward is not None:
                setattr(unit, "forward", forward)  # noqa: B010
        self._units = []
        self._calls.clear()

    def close(self) -> None:
        self._free_units()
        self._kept = []
        self._input = self._graph_input = self._graph_output = None

    def __enter__(self) -> "AutogradPhases":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def updateOutput(self, input: Any) -> Any:
        self._calls.clear()
        self._gradients = None
        self._graph_output = None  # frees the last graph before the next one is built
        self._input = input
        self._graph_input = _as_leaf(input) if isinstance(input, Tensor) else tree_map(_as_leaf, input)
        with torch.enable_grad():
            output = self._first_output() if self._calls.first else self.module(self._graph_input)
        self._calls.first = False
        self._graph_output = output if isinstance(output, Tensor) else as_tree(output)
        if not self._reads_known:
            self._wanted = self._read_outside_units()
            self._reads_known = True
        if self._wanted and self._calls:
            apart = set(self._wanted)
            self._calls[:] = [(unit, edges, unit.without(saved, apart)) for unit, edges, saved in self._calls]
        return tree_map(_detached, self._graph_output)

    def _first_output(self) -> Any:
        kept = KeptState(self.module)
        try:
            output = self.module(self._graph_input)
            self._by_backward = runs_backward_itself(_tensors(as_tree(output)))
            if not (self._by_backward and self._units):
                return output
        except WholeBackwardError:
            pass
        kept.restore()
        self._do_without_units()
        return self.module(self._graph_input)

    def updateGradInput(self, input: Any, gradOutput: Any) -> Any:
        if self._graph_output is None or self._graph_input is None or input is not self._input:
            raise RuntimeError("updateGradInput needs updateOutput of the same input first")
        leaves, structure = tree_flatten(self._graph_input)
        wanted: list[Any] = [leaf for leaf in leaves if leaf.requires_grad]
        apart = [parameter for parameter in self._wanted if parameter.requires_grad]
        wanted += apart
        for _, edges, _ in self._calls:
            wanted += edges
        outputs, grad_outputs = _differentiable(self._graph_output, gradOutput)
        if not outputs:
            raise NoGradientError(NO_GRADIENT)
        gradients = iter(_gradients(outputs, wanted, grad_outputs, self._by_backward))
        gradInput = [next(gradients) if leaf.requires_grad else None for leaf in leaves]
        self._kept = list(zip(apart, itertools.islice(gradients, len(apart)), strict=True))
        self._gradients = [tuple(itertools.islice(gradients, len(edges))) for _, edges, _ in self._calls]
        pairs = zip(leaves, gradInput, strict=True)
        filled = [torch.zeros_like(leaf) if gradient is None else gradient for leaf, gradient in pairs]
        return tree_unflatten(filled, structure)

    def accGradParameters(self, input: Any, gradOutput: Any) -> None:
        if input is not self._input or self._gradients is None:
            raise RuntimeError("accGradParameters needs updateGradInput of the same input first")
        self._frozen.check()
        with torch.no_grad():
            for (recorder, _, saved), gradients in zip(self._calls, self._gradients, strict=True):
                recorder.accumulate(saved, gradients)
            for parameter, gradient in self._kept:
                if gradient is not None and parameter.requires_grad:
                    # A copy: updateGradInput's own is needed for the next call, and hooks may change .grad.
                    add_gradient(parameter, gradient.clone())
                    run_after_accumulation(parameter)

    def _read_outside_units(self) -> list[Parameter]:
        """Returns the trainable parameters that more operations read than the units' own."""
        reads = parameters_read(_tensors(self._graph_output))
        for unit, _, saved in self._calls:
            reads.subtract(unit.reads(saved))
        return [parameter for parameter in self.module.parameters() if reads[parameter] > 0]

    def zeroGradParameters(self) -> None:
        for parameter in self.module.parameters():
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            else:
                parameter.grad.zero_()


class Recorder(Protocol):
    """Replaces the forward of one module with parameters and records each call of it."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the module's own forward; appends one Call."""

    def accumulate(self, saved: Any, gradients: tuple[Tensor | None, ...]) -> None:
        """Adds the parameter gradients of one call, from what it saved and its outputs' gradients."""

    def reads(self, saved: Any) -> list[Parameter]:
        """Returns the parameters that the call's operations in the surrounding graph read."""

    def without(self, saved: Any, apart: set[Parameter]) -> Any:
        """Returns ``saved`` changed so that accumulate adds nothing for those reads of the parameters
        ``apart``."""


# A recorded call: its recorder, the edges to its outputs in the graph, and the data for accumulate.
Call = tuple[Recorder, tuple[GradientEdge, ...], Any]


class Calls(list[Call]):
    """The calls of a pass. ``first``: of the first one, which finds out whether units will do."""

    first = True

    def append(self, call: Call) -> None:
        """Raises :class:`WholeBackwardError` if the call will be made again in the backward."""
        if self.first and is_checkpointed():
            raise WholeBackwardError("a part of the forward is checkpointed")
        super().append(call)


MakeRecorder = Callable[[nn.Module, Calls], Recorder]


def edge_to(output: Tensor) -> GradientEdge:
    """Returns the edge to ``output`` in the graph, which stays the same when an in-place layer (ReLU)
    follows.

    Such a layer rewrites the history of the tensor and, where that is a view (one sample: a squeezed
    batch), of the edge to the view; the edge to its base remains.
    """
    if output._is_view() and output._base is not None:
        output = output._base
    return GradientEdge(output.grad_fn, output.output_nr)  # type: ignore[arg-type]


class _Direct:
    """A module whose operation is in the graph; it saves (input, weight, bias).

    Under ``torch.autocast``, which computes in another number type than the weight's, it is any other module.
    """

    def __init__(self, module: Any, calls: Calls) -> None:
        self._parameters = module._parameters
        self._calls = calls
        self._other = _OtherModule(module, calls)

    def forward(self, input: Tensor) -> Tensor:
        if autocasts():
            other: Tensor = self._other.forward(input)
            return other
        weight, bias = self._parameters["weight"], self._parameters["bias"]
        output = self._computed(input, weight, bias)
        own = weight.is_leaf and (bias is None or bias.is_leaf)  # not computed by another net
        if output.requires_grad and own:  # not under no_grad
            edge = edge_to(output)
            if self._calls.first:
                edge.node.register_prehook(check_differentiated_once)
            self._calls.append((self, (edge,), (input, weight, bias)))
        return output

    def _computed(self, input: Tensor, weight: Parameter, bias: Parameter | None) -> Tensor:
        raise NotImplementedError

    def accumulate(self, saved: Any, gradients: tuple[Tensor | None, ...]) -> None:
        raise NotImplementedError

    def reads(self, saved: Any) -> list[Parameter]:
        return [parameter for parameter in saved[1:] if parameter is not None and parameter.requires_grad]

    def without(self, saved: Any, apart: set[Parameter]) -> Any:
        input, *parameters = saved
        return (input, *(one.detach() if one in apart else one for one in parameters))


class _DirectConvolution(_Direct):
    """A Conv1d/2d/3d: its kernel in the graph, its parameter gradients by a dedicated kernel."""

    def __init__(self, module: Any, calls: Calls) -> None:
        super().__init__(module, calls)
        self._sizes = (module.stride, module.padding, module.dilation)
        self._groups = module.groups
        dimensions = len(module.stride)
        self._convolve = (torch.conv1d, torch.conv2d, torch.conv3d)[dimensions - 1]
        self._one_sample = dimensions + 1  # dimensions of an input without a batch
        self._rest = (False, [0] * dimensions, module.groups)
        self._bias_sizes = [module.out_channels]

    def _computed(self, input: Tensor, weight: Parameter, bias: Parameter | None) -> Tensor:
        output: Tensor = self._convolve(input, weight, bias, *self._sizes, self._groups)
        return output

    def accumulate(self, saved: Any, gradients: tuple[Tensor | None, ...]) -> None:
        input, weight, bias = saved
        gradient = gradients[0]
        if gradient is None:
            return
        if input.dim() == self._one_sample:  # computed as a batch of one
            input = input.unsqueeze(0)
        trained = [parameter is not None and parameter.requires_grad for parameter in (weight, bias)]
        _, weight_gradient, bias_gradient = torch.ops.aten.convolution_backward.default(
            gradient, input, weight, self._bias_sizes, *self._sizes, *self._rest, [False, *trained]
        )
        of_weight, of_bias = trained  # oneDNN computes the two together
        if of_weight:
            add_gradient(weight, weight_gradient)
        if of_bias:
            add_gradient(bias, bias_gradient)


class _DirectLinear(_Direct):
    """A Linear: its weight gradient is added to ``.grad`` by the matrix product that computes it."""

    def _computed(self, input: Tensor, weight: Parameter, bias: Parameter | None) -> Tensor:
        return nn.functional.linear(input, weight, bias)

    def accumulate(self, saved: Any, gradients: tuple[Tensor | None, ...]) -> None:
        input, weight, bias = saved
        if gradients[0] is None:
            return
        rows = gradients[0].reshape(-1, weight.shape[0])
        if weight.requires_grad:
            inputs = input.reshape(-1, weight.shape[1])
            if weight.grad is None:
                weight.grad = rows.t() @ inputs
            else:
                weight.grad.addmm_(rows.t(), inputs)
        if bias is not None and bias.requires_grad:
            add_gradient(bias, rows.sum(0))


class _OtherModule:
    """Any other module with parameters: each call of it runs on a separate graph."""

    def __init__(self, module: nn.Module, calls: Calls) -> None:
        self._module, self._forward = module, module.forward
        self._calls = calls

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        parameters = list(self._module.parameters())
        if not torch.is_grad_enabled() or not all(one.is_leaf for one in parameters):
            return self._forward(*args, **kwargs)
        local = _LocalGraph(self._forward, args, kwargs, parameters)
        outputs = _LocalGraphFunction.apply(local, torch.empty(0, requires_grad=True), *local.arguments)
        edges = tuple(get_gradient_edge(output) for output in outputs if output.requires_grad)
        self._calls.append((self, edges, local))
        return local.as_returned(outputs)

    def reads(self, saved: Any) -> list[Parameter]:
        return []

    def without(self, saved: Any, apart: set[Parameter]) -> Any:
        return saved

    def accumulate(self, saved: Any, gradients: tuple[Tensor | None, ...]) -> None:
        for parameter, gradient in saved.parameter_gradients(gradients):
            if gradient is not None:
                add_gradient(parameter, gradient)


class _LocalGraph:
    """One module's forward on a separate graph, so that its gradients can be computed separately.

    Tensors are found in the arguments and in what the module returns, in tuples, lists and dicts.
    """

    def __init__(
        self,
        forward: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        parameters: list[Parameter],
    ) -> None:
        self._forward = forward
        self._parameters = parameters
        self.arguments, self._argument_structure = tree_flatten((args, kwargs))
        self.inputs = [
            arg.detach().requires_grad_(arg.requires_grad) if isinstance(arg, Tensor) else arg
            for arg in self.arguments
        ]
        self._returned: list[Any] = []
        self._return_structure: Any = None
        self.outputs: tuple[Tensor, ...] = ()

    def run(self) -> tuple[Tensor, ...]:
        """Returns the output tensors, detached."""
        args, kwargs = tree_unflatten(self.inputs, self._argument_structure)
        with torch.enable_grad():
            returned = self._forward(*args, **kwargs)
        self._returned, self._return_structure = tree_flatten(returned)
        self.outputs = tuple(result for result in self._returned if isinstance(result, Tensor))
        return tuple(output.detach() for output in self.outputs)

    def as_returned(self, outputs: tuple[Tensor, ...]) -> Any:
        """Returns ``outputs`` in the structure that the module returned."""
        tensors = iter(outputs)
        leaves = [next(tensors) if isinstance(result, Tensor) else result for result in self._returned]
        return tree_unflatten(leaves, self._return_structure)

    def input_gradients(
        self, wanted: list[Tensor], grad_outputs: tuple[Tensor | None, ...]
    ) -> tuple[Tensor | None, ...]:
        outputs, gradients = self._pairs(grad_outputs)
        if not wanted or not outputs:
            return (None,) * len(wanted)
        with torch.enable_grad():
            found: tuple[Tensor | None, ...] = torch.autograd.grad(
                outputs, wanted, gradients, retain_graph=True, allow_unused=True
            )
        return found

    def parameter_gradients(
        self, grad_outputs: tuple[Tensor | None, ...]
    ) -> Iterator[tuple[Parameter, Tensor | None]]:
        outputs, gradients = self._pairs(grad_outputs)
        found = parameter_gradients(outputs, gradients, self._parameters, self.differentiable_inputs)
        return zip(self._parameters, found, strict=True)

    @property
    def differentiable_inputs(self) -> list[Tensor]:
        return [arg for arg in self.inputs if isinstance(arg, Tensor) and arg.requires_grad]

    def _pairs(self, grad_outputs: tuple[Tensor | None, ...]) -> tuple[list[Tensor], list[Tensor]]:
        """Returns the outputs that have a gradient, and these gradients."""
        differentiable = [output for output in self.outputs if output.requires_grad]
        pairs = [
            (output, gradient)
            for output, gradient in zip(differentiable, grad_outputs, strict=True)
            if gradient is not None
        ]
        return [output for output, _ in pairs], [gradient for _, gradient in pairs]


class _LocalGraphFunction(torch.autograd.Function):
    """Joins a local graph to the surrounding graph: its backward computes only the input gradients.

    The second argument is a tensor that requires a gradient, so that the outputs do so too when no input
    does (an embedding's indices).
    """

    @staticmethod
    def forward(ctx: Any, local: _LocalGraph, anchor: Tensor, *args: Any) -> tuple[Tensor, ...]:
        ctx.local = local
        outputs = local.run()
        constant = [
            detached
            for detached, output in zip(outputs, local.outputs, strict=True)
            if not output.requires_grad
        ]
        ctx.mark_non_differentiable(*constant)
        return outputs

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor | None) -> tuple[Tensor | None, ...]:
        check_differentiated_once()
        local: _LocalGraph = ctx.local
        kept = tuple(
            gradient
            for gradient, output in zip(grad_outputs, local.outputs, strict=True)
            if output.requires_grad
        )
        found = iter(local.input_gradients(local.differentiable_inputs, kept))
        return (
            None,
            None,
            *(next(found) if isinstance(arg, Tensor) and arg.requires_grad else None for arg in local.inputs),
        )


def _parametrised(module: nn.Module, whole: Container[nn.Module]) -> Iterator[nn.Module]:
    """Returns the outermost modules that are in ``whole``, or have trainable parameters of their own, each
    once."""
    seen: set[nn.Module] = set()

    def walk(parent: nn.Module) -> Iterator[nn.Module]:
        if parent in seen:
            return
        seen.add(parent)
        if is_program(parent):
            return
        own = parent.parameters(recurse=False)
        if parent in whole or any(parameter.requires_grad for parameter in own):
            yield parent
            return
        for child in parent.children():
            yield from walk(child)

    return walk(module)


def _as_leaf(input: Tensor) -> Tensor:
    """Returns a tensor as a leaf of a new graph."""
    return input.detach().requires_grad_(input.is_floating_point() or input.is_complex())


def _tensors(output: Any) -> list[Tensor]:
    return [leaf for leaf in tree_flatten(output)[0] if isinstance(leaf, Tensor)]


def _gradients(
    outputs: Sequence[Tensor], leaves: Sequence[Any], gradients: Sequence[Tensor], by_backward: bool
) -> Sequence[Tensor | None]:
    """Returns the gradients of ``leaves`` from those of ``outputs``, None for those that have none.

    ``by_backward``: by torch.autograd.backward, with ``.grad`` as it was afterwards.
    """
    if not by_backward:
        return torch.autograd.grad(outputs, leaves, gradients, retain_graph=True, allow_unused=True)
    before = [leaf.grad for leaf in leaves]
    for leaf in leaves:
        leaf.grad = None
    try:
        torch.autograd.backward(outputs, gradients, retain_graph=True)
        return [leaf.grad for leaf in leaves]
    finally:
        for leaf, gradient in zip(leaves, before, strict=True):
            leaf.grad = gradient


def _detached(leaf: Any) -> Any:
    return leaf.detach() if isinstance(leaf, Tensor) else leaf


def _differentiable(output: Any, gradOutput: Any) -> tuple[list[Tensor], list[Tensor]]:
    """Returns the tensors of ``output`` that have a gradient, and their elements of ``gradOutput``."""
    outputs, structure = tree_flatten(output)
    gradients, given = tree_flatten(gradOutput)
    if structure != given:
        raise ValueError(f"gradOutput has the structure {given}, the output {structure}")
    pairs = [
        (tensor, gradient)
        for tensor, gradient in zip(outputs, gradients, strict=True)
        if isinstance(tensor, Tensor) and tensor.requires_grad
    ]
    return [tensor for tensor, _ in pairs], [gradient for _, gradient in pairs]


def recorder_of(module: nn.Module, calls: Calls) -> Recorder:
    """Returns the recorder of a module with parameters: a direct one if its operation is known."""
    if convolves_plainly(module):
        return _DirectConvolution(module, calls)
    if type(module) is nn.Linear and has_plain_parameters(module):
        return _DirectLinear(module, calls)
    return _OtherModule(module, calls)


def has_plain_parameters(module: nn.Module) -> bool:
    """Returns whether weight and bias are the module's own tensors, not computed from others (weight norm),
    and not complex."""
    own = module._parameters
    real = not any(one is not None and one.is_complex() for one in own.values())
    return set(own) == {"weight", "bias"} and real and not hook_on(module)


def convolves_plainly(module: Any) -> bool:
    """Returns whether it is a convolution with zero padding of a fixed size on each side."""
    return (
        type(module) in (nn.Conv1d, nn.Conv2d, nn.Conv3d)
        and module.padding_mode == "zeros"
        and not isinstance(module.padding, str)
        and has_plain_parameters(module)
    )


def add_gradient(parameter: Tensor, gradient: Tensor) -> None:
    if parameter.grad is None:
        parameter.grad = gradient
    else:
        parameter.grad.add_(gradient)
