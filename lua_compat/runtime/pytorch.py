"""PyTorch as one Lua state sees it: loaded when something first needs it, which takes more than a second."""

from __future__ import annotations

import ctypes
import gc
import math
import sys
from contextlib import contextmanager
from functools import cache, cached_property

from lua_compat.runtime.cuda_presence import why_no_cuda
from lua_compat.runtime.slabs import MOST_SPARE, Slabs

TYPE_CHECKING = False  # typing is not loaded before a script starts
if TYPE_CHECKING:
    from collections.abc import Iterator

    import torch

    from lua_compat.runtime.bridge import Handles


def is_loaded() -> bool:
    """Returns whether this process has loaded PyTorch."""
    return "torch" in sys.modules


@cache
def _work_instead() -> ctypes.c_double:
    """Returns the work that Lua has done instead of PyTorch in all threads (lua/torch/core/library.lua)."""
    return ctypes.c_double(math.inf if is_loaded() else 0)


def address_of_work_instead() -> int:
    return ctypes.addressof(_work_instead())


class PyTorch:
    """As a context manager it encloses a call of Lua: PyTorch, once loaded, is in inference mode until its
    end.

    ``cpu_as_cuda``: CUDA's types exist, on the CPU; otherwise ``with_cuda`` says whether they exist if
    PyTorch has CUDA. ``in_thread``: the number of threads applies only to the calling thread.
    ``own_process``: the process is the script's. ``timing``: kernels may be timed, and the fastest taken.
    """

    def __init__(
        self, *, cpu_as_cuda: bool, with_cuda: bool, in_thread: bool, own_process: bool, timing: bool = True
    ) -> None:
        self.slabs = Slabs()
        self._timing = timing
        self._own_process = own_process
        self._threads_wanted: int | None = None
        self._cpu_as_cuda, self._with_cuda, self._in_thread = cpu_as_cuda, with_cuda, in_thread
        self._calls: list[torch.inference_mode | None] = []
        self._met = False

    @cached_property
    def handles(self) -> Handles:
        """Returns the tensors of the state by handle. Loads PyTorch."""
        with self.loading():
            from convnet_benchmarks.nets.memory.heap import keep_freed_memory
            from lua_compat.runtime.bridge import Handles

        _work_instead().value = math.inf
        self.meet()
        self.slabs.keep_no_spares()
        if self._own_process:
            keep_freed_memory(MOST_SPARE)
        return Handles(self.slabs, self.place, self._timing)

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Encloses code that may load PyTorch. Python's garbage collector is off meanwhile, because it would
        examine PyTorch's objects again and again (a fifth of the time). In the script's own process it never
        examines them, because they stay; a program around the script may have objects of its own."""
        if is_loaded() or not gc.isenabled():
            yield
            return
        gc.disable()
        try:
            yield
        finally:
            if self._own_process and is_loaded():
                gc.freeze()
            gc.enable()

    def alive(self) -> int:
        """Returns how many handles of tensors are alive."""
        return len(self.handles) if "handles" in self.__dict__ else 0

    @cached_property
    def place(self) -> str | None:
        """Returns where CUDA's tensors lie: 'cuda', 'cpu'; None: there are none."""
        if self._cpu_as_cuda:
            return "cpu"
        return "cuda" if self._with_cuda and not why_no_cuda() else None

    @property
    def in_main_memory(self) -> bool:
        """Returns whether Lua can read and write the elements of CUDA's tensors where they lie."""
        return self.place == "cpu"

    def meet(self) -> None:
        """Applies this state's settings to PyTorch, if it has been loaded."""
        if not is_loaded():
            return
        self._begin_inference_mode()
        if not self._met:
            self._met = True
            if self._threads_wanted is not None:
                self._apply_threads(self._threads_wanted)

    def set_num_threads(self, count: float) -> None:
        """Sets the number of threads that PyTorch computes with, now or when it is loaded."""
        self._threads_wanted = int(count)
        if self._met:
            self._apply_threads(self._threads_wanted)

    def _apply_threads(self, count: int) -> None:
        from lua_compat.kernels.threads import set_num_threads, set_num_threads_here

        (set_num_threads_here if self._in_thread else set_num_threads)(count)

    def __enter__(self) -> None:
        self._calls.append(None)
        if is_loaded():
            self._begin_inference_mode()

    def __exit__(self, *error: object) -> None:
        mode = self._calls.pop()
        if mode is not None:
            mode.__exit__(*error)

    def _begin_inference_mode(self) -> None:
        import torch

        if self._calls and self._calls[-1] is None:
            mode = torch.inference_mode()
            mode.__enter__()
            self._calls[-1] = mode
