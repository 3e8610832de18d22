"""The interface of a layer: all that the engine requires of one.

A kind of layer is a subclass of :class:`Layer`, in its own file in this folder. The file's ``LAYERS`` lists
the classes it offers; nothing else in the engine knows them.
"""

from collections.abc import Callable, Sequence

from torch import Tensor, nn
from torch.nn import Parameter

from convnet_benchmarks.nets.engine.choice.selection import Selection
from convnet_benchmarks.nets.engine.memory import Memory
from convnet_benchmarks.nets.engine.report import LayerReport
from convnet_benchmarks.nets.engine.trace import Operation
from convnet_benchmarks.nets.engine.values import Value
from convnet_benchmarks.nets.phases import WEIGHT_GRADIENT


class Layer:
    """Runs one operation in the three phases, on values that the plan has placed in memory.

    It reads ``value.data`` of its inputs and fills its output's; in the input gradient it reads
    ``output.grad`` and fills the tensors in ``grad_inputs``. A ReLU directly after a layer is part of it: it
    is applied to the output in place, and the plan masks ``output.grad`` before the layer sees it, unless the
    layer does so itself.
    """

    # Whether it is a ReLU, which may become part of the layer before it.
    is_relu = False

    # Whether it is the sum of two values, which may become part of the layer before it.
    is_sum = False

    # Whether it can add a second input to its output, before a ReLU (see :meth:`overwrites`), and also has
    # the gradient of that.
    takes_sum = False
    differentiates_sum = False

    # Whether a ReLU may overwrite the output: the layer's own gradients do not read it.
    relu_in_place = False

    # Whether its input gradient includes that of its ReLU: the plan does not mask ``output.grad`` then.
    masks_gradient = False

    # Whether :meth:`weight_gradient` reads ``output.grad``, if the layer has parameters.
    reads_gradient_later = True

    # Whether the gradient that it shares with an input (see :meth:`shared_gradient`) may be added to, once
    # its input gradient has run.
    lends_gradient = False

    # Whether its input gradient may overwrite ``output.grad``, which nothing reads afterwards.
    overwrites_gradient = False

    # Whether an image's output depends, or may depend, on the other images of the batch.
    mixes_images = False

    # Whether its output may be a part of a larger tensor.
    writes_in_place = False

    # Whether each input makes up a part of the output, and can be stored there: see :meth:`part`.
    joins_inputs = False

    def __init__(
        self, operation: Operation, inputs: list[Value], output: Value, relu: bool, memory: Memory
    ) -> None:
        self.name = operation.name
        self.kind = operation.kind
        self.inputs = inputs
        self.output = output
        self.relu = relu
        # Where each input's gradient goes, in the module's shape; set by the plan.
        self.grad_inputs: list[Tensor] = []
        # The inputs whose gradients it adds to the existing ones; set by the plan if the layer can.
        self.adds_to: set[int] = set()
        # Why it does not run by the chosen backend; for the report.
        self.fallback = ""
        # What has decided which kernel runs each phase, where there are several; for the report.
        self.decided_by: dict[str, str] = {}
        self._memory = memory

    def fold(self, norm: nn.BatchNorm2d) -> None:
        """Makes a batch normalisation with constant statistics part of this layer, which ``takes_norm``."""
        raise NotImplementedError

    @classmethod
    def takes_norm(cls, operation: Operation) -> bool:
        """Returns whether its layer can :meth:`fold` a batch normalisation after ``operation``."""
        return False

    @classmethod
    def constant_norm(cls, operation: Operation) -> nn.BatchNorm2d | None:
        """Returns ``operation``'s module if it is a batch normalisation of images with constant
        statistics."""
        return None

    @classmethod
    def recognises(cls, operation: Operation, inputs: Sequence[Value], output: Value) -> bool:
        """Returns whether this kind of layer runs ``operation``. At most one kind does."""
        raise NotImplementedError

    # Preparation --------------------------------------------------------------------------------------------

    @property
    def work(self) -> int:
        """Returns the multiply-adds of one phase, if they are significant."""
        return 0

    def choose_kernels(self, selection: Selection) -> None:
        """Chooses among several algorithms."""

    def shared_output(self) -> Tensor | None:
        """Returns the output as a view of an input's data, if both have the same elements in the same
        layout."""
        return None

    def overwrites(self) -> Value | None:
        """Returns the input that it can add its output to in place, if nothing else needs that afterwards."""
        return None

    def allocate(self, memory: Memory) -> None:
        """Allocates the buffers it needs besides its values, which have been placed."""

    def shared_gradient(self, index: int) -> Tensor | None:
        """Returns the gradient of input ``index`` as a view of the output's, if both have the same
        elements."""
        return self.part(self.output.grad, index) if self.joins_inputs else None

    def adds_gradient(self, index: int) -> bool:
        """Returns whether it can add the gradient of input ``index`` to an existing one."""
        return False

    def mask_input(self) -> bool:
        """Makes its input gradient 0 wherever its input, the result of a ReLU, is not positive; returns
        whether it can. Called before the first forward pass."""
        return False

    def part(self, of_output: Tensor, index: int) -> Tensor:
        """Returns the part of ``of_output`` (in the module's shape) that input ``index`` makes up, as a
        view."""
        raise NotImplementedError

    # The phases ---------------------------------------------------------------------------------------------

    def forward(self) -> None:
        """Fills the output."""
        raise NotImplementedError

    def input_gradient(self) -> None:
        """Fills ``grad_inputs``."""
        raise NotImplementedError

    def weight_gradient(self) -> None:
        """Adds the parameters' gradients to their ``.grad``."""

    # Parameters ---------------------------------------------------------------------------------------------

    def parameters(self) -> list[Parameter]:
        """Returns the parameters it reads."""
        return []

    @property
    def has_parameters(self) -> bool:
        """Returns whether it has any to compute gradients for."""
        return any(parameter.requires_grad for parameter in self.parameters())

    def invalidate(self) -> None:
        """Discards every transformed copy of a weight."""

    # The report ---------------------------------------------------------------------------------------------

    def algorithm(self, phase: str) -> str:
        """Returns the name of the algorithm of ``phase``; empty if there is nothing to run."""
        return self.kind if phase != WEIGHT_GRADIENT or self.has_parameters else ""

    def report(self, phases: Sequence[str]) -> LayerReport:
        algorithms = {phase: name for phase in phases if (name := self.algorithm(phase))}
        return LayerReport(
            self.name,
            f"{self.kind}+ReLU" if self.relu else self.kind,
            algorithms,
            self.fallback,
            decided_by=self.decided_by,
        )


Step = tuple[Layer, Callable[[Layer], None]]  # a step of a phase: a layer, and its method


def gradient_of(parameter: Parameter, memory: Memory) -> Tensor:
    """Returns the parameter's ``.grad``, allocated (zeroed, on huge pages) if there is none."""
    if parameter.grad is None:
        parameter.grad = memory.lasting(parameter.shape, parameter.dtype)
    return parameter.grad
