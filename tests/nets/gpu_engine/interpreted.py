"""The kernels in Triton's interpreter, on the CPU: run as a program, as Triton must be told before it loads.

Prints for each case the largest error of each phase as a part of the largest element of the float64 result.
"""

import os

os.environ["TRITON_INTERPRET"] = "1"

import torch
from torch.nn import grad as of_layers
from triton.runtime import interpreter

from convnet_benchmarks.nets.gpu_engine.kernels.tensor_cores import Implicit
from convnet_benchmarks.nets.gpu_engine.kernels.tiles import Tile
from convnet_benchmarks.nets.gpu_engine.reference import relative
from convnet_benchmarks.nets.gpu_engine.shape import Convolution

_own = interpreter._patch_lang_tensor


def _patched(tensor, scope):  # type: ignore[no-untyped-def]
    """numpy from 2.4 on takes only arrays without dimensions for numbers; the interpreter's have one."""
    _own(tensor, scope)
    scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))


interpreter._patch_lang_tensor = _patched

TILE = Tile(64, 32, 32, 4, 2)
SHAPES = (
    Convolution(2, 3, 16, (23, 21), (7, 7), (4, 4), (2, 2)),  # a first layer: 4 channels, blocks of pixels
    Convolution(2, 16, 24, (6, 7), (3, 3), (1, 1), (1, 1)),
    Convolution(2, 8, 20, (9, 8), (3, 3), (2, 2), (1, 1)),
    Convolution(1, 6, 10, (12, 9), (7, 5), (2, 3), (3, 2)),  # strides larger than what is left over
    Convolution(2, 24, 16, (5, 5), (1, 1), (2, 2), (0, 0)),  # pixels that no output sees
    Convolution(8, 300, 17, (1, 1), (1, 1), (1, 1), (0, 0)),  # a Linear layer, summed in parts
)


def errors(shape: Convolution, halves: bool) -> list[float]:
    """Returns those of updateOutput with bias and ReLU, updateGradInput and accGradParameters."""
    x = torch.randn(shape.batch, shape.in_channels, *shape.in_size).contiguous(
        memory_format=torch.channels_last
    )
    weight = torch.randn(shape.out_channels, shape.in_channels, *shape.kernel) * 1e-2
    bias = torch.randn(shape.out_channels)
    sizes = (shape.stride, shape.padding)
    y = torch.conv2d(x.double(), weight.double(), bias.double(), *sizes)
    # So small that halves of it, as it is, would be nothing.
    gradient = (torch.randn(y.shape) * 1e-8).contiguous(memory_format=torch.channels_last)
    of_input = of_layers.conv2d_input(x.shape, weight.double(), gradient.double(), *sizes)
    of_weight = of_layers.conv2d_weight(x.double(), weight.shape, gradient.double(), *sizes)
    kernel = Implicit(shape, TILE, halves)
    a, g = kernel.input_operand(x), kernel.gradient_operand(gradient)
    return [
        relative(kernel.forward(a, weight, bias, relu=True).double(), y.relu()),
        relative(kernel.input_gradient(g, weight).double(), of_input),
        relative(kernel.weight_gradient(a, g).double(), of_weight),
    ]


if __name__ == "__main__":
    torch.manual_seed(1)
    for shape in SHAPES:
        for halves in (True, False):
            print(max(errors(shape, halves)), "halves" if halves else "tf32x3", shape, flush=True)
