"""Inference of a batch in pieces of some images, whose activations stay in the cores' caches."""

import time
from typing import Protocol, TypeVar

from torch import Tensor

# Fewer images are not worth synchronizing all cores after every layer; more overflow the second-level caches.
IMAGES_OF_PIECE = 4

_FIRST_CALLS = 3  # before timing: the plan records itself
_CALLS = 3
_WORTH = 0.98  # of the whole batch's time: a smaller gain is within the timings' noise


class Plan(Protocol):
    """The part of a plan for inference that is needed here."""

    def updateOutput(self, input: Tensor) -> Tensor: ...

    def close(self) -> None: ...


SomePlan = TypeVar("SomePlan", bound=Plan)


def are_pieces(shape: tuple[int, ...]) -> bool:
    """Returns whether an input of this shape consists of several whole pieces."""
    return len(shape) == 4 and shape[0] > IMAGES_OF_PIECE and shape[0] % IMAGES_OF_PIECE == 0


def faster(whole: SomePlan, in_pieces: SomePlan, input: Tensor) -> SomePlan:
    """Returns one of two plans for inference on inputs like ``input``, the one that takes less time, and
    closes the other."""
    plans = (whole, in_pieces)
    seconds = [float("inf")] * len(plans)
    for call in range(_FIRST_CALLS + _CALLS):
        for number, plan in enumerate(plans):
            started = time.perf_counter()
            plan.updateOutput(input)
            if call >= _FIRST_CALLS:
                seconds[number] = min(seconds[number], time.perf_counter() - started)
    chosen, other = plans if seconds[0] * _WORTH <= seconds[1] else plans[::-1]
    other.close()
    return chosen
