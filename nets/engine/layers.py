"""The layers a plan is made of: each knows its values and runs its part of the three phases on them.

A layer reads ``value.data`` of its inputs and fills its output's; in the input gradient it reads
``output.grad`` and fills the tensors in ``grad_inputs``. ReLU directly after a layer is part of it: applied
to the output in place, and the plan masks ``output.grad`` before the layer sees it, unless the layer does.
"""

import copy
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import Parameter

from nets.engine.choice.algorithms import FORWARD, INPUT_GRADIENT, WEIGHT_GRADIENT, Kernel
from nets.engine.kernels.compiled.batch_norm import batch_norm
from nets.engine.kernels.compiled.pooling import max_pooling
from nets.engine.memory import Memory
from nets.engine.shared_work import ByImage, Divided, add_bias_gradient
from nets.engine.trace import Operation, Slot, map_leaves
from nets.engine.values import Value, to_images

aten = torch.ops.aten

SomeLayer = TypeVar("SomeLayer", bound="Layer")


class Layer:
    """What a plan asks of every layer."""

    # Whether a ReLU may overwrite the output: the layer's own gradients do not read it.
    relu_in_place = False

    # Whether its input gradient includes that of its ReLU: the plan does not mask ``output.grad`` then.
    masks_gradient = False

    def __init__(self, operation: Operation, inputs: list[Value], output: Value, relu: bool) -> None:
        self.name = operation.name
        self.kind = operation.kind
        self.inputs = inputs
        self.output = output
        self.relu = relu
        # Where each input's gradient goes, in the module's shape; set by the plan.
        self.grad_inputs: list[Tensor] = []

    def forward(self) -> None:
        raise NotImplementedError

    def input_gradient(self) -> None:
        raise NotImplementedError

    def weight_gradient(self) -> None:
        """Adds the parameters' gradients to their ``.grad``."""

    @property
    def has_parameters(self) -> bool:
        return False

    def algorithm(self, phase: str) -> str:
        """What runs ``phase``, for the report; empty where there is nothing to run."""
        return self.kind if phase != WEIGHT_GRADIENT else ""

    def invalidate(self) -> None:
        """Forgets every transformed copy of a weight."""

    def of_images(self: SomeLayer, images: slice, worker: int, part: Callable[[Value], Value]) -> SomeLayer:
        """The same layer for some images of the batch. ``part`` gives the values' parts, ``worker`` is who
        runs it."""
        layer = copy.copy(self)
        layer.inputs = [part(value) for value in self.inputs]
        layer.output = part(self.output)
        layer.grad_inputs = [grad[images] for grad in self.grad_inputs]
        return layer


def gradient_of(parameter: Parameter, memory: Memory) -> Tensor:
    """The parameter's ``.grad``, made (zeroed, on huge pages) where there is none."""
    if parameter.grad is None:
        parameter.grad = memory.lasting(parameter.shape, parameter.dtype)
    return parameter.grad


