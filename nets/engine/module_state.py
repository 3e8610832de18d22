"""Checks whether a module, and how PyTorch runs it, is still as a plan found it.

A run of a plan leaves the caches full of its own data, so that the checks before the next run read from
memory, and a step of Python takes ten times as long as usual. The loops here are therefore those of C
functions.
"""

from collections.abc import Iterable, Sequence
from itertools import chain
from operator import attrgetter, is_, itemgetter
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import Parameter

_VALUES = dict[str, Any].values
_ADDRESS, _VERSION = Tensor.data_ptr, Tensor._version.__get__  # type: ignore[attr-defined]
_TRAINING = itemgetter("training")
_GRADIENT, _WANTED = attrgetter("grad"), attrgetter("requires_grad")


class Modes:
    """The modes of a module and its parts, training or not, as of construction."""

    def __init__(self, module: nn.Module) -> None:
        parts = [vars(part) for part in module.modules()]
        self._parts = [part for part in parts if "training" in part]  # otherwise a class computes it
        self._training = self._now()

    def _now(self) -> list[bool]:
        return list(map(_TRAINING, self._parts))

    def changed(self) -> bool:
        return self._now() != self._training


class Contents:
    """The parameters and buffers of a module and its parts, with their addresses and versions.

    For integer tensors (counts of batches) and sparse ones only their identities. ``fixed``: those that a
    plan holds itself, so that none may be replaced.
    """

    def __init__(self, module: nn.Module, fixed: Iterable[Tensor] = ()) -> None:
        held = (held for part in module.modules() for held in (part._parameters, part._buffers))
        self._holders = [tensors for tensors in held if tensors]
        self._fixed = {id(tensor): tensor for tensor in fixed}
        self._places = self._fixed_among(chain.from_iterable(map(_VALUES, self._holders)))
        self._tensors: list[Tensor | None] = []
        self._computed_with: list[Tensor] = []
        self._addresses: Sequence[int] = ()
        self._versions: Sequence[int] = ()

    def changed(self) -> bool:
        """Returns whether anything has changed since the last call; True on the first call.

        Raises RuntimeError if one of the fixed tensors was replaced.
        """
        tensors = list(chain.from_iterable(map(_VALUES, self._holders)))
        same = len(tensors) == len(self._tensors) and all(map(is_, tensors, self._tensors))
        if not same:
            if self._fixed_among(tensors) < self._places:
                raise RuntimeError("a parameter or buffer of the module was replaced: compile it again")
            self._tensors = tensors
            self._computed_with = [
                tensor
                for tensor in tensors
                if tensor is not None and tensor.is_floating_point() and tensor.layout == torch.strided
            ]
        addresses = list(map(_ADDRESS, self._computed_with))
        versions = list(map(_VERSION, self._computed_with))
        same = same and addresses == self._addresses and versions == self._versions
        self._addresses, self._versions = addresses, versions
        return not same

    def _fixed_among(self, tensors: Iterable[Tensor | None]) -> int:
        return sum(id(tensor) in self._fixed for tensor in tensors)


class Threads:
    """The number of threads that PyTorch's operators use: kernels divide their work by it, and some allocate
    memory for each."""

    def __init__(self) -> None:
        self._count = torch.get_num_threads()

    def changed(self) -> bool:
        """Returns whether it has changed since the last call."""
        before, self._count = self._count, torch.get_num_threads()
        return before != self._count


class CountedBatches:
    """The counts of training batches in a module's batch normalisations.

    PyTorch increments the version counters of these, but not those of the running statistics.
    """

    def __init__(self, module: nn.Module) -> None:
        self._counts = [buffer for buffer in module.buffers() if not buffer.is_floating_point()]
        self._versions = self._now()

    def _now(self) -> list[int]:
        return list(map(_VERSION, self._counts))

    def changed(self) -> bool:
        """Returns whether a count has been written to since the last call."""
        before, self._versions = self._versions, self._now()
        return before != self._versions


class Gradients:
    """The ``.grad`` of some parameters, with their addresses, and whether they are required; not their
    contents."""

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        self._parameters = parameters
        self._gradients: list[Tensor | None] = []
        self._told: tuple[object, ...] = ()

    def changed(self) -> bool:
        """Returns whether anything has changed since the last call; True on the first call."""
        gradients = list(map(_GRADIENT, self._parameters))
        same = len(gradients) == len(self._gradients) and all(map(is_, gradients, self._gradients))
        addresses = [gradient.data_ptr() for gradient in gradients if gradient is not None]
        told = addresses, list(map(_WANTED, self._parameters))
        same = same and told == self._told
        self._gradients, self._told = gradients, told
        return not same
