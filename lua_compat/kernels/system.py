"""Threads, clocks and terminals."""

import os
import time

import torch

__all__ = [
    "get_num_cores", "get_num_threads", "is_terminal", "list_folder", "make_folder", "path_kind",
    "process_clock", "real_path", "remove_folder", "set_num_threads", "sleep", "wall_clock",
    "working_folder",
]  # fmt: skip


def set_num_threads(count: float) -> None:
    """No more than there are cores: old scripts ask for eight anywhere, and kernels would wait for turns."""
    torch.set_num_threads(max(1, min(int(count), get_num_cores())))


def get_num_threads() -> int:
    return torch.get_num_threads()


def get_num_cores() -> int:
    return os.cpu_count() or 1


def wall_clock() -> float:
    """Seconds since the epoch."""
    return time.time()


def process_clock() -> tuple[float, float, float]:
    """Seconds on a steady clock, and of this process's time in user and in system code."""
    times = os.times()
    return time.perf_counter(), times.user, times.system


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def is_terminal(descriptor: int) -> bool:
    return os.isatty(descriptor)


def path_kind(path: str) -> str | None:
    """'file', 'directory', or None where there is nothing."""
    if os.path.isdir(path):
        return "directory"
    return "file" if os.path.exists(path) else None


def real_path(path: str) -> str:
    """The absolute path, . and .. worked out."""
    return os.path.abspath(path)


def working_folder() -> str:
    return os.getcwd()


def list_folder(path: str) -> str | None:
    """The names in a folder, with . and .., each ended by a zero byte; None if it cannot be read."""
    try:
        return "".join(name + "\0" for name in [".", "..", *sorted(os.listdir(path))])
    except OSError:
        return None


def make_folder(path: str) -> str | None:
    """Makes a folder and those above it; what went wrong, or None."""
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        return str(error)
    return None


def remove_folder(path: str) -> str | None:
    """Removes an empty folder; what went wrong, or None."""
    try:
        os.rmdir(path)
    except OSError as error:
        return str(error)
    return None