class WeightedLayer(Layer):
    """Convolution or Linear: a weight (out, in, ...), perhaps a bias, and one kernel per phase."""

    relu_in_place = True

    def __init__(
        self,
        operation: Operation,
        inputs: list[Value],
        output: Value,
        relu: bool,
        parameters: tuple[Parameter, Parameter | None],
        kernels: dict[str, tuple[str, Kernel]],
        memory: Memory,
    ) -> None:
        super().__init__(operation, inputs, output, relu)
        self.weight, self.bias = parameters
        self.kernels = kernels
        self._memory = memory
        # What kernels add the gradients of weight and bias to, where wanted, while they run.
        self._gradients: tuple[Tensor | None, Tensor | None] = None, None

    def parameters(self) -> list[Parameter]:
        return [self.weight] if self.bias is None else [self.weight, self.bias]

    @property
    def has_parameters(self) -> bool:
        return any(parameter.requires_grad for parameter in self.parameters())

    def of_images(self, images: slice, worker: int, part: Callable[[Value], Value]) -> "WeightedLayer":
        """Needs kernels that are divided by image; for updateOutput and updateGradInput."""
        layer = super().of_images(images, worker, part)
        layer.kernels = dict(self.kernels)
        for phase in (FORWARD, INPUT_GRADIENT):
            name, kernel = self.kernels[phase]
            assert isinstance(kernel, ByImage)
            layer.kernels[phase] = (name, kernel.shares[worker][0])
        return layer

    def _rows(self, tensor: Tensor) -> Tensor:
        """As the kernels take activations: channels last images, or (rows, features)."""
        if self.output.is_image:
            return to_images(tensor)
        return tensor.reshape(-1, tensor.shape[-1])

    def forward(self) -> None:
        self.kernels[FORWARD][1].forward(
            self._rows(self.inputs[0].data),
            self.weight.detach(),
            None if self.bias is None else self.bias.detach(),
            self._rows(self.output.data),
            self.relu,
        )

    def input_gradient(self) -> None:
        self.kernels[INPUT_GRADIENT][1].input_gradient(
            self._rows(self.output.grad), self.weight.detach(), self._rows(self.grad_inputs[0])
        )

    def weight_gradient(self) -> None:
        self.begin_gradients()
        grad_weight, grad_bias = self._gradients
        x, grad_out = self._operands()
        if grad_weight is not None:
            self.kernels[WEIGHT_GRADIENT][1].weight_gradient(x, grad_out, grad_weight)
        if grad_bias is not None:
            add_bias_gradient(grad_out, grad_bias)
        self._end_gradients()

    # With a kernel that is divided: begin_gradients, then every worker's share, then add_up_gradients.

    def begin_gradients(self) -> None:
        """Makes the parameters' ``.grad`` where there is none, and what kernels add to: they need contiguous
        weights."""
        grad_weight, grad_bias = (
            gradient_of(parameter, self._memory)
            if parameter is not None and parameter.requires_grad
            else None
            for parameter in (self.weight, self.bias)
        )
        if grad_weight is not None and not grad_weight.is_contiguous():
            grad_weight = torch.zeros_like(grad_weight, memory_format=torch.contiguous_format)
        self._gradients = grad_weight, grad_bias

    def share_of_gradients(self, worker: int) -> None:
        kernel = self._divided_gradients()
        if worker < len(kernel.shares):
            kernel.share_of_gradients(worker, *self._operands(), *self._gradients)

    def add_up_gradients(self) -> None:
        self._divided_gradients().add_up_gradients(*self._gradients)
        self._end_gradients()

    def _divided_gradients(self) -> Divided:
        kernel = self.kernels[WEIGHT_GRADIENT][1]
        assert isinstance(kernel, Divided)
        return kernel

    def _operands(self) -> tuple[Tensor, Tensor]:
        return self._rows(self.inputs[0].data), self._rows(self.output.grad)

    def _end_gradients(self) -> None:
        """Adds to ``.grad`` what kernels could not add to it directly."""
        grad_weight, _ = self._gradients
        if grad_weight is not None and grad_weight is not self.weight.grad:
            gradient_of(self.weight, self._memory).add_(grad_weight)
        self._gradients = None, None

    def algorithm(self, phase: str) -> str:
        if phase == WEIGHT_GRADIENT and not self.has_parameters:
            return ""
        return self.kernels[phase][0]

    def invalidate(self) -> None:
        for _, kernel in self.kernels.values():
            kernel.invalidate()


class ReLU(Layer):
    """A ReLU whose input is needed by others too."""

    def forward(self) -> None:
        torch.clamp_min(self.inputs[0].data, 0, out=self.output.data)

    def input_gradient(self) -> None:
        aten.threshold_backward.grad_input(
            self.output.grad, self.output.data, 0, grad_input=self.grad_inputs[0]
        )


