"""PyTorch's ``torch.cuda`` for one GPU that is not there: memory, streams, events, graphs.

What a program asks of the device has an answer of the right kind. The CPU does the work when it is issued, so
nothing is asynchronous and no time means anything.
"""

import atexit
import contextlib
import ctypes
import os
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import torch

from tests.helpers.fake_gpu.placement import Placement, fake_cuda

NAME = "Fake GPU"
_TOTAL_BYTES = int(os.environ.get("FAKE_GPU_MIB", "1024")) * 2**20
_DEVICE = torch.device("cuda", 0)
_KEPT = contextlib.ExitStack()  # for as long as the process lives


class Event:
    """A moment of the host's clock."""

    def __init__(self, enable_timing: bool = False, **_: Any) -> None:
        self._seconds: float | None = None
        self._timing = enable_timing

    def record(self, stream: Any = None) -> None:
        self._seconds = time.perf_counter()

    def elapsed_time(self, end: "Event") -> float:
        """Returns milliseconds; as on a GPU both events have been made for timing, and recorded."""
        assert self._timing and end._timing, "events without enable_timing have no time"
        assert self._seconds is not None and end._seconds is not None, "an event was not recorded"
        return (end._seconds - self._seconds) * 1e3

    def synchronize(self) -> None:
        pass

    def wait(self, stream: Any = None) -> None:
        pass


class Stream:
    """One that is never behind."""

    def __init__(self, device: Any = None, **_: Any) -> None:
        self.device = _DEVICE

    def synchronize(self) -> None:
        pass

    def wait_stream(self, other: "Stream") -> None:
        assert isinstance(other, Stream)

    def wait_event(self, event: Event) -> None:
        assert isinstance(event, Event)

    def record_event(self, event: Event | None = None) -> Event:
        event = event or Event()
        event.record(self)
        return event


class Graph:
    """The operators that ran while it was captured; ``replay`` runs them again, into the same memory."""

    def __init__(self) -> None:
        self._operators: list[tuple[Any, Any, Any, Any]] = []

    def replay(self) -> None:
        with torch.inference_mode():
            for func, args, kwargs, results in self._operators:
                for old, new in zip(_tensors(results), _tensors(func(*args, **kwargs)), strict=True):
                    if old.untyped_storage()._cdata != new.untyped_storage()._cdata:
                        old.copy_(new)

    def pool(self) -> None:
        return None


def _tensors(results: Any) -> list[torch.Tensor]:
    results = results if isinstance(results, (list, tuple)) else [results]
    return [one for one in results if isinstance(one, torch.Tensor)]


def _memory_copy(to: int, source: int, count: int, kind: int) -> int:
    ctypes.memmove(to, source, count)
    return 0


class _Runtime:
    """The one function of libcudart that is called directly."""

    def __init__(self) -> None:
        self.cudaMemcpy = _memory_copy


