"""Kernels whose phases are divided among worker threads: by image, or by output channel."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from torch import Tensor

from nets.engine.kernel import Kernel
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


class ByImage(Divided):
    """Output and input gradient: every worker has some of the images. All use the same copies of the
    weight."""

    def __init__(self, shape: ConvolutionShape, memory: Memory, workers: Workers, make: ShareMaker) -> None:
        parts = [(replace(shape, batch=some.stop - some.start), some) for some in workers.shares(shape.batch)]
        super().__init__(workers, parts, memory, make)
        first, *others = self.parts()
        for kernel in others:
            kernel.use_copies_of(first)

    def forward(self, x: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor, relu: bool) -> None:
        self.workers.run(
            [partial(kernel.forward, x[some], weight, bias, out[some], relu) for kernel, some in self.shares]
        )

    def input_gradient(self, grad_out: Tensor, weight: Tensor, grad_in: Tensor) -> None:
        self.workers.run(
            [
                partial(kernel.input_gradient, grad_out[some], weight, grad_in[some])
                for kernel, some in self.shares
            ]
        )


class ByOutput(Divided):
    """Weight gradient: every worker has some of the output channels, so that nothing must be added up."""

    def __init__(self, shape: ConvolutionShape, memory: Memory, workers: Workers, make: ShareMaker) -> None:
        channels = workers.shares(shape.out_channels)
        parts = [(replace(shape, out_channels=some.stop - some.start), some) for some in channels]
        super().__init__(workers, parts, memory, make)

    def weight_gradient(self, x: Tensor, grad_out: Tensor, grad_weight: Tensor) -> None:
        self.workers.run(
            [
                partial(kernel.weight_gradient, x, grad_out[..., some], grad_weight[some])
                for kernel, some in self.shares
            ]
        )
