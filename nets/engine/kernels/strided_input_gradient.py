"""The input gradient of a strided convolution: a stride-1 convolution, followed by a shuffle of channels to
pixels.

Per axis, with stride s and padding p, let y + p = s Y + a be an input position with phase a < s. Its
gradient takes the taps i = s q + a only:

    g'[s Y + a - p] = sum over q of g[Y - q] w[s q + a]

which for every phase is a stride-1 convolution of g with ceil(k / s) taps. A single convolution computes the
s x s phases as its output channels, so that a first layer's few channels become s * s as many.
"""

from torch import Tensor

from convnet_benchmarks.nets.engine.kernels.compiled import windows
from convnet_benchmarks.nets.engine.kernels.compiled.compiling import NotCompiled
from convnet_benchmarks.nets.engine.kernels.im2col_gemm import Im2colGemm
from convnet_benchmarks.nets.engine.kernels.kernel import Kernel
from convnet_benchmarks.nets.engine.kernels.onednn import DirectConvolution
from convnet_benchmarks.nets.engine.memory import Memory
from convnet_benchmarks.nets.engine.shapes import ConvolutionShape
from convnet_benchmarks.nets.engine.weights import CachedWeight


class StridedInputGradient(Kernel):
    """``inner`` is "mm" or "direct": the algorithm of the stride-1 convolution."""

    def __init__(self, shape: ConvolutionShape, memory: Memory, inner: str) -> None:
        self.shape = shape
        self.memory = memory
        taps = (-(-shape.kernel[0] // shape.stride[0]), -(-shape.kernel[1] // shape.stride[1]))
        self.phases = ConvolutionShape(
            batch=shape.batch,
            in_channels=shape.out_channels,
            out_channels=shape.stride[0] * shape.stride[1] * shape.in_channels,
            in_size=shape.out_size,
            kernel=taps,
            stride=(1, 1),
            padding=(taps[0] - 1, taps[1] - 1),
            dtype=shape.dtype,
        )
        self._convolution = (
            Im2colGemm(self.phases, memory, "tap")
            if inner == "mm"
            else DirectConvolution(self.phases, memory)
        )
        self._weight = CachedWeight()
        self._by_phase_out = memory.empty(self.phases.output_shape, shape.dtype)

    def _by_phase(self, weight: Tensor, out: Tensor | None) -> Tensor:
        """Turns (out, in, kernel) into (stride, stride, in; out; taps), taps reversed and zero beyond the
        kernel."""
        shape, (taps_h, taps_w) = self.shape, self.phases.kernel
        (stride_h, stride_w), (kernel_h, kernel_w) = shape.stride, shape.kernel
        if out is None:
            out = self.memory.empty(
                (self.phases.out_channels, shape.out_channels, taps_h, taps_w), shape.dtype
            )
        padded = weight.new_zeros(shape.out_channels, shape.in_channels, taps_h * stride_h, taps_w * stride_w)
        padded[:, :, :kernel_h, :kernel_w] = weight
        by_phase = padded.view(
            shape.out_channels, shape.in_channels, taps_h, stride_h, taps_w, stride_w
        ).permute(3, 5, 1, 0, 2, 4)
        out.unflatten(0, by_phase.shape[:3]).copy_(by_phase.flip(4, 5))
        return out

    def input_gradient(self, grad_out: Tensor, weight: Tensor, grad_in: Tensor) -> None:
        by_phase = self._weight.get(weight, self._by_phase)
        self._convolution.forward(grad_out, by_phase, None, self._by_phase_out, False)
        try:
            windows.place_phases(self._by_phase_out, self.shape, grad_in)
        except NotCompiled:
            self._place(grad_in)

    def _place(self, grad_in: Tensor) -> None:
        """Places the phases as compiled code does, with PyTorch's operators."""
        shape = self.shape
        height, width = self.phases.out_size
        (stride_h, stride_w), (top, left) = shape.stride, shape.padding
        pixels = self._by_phase_out.unflatten(3, (stride_h, stride_w, shape.in_channels))
        # Input rows of phase a: those with (y + top) % stride == a.
        for a in range(stride_h):
            first_row, grid_row, rows = _phase(a, stride_h, top, shape.in_size[0], height)
            for b in range(stride_w):
                first_column, grid_column, columns = _phase(b, stride_w, left, shape.in_size[1], width)
                target = grad_in[:, first_row::stride_h, first_column::stride_w]
                if target.shape[1:3] != (rows, columns):
                    target.zero_()  # edge pixels that no window reaches
                target[:, :rows, :columns].copy_(
                    pixels[:, grid_row : grid_row + rows, grid_column : grid_column + columns, a, b]
                )


def _phase(phase: int, stride: int, padding: int, size: int, grid: int) -> tuple[int, int, int]:
    """Returns, along one axis, the first input position of ``phase``, its position in the phase's grid, and
    the number of positions."""
    first = (phase - padding) % stride
    start = (first + padding) // stride
    return first, start, max(0, min((size - 1 - first) // stride + 1, grid - start))
