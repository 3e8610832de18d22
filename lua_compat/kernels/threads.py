"""The number of threads that PyTorch computes with."""

import threading
from functools import cache

import torch

from convnet_benchmarks.nets.torch_library import torch_library
from lua_compat.kernels.system import get_num_cores

__all__ = ["get_num_threads"]
SANDBOXED = ["get_num_threads"]


def set_num_threads(count: float) -> None:
    """Sets the number of threads, at most that of cores: old scripts ask for eight, which would compete."""
    torch.set_num_threads(max(1, min(int(count), get_num_cores())))


def set_num_threads_here(count: float) -> None:
    """Sets the threads as ``set_num_threads`` for the calling thread alone, and for threads made later."""
    wanted = max(1, min(int(count), get_num_cores()))
    if _can_limit_threads():
        _limit_this_thread(wanted)
    else:
        torch.set_num_threads(wanted)


def _limit_this_thread(count: int) -> None:
    """Limits this thread to ``count`` cores, whatever the other threads use. Raises where
    ``_can_limit_threads`` says no."""
    torch.get_num_threads()  # on the first call PyTorch sets a new thread's count to the global one
    library = torch_library()
    library.omp_set_num_threads(count)
    if torch.backends.mkl.is_available():
        library.MKL_Set_Num_Threads_Local(count)


@cache
def _can_limit_threads() -> bool:
    """Returns whether one thread can be limited without affecting the others; tried once."""
    found: list[bool] = []

    def attempt() -> None:
        try:
            _limit_this_thread(1)
        except (StopIteration, OSError, AttributeError):  # no such file, cannot be opened, no such function
            found.append(False)
        else:
            found.append(torch.get_num_threads() == 1)

    before = torch.get_num_threads()
    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    return found == [True] and torch.get_num_threads() == before


def get_num_threads() -> int:
    return torch.get_num_threads()
