"""Transformed copies of a weight, kept until the weight changes. The parameter remains the single source of
truth."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

import torch
from torch import Tensor

Copy = TypeVar("Copy", Tensor, list[Tensor])


class StaleWeightError(RuntimeError):
    """A weight was changed without PyTorch's version counter: through ``.data``, numpy, a memory map."""


class CachedWeight(Generic[Copy]):
    """The result of ``transform(weight, out)``, recomputed when the weight's version or address has changed,
    or the number of threads, which affects rounding.

    ``transform`` gets the last result as ``out`` (None the first time), overwrites it, and returns it. It is
    passed to every :meth:`get` and not stored: a reference to its kernel would keep that from being freed at
    once. Writes that bypass PyTorch's version counter are not noticed: call :meth:`invalidate` after them, or
    set ``checked`` to compare on every use and raise :class:`StaleWeightError`.
    """

    def __init__(self) -> None:
        self._result: Copy | None = None
        self._made_from: tuple[int, int, int] | None = None
        self.checked = False
        self._lock = threading.Lock()

    def get(self, weight: Tensor, transform: Callable[[Tensor, Copy | None], Copy]) -> Copy:
        with self._lock:  # one thread makes the copy, the others wait
            return self._get(weight, transform)

    def _get(self, weight: Tensor, transform: Callable[[Tensor, Copy | None], Copy]) -> Copy:
        source = (weight._version, weight.data_ptr(), torch.get_num_threads())
        if self._result is None or source != self._made_from:
            self._result = transform(weight, self._result)
            self._made_from = source
        elif self.checked and not _equal(transform(weight, None), self._result):
            raise StaleWeightError(
                "a weight changed without PyTorch noticing (a write through .data, numpy or a memory map): "
                "call invalidate() after such a write"
            )
        return self._result

    def invalidate(self) -> None:
        """Makes the next use transform the weight again."""
        self._made_from = None


def _equal(one: Tensor | list[Tensor], other: Tensor | list[Tensor]) -> bool:
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        if one.is_mkldnn:  # in oneDNN's own layout, which cannot be compared
            one, other = one.to_dense(), other.to_dense()
        return torch.equal(one, other)
    return all(map(_equal, one, other))