class Threshold(Layer):
    """Torch7's Threshold: inputs up to ``threshold`` become ``value``."""

    def __init__(
        self,
        operation: Operation,
        inputs: list[Value],
        output: Value,
        relu: bool,
        threshold: float,
        value: float,
    ) -> None:
        super().__init__(operation, inputs, output, relu)
        self._threshold, self._value = threshold, value

    def forward(self) -> None:
        aten.threshold.out(self.inputs[0].data, self._threshold, self._value, out=self.output.data)

    def input_gradient(self) -> None:
        aten.threshold_backward.grad_input(
            self.output.grad, self.inputs[0].data, self._threshold, grad_input=self.grad_inputs[0]
        )


class Add(Layer):
    """The sum of two values of the same shape."""

    relu_in_place = True

    def forward(self) -> None:
        torch.add(self.inputs[0].data, self.inputs[1].data, out=self.output.data)
        if self.relu:
            self.output.data.clamp_min_(0)

    def input_gradient(self) -> None:
        for grad in self.grad_inputs:
            if grad.data_ptr() != self.output.grad.data_ptr():
                grad.copy_(self.output.grad)


class Concat(Layer):
    """Images joined along their channels. An input that lives in its part of the output costs nothing."""

    relu_in_place = False

    def __init__(self, operation: Operation, inputs: list[Value], output: Value, relu: bool) -> None:
        super().__init__(operation, inputs, output, relu)
        self.starts = [sum(value.image_shape[3] for value in inputs[:i]) for i in range(len(inputs))]

    def part(self, of_output: Tensor, index: int) -> Tensor:
        """The channels of ``of_output`` (in the module's shape) that input ``index`` makes up."""
        return of_output.narrow(-3, self.starts[index], self.inputs[index].image_shape[3])

    def forward(self) -> None:
        for index, value in enumerate(self.inputs):
            part = self.part(self.output.data, index)
            if part.data_ptr() != value.data.data_ptr():
                part.copy_(value.data)

    def input_gradient(self) -> None:
        for index, grad in enumerate(self.grad_inputs):
            part = self.part(self.output.grad, index)
            if part.data_ptr() != grad.data_ptr():
                grad.copy_(part)


class Reshape(Layer):
    """The same elements in the same order under another shape; free where the memory allows it."""

    def forward(self) -> None:
        self._copy(self.inputs[0].data, self.output.data)

    def input_gradient(self) -> None:
        self._copy(self.output.grad, self.grad_inputs[0])

    @staticmethod
    def _copy(source: Tensor, target: Tensor) -> None:
        if source.data_ptr() == target.data_ptr():
            return
        if target.is_contiguous():
            target.view(source.shape).copy_(source)
        else:
            target.copy_(source.reshape(target.shape))


class MaxPool2d(Layer):
    relu_in_place = True

    def __init__(
        self, operation: Operation, inputs: list[Value], output: Value, relu: bool, pool: nn.MaxPool2d
    ) -> None:
        super().__init__(operation, inputs, output, relu)
        self._pooling = max_pooling(pool, output.dtype)
        self.masks_gradient = self._pooling.masks_gradient
        self._places = torch.empty(0)

    def allocate(self, memory: Memory) -> None:
        self._places = memory.empty(self.output.image_shape, self._pooling.places_dtype)

    def of_images(self, images: slice, worker: int, part: Callable[[Value], Value]) -> "MaxPool2d":
        layer = super().of_images(images, worker, part)
        layer._places = self._places[images]
        return layer

    def forward(self) -> None:
        self._pooling.forward(self.inputs[0].data_images, self.output.data_images, self._places, self.relu)

    def input_gradient(self) -> None:
        self._pooling.input_gradient(
            self.output.grad_images,
            self.inputs[0].data_images,
            self._places,
            to_images(self.grad_inputs[0]),
        )


