"""CUDA for ``cutorch``: devices, streams, single elements. Lua counts devices and streams from 1.

``Cuda('cuda')`` is PyTorch's CUDA; ``Cuda('cpu')`` stands in for a device, whatever its number, on the CPU
(``th --cpu-as-cuda``): what a script asks of the device has an answer, and nothing is asynchronous.
"""

import ctypes
import os
import sys
from collections.abc import Callable, Mapping
from functools import cached_property
from itertools import count
from typing import Any

from convnet_benchmarks.nets.cudnn import MOST_TRIED
from lua_compat.runtime.cuda_presence import ANY_DEVICE, built_for_gpus, why_no_cuda

# PyTorch is imported where a GPU is used: with the CPU in its place, a script may never need it.

NOT_FOUND = (
    "cutorch needs a CUDA GPU, and {why}. To check a CUDA script on the CPU, run it with: th --cpu-as-cuda"
)

_STANDS_IN = "th: --cpu-as-cuda: the CPU stands in for a GPU; times are not those of a GPU\n"

# In the order in which getDeviceProperties hands them over.
PROPERTIES = (
    "name", "totalGlobalMem", "freeGlobalMem", "major", "minor", "multiProcessorCount", "warpSize",
    "maxThreadsPerBlock", "clockRate", "computeMode",
)  # fmt: skip

_HOST_TO_DEVICE, _DEVICE_TO_HOST = 1, 2


