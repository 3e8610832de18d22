"""Transformed copies of a weight, kept until the weight changes. The parameter stays the single truth."""

from collections.abc import Callable

import torch
from torch import Tensor


class StaleWeightError(RuntimeError):
    """A weight was changed in a way that PyTorch does not count: through ``.data``, numpy, a memory map."""


class CachedWeight:
    """``transform(weight, out)``, made again when the weight's version or memory has changed.

    ``transform`` gets the last result as ``out`` (None the first time), to be filled again, and returns it.
    Writes that bypass PyTorch's version counter are not seen: call :meth:`invalidate` after them, or set
    ``checked`` to compare on every use and raise :class:`StaleWeightError`.
    """

    def __init__(self, transform: Callable[[Tensor, Tensor | None], Tensor]) -> None:
        self._transform = transform
        self._result: Tensor | None = None
        self._made_from: tuple[int, int] | None = None
        self.checked = False

    def get(self, weight: Tensor) -> Tensor:
        source = (weight._version, weight.data_ptr())
        if self._result is None or source != self._made_from:
            self._result = self._transform(weight, self._result)
            self._made_from = source
        elif self.checked and not torch.equal(self._transform(weight, None), self._result):
            raise StaleWeightError(
                "a weight changed without PyTorch noticing (a write through .data, numpy or a memory map): "
                "call invalidate() after such a write"
            )
        return self._result

    def invalidate(self) -> None:
        """Makes the next use transform the weight again."""
        self._made_from = None