class AvgPool2d(Layer):
    relu_in_place = True

    def __init__(
        self, operation: Operation, inputs: list[Value], output: Value, relu: bool, pool: nn.AvgPool2d
    ) -> None:
        super().__init__(operation, inputs, output, relu)
        stride = pool.kernel_size if pool.stride is None else pool.stride
        self._options = (
            _pair(pool.kernel_size),
            _pair(stride),
            _pair(pool.padding),
            pool.ceil_mode,
            pool.count_include_pad,
            pool.divisor_override,
        )

    def forward(self) -> None:
        out = _nchw(self.output.data)
        aten.avg_pool2d.out(_nchw(self.inputs[0].data), *self._options, out=out)
        if self.relu:
            out.clamp_min_(0)

    def input_gradient(self) -> None:
        aten.avg_pool2d_backward.grad_input(
            _nchw(self.output.grad),
            _nchw(self.inputs[0].data),
            *self._options,
            grad_input=_nchw(self.grad_inputs[0]),
        )


class GlobalAvgPool(Layer):
    """The mean over each channel's whole image."""

    relu_in_place = True

    def forward(self) -> None:
        out = _nchw(self.output.data)
        torch.mean(_nchw(self.inputs[0].data), (2, 3), keepdim=True, out=out)
        if self.relu:
            out.clamp_min_(0)

    def input_gradient(self) -> None:
        grad_in = _nchw(self.grad_inputs[0])
        torch.div(
            _nchw(self.output.grad).expand_as(grad_in), grad_in.shape[2] * grad_in.shape[3], out=grad_in
        )


class BatchNorm(Layer):
    """Batch normalisation of images or rows, in training mode or with running statistics."""

    relu_in_place = True

    def __init__(
        self,
        operation: Operation,
        inputs: list[Value],
        output: Value,
        relu: bool,
        norm: nn.BatchNorm1d | nn.BatchNorm2d,
        memory: Memory,
    ) -> None:
        super().__init__(operation, inputs, output, relu)
        self._norm = norm
        self._memory = memory
        self._by_batch = norm.training or norm.running_mean is None
        self._kernel = batch_norm(norm.num_features, len(output.shape), relu, norm.eps, output.dtype)
        self.masks_gradient = self._kernel.masks_gradient
        self._gradients: tuple[Tensor, Tensor] = (torch.empty(0), torch.empty(0))

    @property
    def has_parameters(self) -> bool:
        return any(parameter.requires_grad for parameter in self._norm.parameters())

    def _affine(self) -> tuple[Tensor | None, Tensor | None]:
        weight, bias = self._norm.weight, self._norm.bias
        return (None, None) if weight is None else (weight.detach(), bias.detach())

    def _momentum(self) -> float:
        norm = self._norm
        if not (norm.training and norm.track_running_stats):
            return 0.0 if norm.momentum is None else norm.momentum
        assert norm.num_batches_tracked is not None
        norm.num_batches_tracked.add_(1)
        return 1.0 / float(norm.num_batches_tracked) if norm.momentum is None else norm.momentum

    def _running(self) -> tuple[Tensor | None, Tensor | None]:
        tracked = not self._norm.training or self._norm.track_running_stats
        return (self._norm.running_mean, self._norm.running_var) if tracked else (None, None)

    def forward(self) -> None:
        x = self.inputs[0].data
        mean, variance = self._running()
        momentum = self._momentum()
        if self._by_batch:
            mean, variance = self._kernel.statistics(x, mean, variance, momentum)
        assert mean is not None and variance is not None
        self._kernel.forward(x, mean, variance, self._by_batch, *self._affine(), self.output.data)

    def input_gradient(self) -> None:
        self._gradients = self._kernel.input_gradient(
            self.inputs[0].data, self.output.grad, self._affine()[0], self.grad_inputs[0]
        )

    def weight_gradient(self) -> None:
        """The sums that updateGradInput needed are these gradients."""
        parameters = (self._norm.weight, self._norm.bias)
        for parameter, gradient in zip(parameters, self._gradients, strict=True):
            if parameter.requires_grad:
                gradient_of(parameter, self._memory).add_(gradient)

    def algorithm(self, phase: str) -> str:
        return self.kind if phase != WEIGHT_GRADIENT or self.has_parameters else ""