class Cuda:
    """The functions of ``functions()`` for one Lua state. Errors are RuntimeError with cutorch's sense.

    ``notes``: whether stderr says that the CPU stands in. ``gpus``: the machine's GPU for a device that
    the script names (``th --gpus``).
    """

    def __init__(self, place: str | None, notes: bool = True, gpus: Mapping[int, int] | None = None) -> None:
        self._place = place
        self._gpus = gpus or {}
        self._notes = notes and place == "cpu"
        self._gpu: Any = None  # torch.cuda, where there is one
        if place == "cuda":
            import torch

            self._gpu = torch.cuda
            # Torch7 convolved in float32; PyTorch rounds to TF32 by default.
            torch.backends.cudnn.allow_tf32 = False
        self._cells: dict[int, tuple[Any, int, int]] = {}
        # The current device as the script names it, and the name for each GPU that has been current.
        self._named = 1
        self._device = self._gpu_for(1)
        self._names = {self._device: 1}
        self._stood_in = {1}  # devices that the CPU has been announced for
        self._stream = 0
        self._stream_count = 0
        self._streams: dict[tuple[int, int], Any] = {}  # by device and number, made when first used
        self._events: dict[int, Any] = {}
        self._event_numbers = count(1)

    def functions(self) -> dict[str, Callable[..., Any]]:
        """Returns the functions by the names under which Lua calls them."""
        return {
            "cuda_why_not": lambda: "" if self._place else NOT_FOUND.format(why=why_no_cuda()),
            "cuda_note": lambda: _STANDS_IN if self._notes else "",
            "on_gpu": lambda: self._gpu is not None,
            "device_read": self.read,
            "device_write": self.write,
            "device_count": self.device_count,
            "start_device": self.start,
            "get_device": lambda: self._named,
            "device_name": self.name_of,
            "set_device": self.set_device,
            "device_properties": self.properties,
            "device_memory": self.memory,
            "device_synchronize": self.synchronize,
            "device_sleep": self.sleep,
            "device_seed": self.seed,
            "reserve_streams": self.reserve_streams,
            "stream_count": lambda: self._stream_count,
            "get_stream": lambda: self._stream,
            "set_stream": self.set_stream,
            "stream_wait": self.stream_wait,
            "stream_synchronize": self.stream_synchronize,
            "event_record": self.event_record,
            "event_wait": self.event_wait,
            "event_release": self.event_release,
            "cuda_versions": self.versions,
            "cudnn_benchmark": self.cudnn_benchmark,
        }

    # Elements

    def read(self, code: int, address: int) -> float:
        """Returns the element of type ``code`` at an address of the device, as a number."""
        cell, place, size = self._cell(int(code))
        self._move(place, int(address), size, _DEVICE_TO_HOST)
        return cell.item()

    def write(self, code: int, address: int, value: float) -> None:
        cell, place, size = self._cell(int(code))
        cell.fill_(value)
        self._move(int(address), place, size, _HOST_TO_DEVICE)

    def _cell(self, code: int) -> tuple[Any, int, int]:
        """Returns main memory for an element of a type: a tensor, its address and its size in bytes."""
        if code not in self._cells:
            import torch

            from lua_compat.kernels.element_types import dtype_of

            cell = torch.zeros((), dtype=dtype_of(code))
            self._cells[code] = cell, cell.data_ptr(), cell.element_size()
        return self._cells[code]

    def _move(self, to: int, source: int, count: int, kind: int) -> None:
        """Copies bytes once the current stream's work is done, as cutorch does."""
        if self._place is None:
            raise RuntimeError("no CUDA tensors in this Lua state")
        if not self._gpu:
            ctypes.memmove(to, source, count)
            return
        if self._stream != 0:  # the copy waits for the default stream by itself
            self._gpu.current_stream().synchronize()
        status = self._copy(to, source, count, kind)
        if status != 0:
            raise RuntimeError(f"cuda runtime error ({status}) while one element was copied")

    @cached_property
    def _copy(self) -> Callable[[int, int, int, int], int]:
        """Returns cudaMemcpy of the CUDA runtime that PyTorch uses."""
        import torch

        copy = ctypes.CDLL(f"libcudart.so.{str(torch.version.cuda).split('.')[0]}").cudaMemcpy
        copy.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        found: Callable[[int, int, int, int], int] = copy
        return found

    # Devices

    def device_count(self) -> int:
        return self._gpu.device_count() if self._gpu else 1

    def set_device(self, index: float) -> None:
        """Chooses a device. The stream's number is kept, and refers to the new device."""
        self._device, self._named = self._checked(index), int(index)
        self._names[self._device] = self._named
        if self._gpu:
            self._gpu.set_device(self._device - 1)
            self._gpu.set_stream(self._stream_of(self._stream))

    def start(self) -> None:
        """Makes the GPU for device 1 current, which need not be PyTorch's first."""
        if self._device != 1:
            self.set_device(1)

    def name_of(self, number: float) -> int:
        """Returns the device that the script means by a GPU: what ``set_device`` takes for it."""
        gpu = int(number)
        given = (named for named, of in self._gpus.items() if of == gpu and named != ANY_DEVICE)
        return self._names.get(gpu) or next(given, gpu)

    def _gpu_for(self, named: int) -> int:
        return self._gpus.get(named, self._gpus.get(ANY_DEVICE, named))

    def _checked(self, index: float | None) -> int:
        """Returns the GPU for a device of the script's, by default the current one."""
        named = self._named if index is None else int(index)
        number = self._gpu_for(named)
        if self._place == "cpu" and number >= 1:  # a script may name the GPU of the machine it was written on
            if number not in self._stood_in:
                self._stood_in.add(number)
                if self._notes:
                    print(f"th: --cpu-as-cuda: the CPU stands in for device {number}, too", file=sys.stderr)
        elif not 1 <= number <= self.device_count():
            another = f"; to use GPU 1 instead, run the script with: th --gpus {named}=1 (or --gpu 1)"
            raise RuntimeError(
                f"cuda runtime error: device {number} is not one of 1 to {self.device_count()}"
                f"{another if named >= 1 else ''}"
            )
        return number

    def properties(self, index: float | None = None) -> tuple[Any, ...]:
        """Returns the values of ``PROPERTIES``."""
        number = self._checked(index)
        free, total = self.memory(index)
        if not self._gpu:
            from torch import get_num_threads

            return ("CPU (as CUDA)", total, free, 0, 0, get_num_threads(), 1, 1, 0, 0)
        found = self._gpu.get_device_properties(number - 1)
        clock = getattr(found, "clock_rate", 0)
        threads = getattr(found, "max_threads_per_block", 1024)
        processors = found.multi_processor_count
        warp = getattr(found, "warp_size", 32)
        return (found.name, total, free, found.major, found.minor, processors, warp, threads, clock, 0)

    def memory(self, index: float | None = None) -> tuple[int, int]:
        """Returns free and total bytes of a device; as in cutorch, what the allocator keeps unused is
        free."""
        number = self._checked(index)
        if self._gpu:
            place = number - 1
            free, total = self._gpu.mem_get_info(place)
            return free + self._gpu.memory_reserved(place) - self._gpu.memory_allocated(place), total
        page = os.sysconf("SC_PAGE_SIZE")
        return os.sysconf("SC_AVPHYS_PAGES") * page, os.sysconf("SC_PHYS_PAGES") * page

    def synchronize(self, everywhere: bool = False) -> None:
        if self._gpu:
            for number in range(self.device_count()) if everywhere else [self._device - 1]:
                self._gpu.synchronize(number)

    def sleep(self, cycles: float) -> None:
        """Keeps the current stream of a GPU busy for this many clock cycles."""
        if self._gpu:
            self._gpu._sleep(int(cycles))

    def seed(self, seed: float) -> None:
        """Seeds PyTorch's generators on the devices; those draw for dropout and the like."""
        if self._gpu:
            import torch

            torch.manual_seed(int(seed))

    # Streams

    def reserve_streams(self, number: float, nonblocking: bool = False) -> None:
        """Makes at least ``number`` streams on every device. PyTorch's never wait for the default stream."""
        self._stream_count = max(self._stream_count, int(number))

    def set_stream(self, number: float) -> None:
        """Chooses a stream; 0 is the default stream."""
        chosen = self._stream_of(number)
        if self._gpu:
            self._gpu.set_stream(chosen)
        self._stream = int(number)

    def _stream_of(self, number: float, device: float | None = None) -> Any:
        """Returns a stream, of the current device if none is named; None if there is no GPU."""
        place = self._checked(device), int(number)
        if not 0 <= place[1] <= self._stream_count:
            raise RuntimeError(f"stream {place[1]} is not one of 0 to {self._stream_count}")
        if not self._gpu:
            return None
        if place[1] == 0:
            return self._gpu.default_stream(place[0] - 1)
        if place not in self._streams:
            self._streams[place] = self._gpu.Stream(place[0] - 1)
        return self._streams[place]

    def stream_wait(self, device: float, waiting: float, *others: float) -> None:
        """Makes what follows on a stream wait for what is on the others now: device, stream, device,
        stream..."""
        stream = self._stream_of(waiting, device)
        awaited = [self._stream_of(n, d) for d, n in zip(others[::2], others[1::2], strict=True)]
        if self._gpu:
            for other in awaited:
                stream.wait_stream(other)

    def stream_synchronize(self, number: float) -> None:
        stream = self._stream_of(number)
        if self._gpu:
            stream.synchronize()

    def event_record(self) -> int:
        """Records an event on the current stream, after its work so far; returns its number."""
        number = next(self._event_numbers)
        self._events[number] = self._gpu.current_stream().record_event() if self._gpu else None
        return number

    def event_wait(self, number: float) -> None:
        """Makes what follows on the current stream wait for the event."""
        event = self._events[int(number)]
        if self._gpu:
            self._gpu.current_stream().wait_event(event)

    def event_release(self, *numbers: float) -> None:
        for number in numbers:
            del self._events[int(number)]

    # Libraries

    def versions(self) -> tuple[int, int]:
        """Returns the versions of the CUDA runtime and of cuDNN, as their libraries number them; 0
        without."""
        if not built_for_gpus():
            return 0, 0
        import torch

        if not torch.version.cuda:
            return 0, 0
        major, minor = str(torch.version.cuda).split(".")[:2]
        return int(major) * 1000 + int(minor) * 10, torch.backends.cudnn.version() or 0

    def cudnn_benchmark(self, on: bool) -> None:
        """Chooses whether cuDNN times its algorithms for each new shape (cudnn.benchmark)."""
        if self._gpu:
            import torch

            torch.backends.cudnn.benchmark = bool(on)
            torch.backends.cudnn.benchmark_limit = MOST_TRIED
