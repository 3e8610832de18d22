"""Kernels whose phases are divided among worker threads: by image, or by output channel.

A weight gradient is divided in two steps, so that workers can go through those of many layers without waiting
for each other: every worker's share, then, when all are done, what is left to add up.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from torch import Tensor

from nets.engine.kernels.kernel import Kernel
from nets.engine.kernels.pointwise import add_channel_sums
from nets.engine.memory import Memory
from nets.engine.shapes import ConvolutionShape
from nets.engine.workers import Workers

# Makes the kernel of one share: a convolution of the given shape, with scratch memory of its own.
ShareMaker = Callable[[ConvolutionShape, Memory], Kernel]


class Divided(Kernel):
    """``shares``: every worker's kernel, with the slice of images or channels that it is for."""

    def __init__(
        self,
        workers: Workers,
        parts: Sequence[tuple[ConvolutionShape, slice]],
        memory: Memory,
        make: ShareMaker,
    ) -> None:
        self.workers = workers
        self.shares = [(make(part, memory.of_worker(i)), some) for i, (part, some) in enumerate(parts)]

    def parts(self) -> list[Kernel]:
        return [kernel for kernel, _ in self.shares]

    def weight_gradient(self, x: Tensor, grad_out: Tensor, grad_weight: Tensor) -> None:
        shares = range(len(self.shares))
        self.workers.run(
            [partial(self.share_of_gradients, worker, x, grad_out, grad_weight, None) for worker in shares]
        )
        # By a worker too: PyTorch's own threads would wait in a busy loop for more, on the workers' cores.
        self.workers.run([partial(self.add_up_gradients, grad_weight, None)])

    def share_of_gradients(
        self, worker: int, x: Tensor, grad_out: Tensor, grad_weight: Tensor | None, grad_bias: Tensor | None
    ) -> None:
        """Does the share of ``worker``, beside the others, of those gradients that are wanted."""
        raise NotImplementedError

    def add_up_gradients(self, grad_weight: Tensor | None, grad_bias: Tensor | None) -> None:
        """Finishes once all have done their shares."""


class ByImage(Divided):
    """Every worker has some of the images. All use the same copies of the weight."""

    def __init__(self, shape: ConvolutionShape, memory: Memory, workers: Workers, make: ShareMaker) -> None:
        parts = [(replace(shape, batch=some.stop - some.start), some) for some in workers.shares(shape.batch)]
        super().__init__(workers, parts, memory, make)
        first, *others = self.parts()
        for kernel in others:
            kernel.use_copies_of(first)

    @property
    def adds(self) -> bool:
        return all(kernel.adds for kernel in self.parts())

    def forward(
        self, x: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor, relu: bool, add: bool = False
    ) -> None:
        self.workers.run(
            [
                partial(kernel.forward, x[some], weight, bias, out[some], relu, add)
                for kernel, some in self.shares
            ]
        )

    def input_gradient(self, grad_out: Tensor, weight: Tensor, grad_in: Tensor) -> None:
        self.workers.run(
            [
                partial(kernel.input_gradient, grad_out[some], weight, grad_in[some])
                for kernel, some in self.shares
            ]
        )

    @property
    def adds_gradient(self) -> bool:
        return all(kernel.adds_gradient for kernel in self.parts())

    def add_input_gradient(self, grad_out: Tensor, weight: Tensor, grad_in: Tensor) -> None:
        self.workers.run(
            [
                partial(kernel.add_input_gradient, grad_out[some], weight, grad_in[some])
                for kernel, some in self.shares
            ]
        )


class SummedByImage(ByImage):
    """Weight gradient: every worker but the first adds up its images' part by itself, for small weights."""

    def __init__(self, shape: ConvolutionShape, memory: Memory, workers: Workers, make: ShareMaker) -> None:
        super().__init__(shape, memory, workers, make)
        self._weight_sums = [memory.empty(shape.weight_shape, shape.dtype) for _ in self.shares[1:]]
        self._bias_sums = [memory.empty((shape.out_channels,), shape.dtype) for _ in self.shares[1:]]

    def share_of_gradients(
        self, worker: int, x: Tensor, grad_out: Tensor, grad_weight: Tensor | None, grad_bias: Tensor | None
    ) -> None:
        kernel, some = self.shares[worker]
        if grad_weight is not None:
            total = self._weight_sums[worker - 1].zero_() if worker else grad_weight
            kernel.weight_gradient(x[some], grad_out[some], total)
        if grad_bias is not None:
            total = self._bias_sums[worker - 1].zero_() if worker else grad_bias
            add_channel_sums(grad_out[some], total)

    def add_up_gradients(self, grad_weight: Tensor | None, grad_bias: Tensor | None) -> None:
        for total, sums in ((grad_weight, self._weight_sums), (grad_bias, self._bias_sums)):
            if total is not None:
                for one in sums:
                    total.add_(one)


class ByOutput(Divided):
    """Weight gradient: every worker has some of the output channels, so that nothing must be added up."""

    def __init__(self, shape: ConvolutionShape, memory: Memory, workers: Workers, make: ShareMaker) -> None:
        channels = workers.shares(shape.out_channels)
        parts = [(replace(shape, out_channels=some.stop - some.start), some) for some in channels]
        super().__init__(workers, parts, memory, make)

    def share_of_gradients(
        self, worker: int, x: Tensor, grad_out: Tensor, grad_weight: Tensor | None, grad_bias: Tensor | None
    ) -> None:
        kernel, some = self.shares[worker]
        if grad_weight is not None:
            kernel.weight_gradient(x, grad_out[..., some], grad_weight[some])
        if grad_bias is not None:
            add_channel_sums(grad_out[..., some], grad_bias[some])