class Device:
    """The functions of ``torch.cuda``, by PyTorch's names."""

    def __init__(self, placement: Placement) -> None:
        self._placement = placement
        self._fraction = 1.0
        self._stream = self._default = Stream()
        self.set_per_process_memory_fraction(1.0)

    def is_available(self) -> bool:
        return True

    def is_initialized(self) -> bool:
        return True

    def init(self) -> None:
        pass

    def device_count(self) -> int:
        return 1

    def current_device(self) -> int:
        return 0

    def set_device(self, device: Any) -> None:
        number = device if isinstance(device, int) else torch.device(device).index or 0
        if number != 0:
            raise RuntimeError("CUDA error: invalid device ordinal")

    def synchronize(self, device: Any = None) -> None:
        pass

    def get_device_name(self, device: Any = None) -> str:
        return NAME

    def get_device_capability(self, device: Any = None) -> tuple[int, int]:
        return (9, 0)

    def get_device_properties(self, device: Any = None) -> SimpleNamespace:
        return SimpleNamespace(
            name=NAME,
            total_memory=_TOTAL_BYTES,
            multi_processor_count=2,
            major=9,
            minor=0,
            warp_size=32,
            L2_cache_size=2**20,
        )

    def mem_get_info(self, device: Any = None) -> tuple[int, int]:
        return _TOTAL_BYTES - self._placement.allocated, _TOTAL_BYTES

    def memory_allocated(self, device: Any = None) -> int:
        return self._placement.allocated

    memory_reserved = memory_allocated

    def max_memory_allocated(self, device: Any = None) -> int:
        return self._placement.peak

    max_memory_reserved = max_memory_allocated

    def reset_peak_memory_stats(self, device: Any = None) -> None:
        self._placement.peak = self._placement.allocated

    def set_per_process_memory_fraction(self, fraction: float, device: Any = None) -> None:
        self._placement.limit = fraction * _TOTAL_BYTES

    def empty_cache(self) -> None:
        pass

    def manual_seed(self, seed: int) -> None:
        pass

    manual_seed_all = manual_seed

    def get_rng_state(self, device: Any = None) -> torch.Tensor:
        return torch.get_rng_state()  # the CPU's draws the numbers

    def set_rng_state(self, state: torch.Tensor, device: Any = None) -> None:
        torch.set_rng_state(state)

    def current_stream(self, device: Any = None) -> Stream:
        return self._stream

    def default_stream(self, device: Any = None) -> Stream:
        return self._default

    def set_stream(self, stream: Stream) -> None:
        self._stream = stream

    @contextlib.contextmanager
    def stream(self, stream: Stream) -> Iterator[None]:
        before, self._stream = self._stream, stream
        try:
            yield
        finally:
            self._stream = before

    def is_current_stream_capturing(self) -> bool:
        return self._placement.recorded is not None

    @contextlib.contextmanager
    def graph(self, graph: Graph, pool: Any = None, stream: Any = None) -> Iterator[None]:
        assert self._placement.recorded is None, "a graph is being captured"
        self._placement.recorded = graph._operators
        try:
            yield
        finally:
            self._placement.recorded = None

    def _sleep(self, cycles: int) -> None:
        pass


def install() -> None:
    """Puts the GPU into this process, for good."""
    import torch.distributed as distributed

    placement = Placement(_TOTAL_BYTES)
    device = Device(placement)
    for name in dir(Device):
        if not name.startswith("__") and callable(getattr(device, name)):
            setattr(torch.cuda, name, getattr(device, name))
    torch.cuda.Event, torch.cuda.Stream, torch.cuda.CUDAGraph = Event, Stream, Graph  # type: ignore[misc, assignment]
    torch.version.cuda = "13.0"
    torch.backends.cudnn.version = lambda: 91_000
    torch.compile = lambda module, **_: module  # type: ignore[assignment]
    _fake_library()
    _fake_convolution_choice(placement)
    _fake_nccl(distributed)
    _fake_in_threads(placement)
    _KEPT.enter_context(fake_cuda(placement))
    atexit.register(_KEPT.close)


def _fake_library() -> None:
    own: Any = ctypes.CDLL

    class Library(own):
        def __new__(cls, name: Any, *args: Any, **kwargs: Any) -> Any:
            return _Runtime() if str(name).startswith("libcudart") else own.__new__(cls)

    ctypes.CDLL = Library  # type: ignore[misc]


def _fake_convolution_choice(placement: Placement) -> None:
    own = torch._C._select_conv_backend

    def select(input: torch.Tensor, *args: Any) -> Any:
        if input not in placement:
            return own(input, *args)
        return "ConvBackend.Cudnn" if torch.backends.cudnn.enabled else "ConvBackend.Slow2d"

    torch._C._select_conv_backend = select


def _fake_in_threads(placement: Placement) -> None:
    """Lets threads have the GPU, too: they begin without the modes of the one that started them."""
    own = threading.Thread.run

    def run(thread: threading.Thread) -> None:
        with fake_cuda(placement):
            own(thread)

    threading.Thread.run = run  # type: ignore[assignment, method-assign]


def _fake_nccl(distributed: Any) -> None:
    own = distributed.init_process_group

    def init_process_group(backend: str | None = None, **kwargs: Any) -> None:
        kwargs.pop("device_id", None)
        own("gloo" if backend == "nccl" else backend, **kwargs)

    distributed.init_process_group = init_process_group
