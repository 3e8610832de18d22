"""Makes many calls of compiled code in one (sequence.c)."""

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from convnet_benchmarks.nets.engine.kernels.compiled import compiling, library
from convnet_benchmarks.nets.engine.kernels.compiled.recording import Call, count_write
from convnet_benchmarks.nets.torch_library import torch_library

_SOURCE = Path(__file__).with_suffix(".c")

_Long, _Pointer = ctypes.c_long, ctypes.c_void_p


class _Call(ctypes.Structure):
    _fields_ = [("function", _Pointer), ("job", _Pointer), ("next", _Pointer)]


class _Job(ctypes.Structure):
    _fields_ = [
        ("calls", ctypes.POINTER(_Call)),
        ("count", _Long),
        ("threads", _Pointer),
        ("arrived", _Long),
        ("done", _Long),
    ]


class CallsInTurn:
    """Runs ``calls``, functions with their jobs, each on all threads after the one before has ended.

    Their jobs end in ``next``, the unit of work that nobody has taken. ``written``: tensors of the module
    that they write to. Raises :class:`NotCompiled`.
    """

    def __init__(self, calls: Sequence[Call], written: Sequence[Tensor] = ()) -> None:
        self._written = list(written)
        self._run = compiled().run_calls
        self._kept = list(calls)  # keeps the memory that the addresses below point to
        self._job = _Job(
            calls=(_Call * len(calls))(*map(_call, calls)),
            count=len(calls),
            threads=_address(torch_library().omp_get_num_threads),
        )

    def __call__(self) -> None:
        self._job.arrived = self._job.done = 0
        library.run_on_all_threads(self._run, self._job)
        count_write(*self._written)


def _call(call: Call) -> _Call:
    job: Any = call.job
    job.next = 0
    start = ctypes.addressof(job)
    return _Call(_address(call.function), start, start + type(job).next.offset)


def _address(function: Any) -> int | None:
    return ctypes.cast(function, _Pointer).value


def compiled() -> ctypes.CDLL:
    """Returns the library of sequence.c. Raises :class:`NotCompiled`."""
    return compiling.library(_SOURCE.read_text())
