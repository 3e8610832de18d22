"""The roofline (Williams, Waterman, Patterson, CACM 52(4), 2009) with this machine's own measured roofs."""

import functools
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import nn

from convnet_benchmarks.nets.phases import forward_only
from convnet_benchmarks.timing.layers import time_layers
from convnet_benchmarks.timing.loops import Clock, run_loop, warm_up
from convnet_benchmarks.workload.kernels import first_inference
from convnet_benchmarks.workload.operations.counting import OUTSIDE, LayerCount, count_forward
from convnet_benchmarks.workload.tensors import tensors_in

_TRIALS = 10


@dataclass(frozen=True)
class _Sizes:
    """Sizes of the trials: arrays far larger than any cache, arithmetic that keeps the whole device busy."""

    array_bytes: int = 128 * 2**20
    matrices: tuple[int, ...] = (1024, 2048)
    convolution_batch: int = 4

    @staticmethod
    def on(device: torch.device) -> "_Sizes":
        """Returns those for ``device``: a GPU's follow from its memory and its multiprocessors."""
        if device.type != "cuda":
            return _Sizes()
        gpu = torch.cuda.get_device_properties(device)
        processors = gpu.multi_processor_count
        largest = max(1024, min(8192, 1024 * (processors // 8)))
        arrays = min(2**30, gpu.total_memory // 16)
        return _Sizes(arrays, (largest // 2, largest), max(4, min(256, 4 * processors)))


@dataclass(frozen=True)
class Roofs:
    """``gflops``: of the ``fastest`` arithmetic seen; ``gbytes`` per second: the best of copy and triad."""

    gflops: float
    fastest: str
    gbytes: float

    @property
    def ridge(self) -> float:
        """Returns the operations per byte above which arithmetic is the limit."""
        return self.gflops / self.gbytes

    def attainable(self, intensity: float) -> float:
        """Returns GFLOP/s at ``intensity`` operations per byte."""
        return min(self.gflops, intensity * self.gbytes)


@dataclass(frozen=True)
class LayerPoint:
    """A layer under the roofs; ``operations`` by formula, ``bytes`` of input, output and parameters."""

    path: str
    kind: str
    operations: int
    bytes: int
    ms: float
    gflops: float
    intensity: float
    bound: str  # compute, memory; moves data: no arithmetic at all
    share_of_roof: float | None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def measure_roofs(device: torch.device, dtype: torch.dtype, clock: Clock) -> Roofs:
    """Returns the best of several trials: of matrix products and a convolution, of copy and triad (a = b
    + 3 c).
    """
    sizes = _Sizes.on(device)
    with torch.inference_mode():
        gflops, fastest = max(_arithmetic(device, dtype, clock, sizes))
        elements = sizes.array_bytes // dtype.itemsize
        x, y, z = (torch.zeros(elements, device=device, dtype=dtype) for _ in range(3))
        triad = _best_seconds(lambda: torch.add(y, z, alpha=3, out=x), clock)
        copy = _best_seconds(lambda: x.copy_(y), clock)
    array = elements * dtype.itemsize
    return Roofs(gflops, fastest, max(3 * array / triad, 2 * array / copy) / 1e9)


def _arithmetic(
    device: torch.device, dtype: torch.dtype, clock: Clock, sizes: _Sizes
) -> Iterator[tuple[float, str]]:
    """Yields GFLOP/s of candidates for the peak: on some processors oneDNN's convolution beats the BLAS."""
    for size in sizes.matrices:
        a, b, c = (torch.rand(size, size, device=device).to(dtype) for _ in range(3))
        product = functools.partial(torch.mm, a, b, out=c)
        yield 2 * size**3 / _best_seconds(product, clock) / 1e9, f"{size}x{size} matrix product"
    images = torch.rand(sizes.convolution_batch, 256, 32, 32, device=device).to(dtype)
    weights = torch.rand(256, 256, 3, 3, device=device).to(dtype)
    convolution = functools.partial(torch.conv2d, images, weights, padding=1)
    operations = 2 * images.numel() * weights[0].numel()
    yield operations / _best_seconds(convolution, clock) / 1e9, "3x3 convolution of 256 planes"


def _best_seconds(work: Callable[[], object], clock: Clock) -> float:
    warm_up(work, clock)
    return min(run_loop(work, 1, clock).seconds for _ in range(_TRIALS))


def layer_points(module: nn.Module, input: Any, clock: Clock, roofs: Roofs, passes: int) -> list[LayerPoint]:
    """Returns every layer of a forward pass, timed as part of the whole."""
    counts = [layer for layer in count_forward(module, input).layers if layer.path != OUTSIDE]
    with forward_only():
        _, mode = first_inference(lambda: warm_up(lambda: module(input), clock))
        with mode():
            times = time_layers(module, input, clock, passes)
    number = next(module.parameters(), tensors_in(input)[0])
    return [
        _point(count, ms, number.element_size(), roofs)
        for count, ms in zip(counts, times.layer_ms, strict=True)
    ]


def _point(count: LayerCount, ms: float, element_size: int, roofs: Roofs) -> LayerPoint:
    operations, moved = count.formula.total, count.elements * element_size
    intensity = operations / moved if moved else 0.0
    gflops = operations / ms / 1e6
    if not operations:
        bound, share = "moves data", None
    else:
        bound = "compute" if intensity >= roofs.ridge else "memory"
        share = gflops / roofs.attainable(intensity)
    return LayerPoint(count.path, count.kind, operations, moved, ms, gflops, intensity, bound, share)
