"""Kernels whose phases are divided among worker threads: by image, or by output channel."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from torch import Tensor

from nets.engine.kernel import Kernel
from nets.engine.memory import Memory
from nets.engine.shapes import ConvolutionShape
from nets.engine.workers import Workers

# Makes the kernel of one share: a convolution of the given shape, with scratch memory of its own.
ShareMaker = Callable[[ConvolutionShape, Memory], Kernel]


class ByImage(Kernel):
    """Output and input gradient: every worker has some of the images. All use the same copies of the
    weight."""

    def __init__(self, shape: ConvolutionShape, memory: Memory, workers: Workers, make: ShareMaker) -> None:
        self.workers = workers
        images = workers.shares(shape.batch)
        self.shares = [
            (make(replace(shape, batch=some.stop - some.start), memory.of_worker(i)), some)
            for i, some in enumerate(images)
        ]
        first, *others = (kernel for kernel, _ in self.shares)
        for kernel in others:
            kernel.use_copies_of(first)

    def parts(self) -> list[Kernel]:
        return [kernel for kernel, _ in self.shares]

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


class ByOutput(Kernel):
    """Weight gradient: every worker has some of the output channels, so that nothing must be added up."""

    def __init__(self, shape: ConvolutionShape, memory: Memory, workers: Workers, make: ShareMaker) -> None:
        self.workers = workers
        channels = workers.shares(shape.out_channels)
        self.shares = [
            (make(replace(shape, out_channels=some.stop - some.start), memory.of_worker(i)), some)
            for i, some in enumerate(channels)
        ]

    def parts(self) -> list[Kernel]:
        return [kernel for kernel, _ in self.shares]

    def weight_gradient(self, x: Tensor, grad_out: Tensor, grad_weight: Tensor) -> None:
        self.workers.run(
            [
                partial(kernel.weight_gradient, x, grad_out[..., some], grad_weight[some])
                for kernel, some in self.shares
            ]
        )
