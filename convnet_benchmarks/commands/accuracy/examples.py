"""Labelled images, wherever they come from."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from convnet_benchmarks.errors import UserError

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


def check_labels(examples: Examples, outputs: int) -> None:
    """Raises UserError if a label has no output of the net."""
    for name, label in zip(examples.names, examples.labels, strict=True):
        if label >= outputs:
            raise UserError(f"{name}: label {label}, but the net has outputs 0 to {outputs - 1} only")
