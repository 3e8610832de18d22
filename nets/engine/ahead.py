"""Compiles the C code for a net's layers in parallel and in the background."""

import contextlib
import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from queue import Empty, SimpleQueue

import torch
from torch import nn

from convnet_benchmarks.nets.engine.choice.selection import likely_transforms
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
from convnet_benchmarks.nets.engine.kernels.compiled.compiling import NotCompiled
from convnet_benchmarks.nets.engine.kernels.winograd import output_tiles, winograd
from convnet_benchmarks.nets.engine.layers.weighted import convolution_shapes
from convnet_benchmarks.nets.engine.trace import Trace
from convnet_benchmarks.nets.pair import pair
from convnet_benchmarks.nets.phases import PHASES

_WITH_WINOGRAD, _WITH_MM = ("auto", "winograd"), ("auto", "mm")  # backends

Make = Callable[[], object]  # returns a library; raises NotCompiled
Wanted = SimpleQueue[Make]

_started: list[tuple[Wanted, threading.Thread]] = []


def compile_ahead(
    module: nn.Module,
    backend: str,
    dtype: torch.dtype,
    shape: Sequence[int],
    timed: bool = True,
    traced: Trace | None = None,
) -> None:
    """Starts to compile what a plan of ``module`` with ``backend`` may need, one library on each core.

    ``shape``: that of its input. ``timed``: whether kernels will be timed; otherwise only what the likely
    ones need is compiled, of Winograd's transforms when the module has been ``traced``. It may be on the meta
    device.

    A plan that needs one of the libraries finds it, or waits for it. A missing compiler is reported when a
    plan needs one.
    """
    makes = list(_libraries(module, backend, dtype, shape))
    if backend in _WITH_WINOGRAD:
        if timed:
            makes += _all_tiles(module, dtype)
        elif traced is not None:
            makes.append(partial(_begin_likely_tiles, traced, backend, dtype))
    _begin(makes)


def _begin(makes: Iterable[Make]) -> None:
    wanted: Wanted = SimpleQueue()
    for make in makes:
        wanted.put(make)
    for _ in range(min(wanted.qsize(), os.cpu_count() or 1)):
        thread = threading.Thread(target=_make_all, args=(wanted,), daemon=True)
        thread.start()
        _started.append((wanted, thread))


def wait(until: float = math.inf) -> None:
    """Waits for the compilations in progress, at most until ``until`` on ``time.monotonic``. Those not
    started by then are left to the plans that need them."""
    for _, thread in _started:  # a thread may start more
        thread.join(None if until == math.inf else max(0.0, until - time.monotonic()))
    for wanted, _ in _started:
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
    """Yields the function that makes each library, the first layers' first."""
    if backend == "stock":
        return
    layers = list(module.modules())
    convolutions = [layer for layer in layers if isinstance(layer, nn.Conv2d)]
    if any(isinstance(layer, nn.Conv2d | nn.Linear) for layer in layers):
        yield partial(products.compiled, dtype)
        rows = 1 if len(shape) == 3 else shape[0]
        if rows in few_rows.ROWS:
            yield partial(few_rows.compiled, dtype, rows)
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


def _all_tiles(module: nn.Module, dtype: torch.dtype) -> Iterator[Make]:
    """Yields the functions that make the transforms of all tiles that Winograd may use."""
    kernels = {
        pair(layer.kernel_size)
        for layer in module.modules()
        if isinstance(layer, nn.Conv2d) and layer.groups == 1 and layer.stride == (1, 1)
    }
    for kernel in sorted(kernels):
        for output_tile in output_tiles(kernel):
            yield partial(tiles.compiled, winograd(output_tile, kernel), dtype)


def _begin_likely_tiles(traced: Trace, backend: str, dtype: torch.dtype) -> None:
    """Starts to compile the transforms of the tiles that are likely the fastest. Which ones depends on
    whether there are compiled products, for which it waits."""
    found = likely_transforms(convolution_shapes(traced, dtype), backend, PHASES)
    _begin(partial(tiles.compiled, transforms, dtype) for transforms in found)
