"""Measures the error of the CPU engine's algorithms against float64, next to stock PyTorch's in float32.

    python -m benchmarks.cpu_engine_accuracy [--batch 2] [--dtype bfloat16]

Every algorithm gets the same inputs for a layer: inputs as a ReLU leaves them, weights as Torch7 initialises
them, normal gradients. The output is the largest error relative to the largest value, for output / input
gradient / weight gradient. For a whole net such figures mean little, because near ties in ReLU and pooling
flip in any arithmetic.
"""

import math
import sys

from benchmarks import performance
from convnet_benchmarks.tables import Column, Table

Pair = int | tuple[int, int]  # one number for rows and columns, or two
Geometry = tuple[int, int, int, Pair, int, Pair]

LAYERS: dict[str, Geometry] = {
    # net and layer: in, out, size, kernel, stride, padding
    "OverFeat 1": (3, 96, 221, 7, 2, 0),
    "OverFeat 2": (96, 256, 36, 7, 1, 0),
    "OverFeat 6": (1024, 1024, 15, 3, 1, 1),
    "covering": (512, 256, 5, 5, 1, 0),
    "AlexNet 2": (64, 192, 27, 5, 1, 2),
    "VGG-A 2": (64, 128, 112, 3, 1, 1),
    "VGG-A 8": (512, 512, 14, 3, 1, 1),
    "GoogLeNet 1x1": (512, 160, 14, 1, 1, 0),
    "Inception v3 1x7": (160, 192, 17, (1, 7), 1, (0, 3)),
    "Inception v3 3x1": (384, 384, 8, (3, 1), 1, (1, 0)),
}


def main() -> int:
    parser = performance.parser("cpu_engine_accuracy", __doc__)
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    options = parser.parse_args()
    columns = [Column("layer"), Column("algorithm")]
    columns += [Column(name, digits=2) for name in ("output", "input gradient", "weight gradient")]
    table = Table("", columns)
    for name, geometry in LAYERS.items():
        for algorithm, errors in layer_errors(geometry, options.batch, options.dtype).items():
            rounded = [None if error is None else float(f"{error:.2g}") for error in errors]
            table.rows.append([name, algorithm, *rounded])
            print(*table.texts()[-1], sep="\t", file=sys.stderr, flush=True)
    performance.report("cpu_engine_accuracy", table, options)
    return 0


def layer_errors(geometry: Geometry, batch: int, dtype_name: str) -> dict[str, list[float | None]]:
    """Returns the errors of the three phases by algorithm; None for a phase it does not apply to."""
    import torch
    import torch.nn.functional as F
    from torch import Tensor

    from convnet_benchmarks.nets.engine.choice.algorithms import candidates
    from convnet_benchmarks.nets.engine.memory import Memory
    from convnet_benchmarks.nets.engine.shapes import ConvolutionShape
    from convnet_benchmarks.nets.pair import pair
    from convnet_benchmarks.nets.phases import FORWARD, INPUT_GRADIENT, PHASES

    planes, width, size = geometry[:3]
    kernel, stride, padding = map(pair, geometry[3:])
    dtype = getattr(torch, dtype_name)
    shape = ConvolutionShape(batch, planes, width, (size, size), kernel, stride, padding, dtype)
    random = torch.Generator().manual_seed(0)
    bound = 1 / math.sqrt(planes * math.prod(kernel))
    x = torch.randn(shape.input_shape, generator=random).clamp_min(0).to(dtype)
    weight = torch.empty(width, planes, *kernel).uniform_(-bound, bound, generator=random).to(dtype)
    grad_out = torch.randn(shape.output_shape, generator=random).to(dtype)

    def by_autograd(kind: torch.dtype) -> list[Tensor]:
        leaves = [x.to(kind).permute(0, 3, 1, 2).requires_grad_(), weight.to(kind).requires_grad_()]
        out = F.conv2d(leaves[0], leaves[1], None, stride, padding)
        grads = torch.autograd.grad(out, leaves, grad_out.to(kind).permute(0, 3, 1, 2))
        return [out.detach().permute(0, 2, 3, 1), grads[0].permute(0, 2, 3, 1), grads[1]]

    exact = by_autograd(torch.float64)

    def error(found: Tensor, phase: int) -> float:
        return float((found.double() - exact[phase]).abs().max() / exact[phase].abs().max())

    errors: dict[str, list[float | None]] = {
        f"stock {dtype_name}": [error(found, phase) for phase, found in enumerate(by_autograd(dtype))]
    }
    with torch.no_grad():
        for index, phase in enumerate(PHASES):
            for algorithm, make in candidates(shape, phase).items():
                made = make(Memory())
                if phase == FORWARD:
                    found = torch.empty(shape.output_shape, dtype=dtype)
                    made.forward(x, weight, None, found, False)
                elif phase == INPUT_GRADIENT:
                    found = torch.empty(shape.input_shape, dtype=dtype)
                    made.input_gradient(grad_out, weight, found)
                else:
                    found = torch.zeros_like(weight)
                    made.weight_gradient(x, grad_out, found)
                errors.setdefault(algorithm, [None, None, None])[index] = error(found, index)
    return errors


if __name__ == "__main__":
    sys.exit(main())