class Dropout(Layer):
    """Dropout in training mode: a new mask on every forward."""

    def __init__(
        self, operation: Operation, inputs: list[Value], output: Value, relu: bool, p: float
    ) -> None:
        super().__init__(operation, inputs, output, relu)
        self._kept = 1.0 - p
        self._mask = torch.empty(0)

    def allocate(self, memory: Memory) -> None:
        self._mask = self.output.arrange(memory.empty((self.output.numel,), self.output.dtype))

    def forward(self) -> None:
        self._mask.bernoulli_(self._kept)
        if self._kept > 0:
            self._mask.div_(self._kept)
        torch.mul(self.inputs[0].data, self._mask, out=self.output.data)

    def input_gradient(self) -> None:
        torch.mul(self.output.grad, self._mask, out=self.grad_inputs[0])


class LogSoftmax(Layer):
    def __init__(
        self, operation: Operation, inputs: list[Value], output: Value, relu: bool, dim: int
    ) -> None:
        super().__init__(operation, inputs, output, relu)
        self._dim = dim

    def forward(self) -> None:
        aten._log_softmax.out(self.inputs[0].data, self._dim, False, out=self.output.data)

    def input_gradient(self) -> None:
        aten._log_softmax_backward_data.out(
            self.output.grad, self.output.data, self._dim, self.output.dtype, out=self.grad_inputs[0]
        )


class StockLayer(Layer):
    """Anything else, through PyTorch's operators and a small autograd graph of its own."""

    def __init__(
        self, operation: Operation, inputs: list[Value], output: Value, relu: bool, memory: Memory
    ) -> None:
        super().__init__(operation, inputs, output, relu)
        self._operation = operation
        self._memory = memory
        self._leaves: list[Tensor] = []
        self._result = torch.empty(0)

    @property
    def _trainable(self) -> list[Parameter]:
        return [parameter for parameter in self._operation.parameters if parameter.requires_grad]

    @property
    def has_parameters(self) -> bool:
        return bool(self._trainable)

    def forward(self) -> None:
        operation = self._operation
        self._leaves = [value.data.detach().requires_grad_() for value in self.inputs]
        by_index = dict(zip(operation.inputs, self._leaves, strict=True))
        with torch.enable_grad():

            def fill(item: Any) -> Any:
                if not isinstance(item, Slot):
                    return item
                leaf = by_index[item.index]
                return leaf.clone() if operation.in_place else leaf

            result: Tensor = operation.call(
                *map_leaves(operation.args, fill), **map_leaves(operation.kwargs, fill)
            )
        self._result = result
        self.output.data.copy_(result.detach())

    def _gradients(self, wanted: Sequence[Tensor]) -> Sequence[Tensor | None]:
        if not self._result.requires_grad:
            return [None] * len(wanted)
        with torch.enable_grad():
            found: Sequence[Tensor | None] = torch.autograd.grad(
                self._result, wanted, self.output.grad, retain_graph=True, allow_unused=True
            )
        return found

    def input_gradient(self) -> None:
        for target, gradient in zip(self.grad_inputs, self._gradients(self._leaves), strict=True):
            if gradient is None:
                target.zero_()
            else:
                target.copy_(gradient)

    def weight_gradient(self) -> None:
        trainable = self._trainable
        for parameter, gradient in zip(trainable, self._gradients(trainable), strict=True):
            if gradient is not None:
                gradient_of(parameter, self._memory).add_(gradient)

    def algorithm(self, phase: str) -> str:
        return "stock" if phase != WEIGHT_GRADIENT or self.has_parameters else ""


def _pair(value: Any) -> list[int]:
    return [value, value] if isinstance(value, int) else list(value)


def _nchw(tensor: Tensor) -> Tensor:
    """With a batch dimension, for operators that want one; a view."""
    return tensor if tensor.dim() == 4 else tensor.unsqueeze(0)
