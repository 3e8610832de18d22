"""Compiles the C code for a net's layers all at once, and while something else is done."""

import contextlib
import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from queue import Empty, SimpleQueue

import torch
from torch import nn

from convnet_benchmarks.nets.engine.kernels.compiled import (
    averages,
    batch_norm,
    depthwise,
    few_rows,
    images,
    pooling,
    products,
    sequence,
    tiles,
    windows,
)
from convnet_benchmarks.nets.engine.kernels.compiled.library import NotCompiled
from convnet_benchmarks.nets.engine.kernels.winograd import output_tiles, winograd
from convnet_benchmarks.nets.pair import pair

_WITH_WINOGRAD, _WITH_MM = ("auto", "winograd"), ("auto", "mm")  # backends

Make = Callable[[], object]  # a library; raises NotCompiled
Wanted = SimpleQueue[Make]

_started: list[tuple[Wanted, threading.Thread]] = []


def start(module: nn.Module, backend: str, dtype: torch.dtype, shape: Sequence[int]) -> None:
    """Begins to compile what a plan of ``module`` with ``backend`` may need, a library on each core.
    ``shape``: that of its input.

    A plan asks for the same libraries and then finds them, or waits for those that are being made. Where
    there is no compiler, that is found when a plan asks.
    """
    wanted: Wanted = SimpleQueue()
    for make in _libraries(module, backend, dtype, shape):
        wanted.put(make)
    count = min(wanted.qsize(), os.cpu_count() or 1)
    for _ in range(count):
        thread = threading.Thread(target=_make_all, args=(wanted,), daemon=True)
        thread.start()
        _started.append((wanted, thread))


def wait(until: float = math.inf) -> None:
    """Waits for all that has been started, at most until ``until`` on ``time.monotonic``: what has not been
    begun by then is left to the plans that need it."""
    started = _started.copy()
    for _, thread in started:
        thread.join(None if until == math.inf else max(0.0, until - time.monotonic()))
    for wanted, _ in started:
        with contextlib.suppress(Empty):
            while True:
                wanted.get_nowait()
    _started[:] = [one for one in _started if one[1].is_alive()]


def _make_all(wanted: Wanted) -> None:
    with contextlib.suppress(Empty):
        while True:
            make = wanted.get_nowait()
            with contextlib.suppress(NotCompiled):
                make()


def _libraries(module: nn.Module, backend: str, dtype: torch.dtype, shape: Sequence[int]) -> Iterator[Make]:
    """Yields what makes each library, that of the first layers first."""
    if backend == "stock":
        return
    layers = list(module.modules())
    convolutions = [layer for layer in layers if isinstance(layer, nn.Conv2d)]
    if any(isinstance(layer, nn.Conv2d | nn.Linear) for layer in layers):
        yield partial(products.compiled, dtype)
        if len(shape) != 3 and shape[0] in few_rows.ROWS:
            yield partial(few_rows.compiled, dtype)
    if any(isinstance(layer, nn.MaxPool2d) for layer in layers):
        yield partial(pooling.compiled, dtype)
    if any(isinstance(layer, nn.AvgPool2d | nn.AdaptiveAvgPool2d) for layer in layers):
        yield partial(averages.compiled, dtype)
    if any(isinstance(layer, nn.BatchNorm2d) for layer in layers):
        yield partial(batch_norm.compiled, dtype)
    if any(layer.groups == layer.in_channels > 1 for layer in convolutions):
        yield partial(depthwise.compiled, dtype)
    plain = [layer for layer in convolutions if layer.groups == 1]
    if backend != "direct" and any(layer.stride != (1, 1) != layer.kernel_size for layer in plain):
        yield partial(windows.compiled, dtype)
    yield partial(images.compiled, dtype)
    yield sequence.compiled
    if backend in _WITH_WINOGRAD:
        kernels = {pair(layer.kernel_size) for layer in plain if layer.stride == (1, 1)}
        for kernel in sorted(kernels):
            for output_tile in output_tiles(kernel):
                yield partial(tiles.compiled, winograd(output_tile, kernel), dtype)
