"""Threads that each do a share of a kernel's work by themselves.

PyTorch, its BLAS and oneDNN divide every single operation among all threads and wait for the slowest each
time; what one core has written, another reads in the next operation. A worker thread runs whole series of
operations on one core, and what they pass to each other stays in that core's caches.
"""

import ctypes
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from itertools import pairwise
from pathlib import Path

import torch

from nets.engine.kernels.compiled.recording import note_other_work


class Workers:
    """``count`` threads, made when first needed, that run mathematics on one core each.

    ``count`` is 1, and no thread is ever made, where this build of PyTorch does not let a thread choose.
    """

    def __init__(self, count: int) -> None:
        self.count = count if count > 1 and can_limit_threads() else 1
        self._pool: ThreadPoolExecutor | None = None

    def shares(self, count: int) -> list[slice]:
        """Divides ``count`` things among the workers, each of whom gets some if there are as many."""
        bounds = [count * i // self.count for i in range(self.count + 1)]
        return [slice(low, high) for low, high in pairwise(bounds) if high > low]

    def run(self, jobs: Sequence[Callable[[], None]]) -> None:
        """Runs ``jobs``, one per worker, at the same time; the first error of one is raised when all are
        done. A caller that has itself been limited to one thread runs them one after the other."""
        if torch.get_num_threads() == 1:
            for job in jobs:
                job()
            return
        note_other_work()
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.count, "nets-engine", limit_this_thread)
        futures = [self._pool.submit(_without_gradients, job) for job in jobs]
        wait(futures)
        for future in futures:
            future.result()


def _without_gradients(job: Callable[[], None]) -> None:
    with torch.no_grad():  # a thread starts with gradients on
        job()


def limit_this_thread(count: int = 1) -> None:
    """Limits this thread to ``count`` cores, whatever the other threads use. Raises where
    ``can_limit_threads`` says no."""
    torch.get_num_threads()  # the first question makes PyTorch give a new thread the count of all
    library = torch_library()
    library.omp_set_num_threads(count)
    if torch.backends.mkl.is_available():
        library.MKL_Set_Num_Threads_Local(count)


@cache
def torch_library() -> ctypes.CDLL:
    """Opens PyTorch's CPU library, and through it the OpenMP that it is linked with."""
    return ctypes.CDLL(str(next((Path(torch.__file__).parent / "lib").glob("*torch_cpu.*"))))


@cache
def can_limit_threads() -> bool:
    """Returns whether a thread can be kept to one core without a change for the others; tried once."""
    found: list[bool] = []

    def attempt() -> None:
        try:
            limit_this_thread()
        except (StopIteration, OSError, AttributeError):  # no such file, not to be opened, no such function
            found.append(False)
        else:
            found.append(torch.get_num_threads() == 1)

    before = torch.get_num_threads()
    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    return found == [True] and torch.get_num_threads() == before
