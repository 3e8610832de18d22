"""How many threads PyTorch computes with, and what several threads count together."""

import threading

import torch
from torch import Tensor

from lua_compat.kernels.system import get_num_cores
from nets.engine.workers import can_limit_threads, limit_this_thread

__all__ = ["add_atomically", "get_num_threads"]
SANDBOXED = ["get_num_threads"]

# Threads of all Lua states count one after the other.
_counting = threading.Lock()


def set_num_threads(count: float) -> None:
    """Sets at most as many as there are cores: old scripts ask for eight, and kernels would take turns."""
    torch.set_num_threads(max(1, min(int(count), get_num_cores())))


def set_num_threads_here(count: float) -> None:
    """Sets the threads as ``set_num_threads`` for the calling thread alone, and for threads made later."""
    wanted = max(1, min(int(count), get_num_cores()))
    if can_limit_threads():
        limit_this_thread(wanted)
    else:
        torch.set_num_threads(wanted)


def get_num_threads() -> int:
    return torch.get_num_threads()


def add_atomically(counter: Tensor, value: int) -> int:
    """Adds ``value`` to the one element of ``counter``, of any thread's; returns what it was before."""
    with _counting:
        before = int(counter)
        counter.fill_(before + value)
        return before
