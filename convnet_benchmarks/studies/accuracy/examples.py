"""Labelled images, wherever they come from."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Examples:
    """``image(i)`` is example i as the net takes it: planes, height, width, float32. Labels count from 0."""

    names: Sequence[str]
    labels: Sequence[int]
    image: "Callable[[int], Tensor]"

    def __len__(self) -> int:
        return len(self.labels)
