"""Checks whether a module, and how PyTorch runs it, is still as a plan found it.

A run of a plan leaves the caches full of its own data, so that the checks before the next run read from
memory, and a step of Python takes ten times as long as usual. The loops here are therefore those of C
functions.
"""

import random
import sys
from collections.abc import Sequence
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

    For integer tensors (counts of batches) only their identities.
    """

    def __init__(self, module: nn.Module) -> None:
        held = (held for part in module.modules() for held in (part._parameters, part._buffers))
        self._holders = [tensors for tensors in held if tensors]
        self._tensors: list[Tensor | None] = []
        self._computed_with: list[Tensor] = []
        self._addresses: Sequence[int] = ()
        self._versions: Sequence[int] = ()

    def changed(self) -> bool:
        """Returns whether anything has changed since the last call; True on the first call."""
        tensors = list(chain.from_iterable(map(_VALUES, self._holders)))
        same = len(tensors) == len(self._tensors) and all(map(is_, tensors, self._tensors))
        if not same:
            self._tensors = tensors
            self._computed_with = [
                tensor for tensor in tensors if tensor is not None and tensor.is_floating_point()
            ]
        addresses = list(map(_ADDRESS, self._computed_with))
        versions = list(map(_VERSION, self._computed_with))
        same = same and addresses == self._addresses and versions == self._versions
        self._addresses, self._versions = addresses, versions
        return not same


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


_INTERNAL = ("_parameters", "_buffers", "_modules")
_OF_FX = "_tensor_constant"  # what torch.fx calls a tensor that it finds


class _Generators:
    """The states of the generators of random numbers, those of PyTorch, Python and NumPy."""

    def __init__(self) -> None:
        numpy = sys.modules.get("numpy")
        self._torchs, self._pythons = torch.get_rng_state(), random.getstate()
        self._numpys = None if numpy is None else numpy.random.get_state()

    def drawn(self) -> bool:
        """Returns whether a number has been drawn since construction."""
        now = _Generators()
        numpys = [None if one is None else str(one[1:3]) for one in (self._numpys, now._numpys)]
        same = torch.equal(self._torchs, now._torchs) and self._pythons == now._pythons
        return not same or numpys[0] != numpys[1]

    def restore(self) -> None:
        torch.set_rng_state(self._torchs)
        random.setstate(self._pythons)
        if self._numpys is not None:
            sys.modules["numpy"].random.set_state(self._numpys)


class state_kept:
    """Restores the module's buffers (running statistics) and the random generators afterwards."""

    def __init__(self, module: nn.Module) -> None:
        self._module = module

    def __enter__(self) -> None:
        self._buffers = [(buffer, buffer.clone()) for buffer in self._module.buffers()]
        self._generators = _Generators()

    def __exit__(self, *_: object) -> None:
        with torch.no_grad():
            for buffer, before in self._buffers:
                buffer.copy_(before)
        self._generators.restore()


class OwnState:
    """A module's buffers and attributes, and the state of the generators of random numbers."""

    def __init__(self, module: nn.Module) -> None:
        self._parts = list(module.named_modules())
        self._buffers = [
            (name, part, buffer, buffer._version, buffer.clone())
            for name, part in self._parts
            for buffer in part._buffers.values()
            if buffer is not None
        ]
        self._attributes = [dict(vars(part)) for _, part in self._parts]
        self._generators = _Generators()

    def changes(self) -> tuple[str, nn.Module | None, str] | None:
        """Returns the name of a part that has changed, the part if it is known, and how; None if none has."""
        for name, part, buffer, version, _ in self._buffers:
            if buffer._version != version:
                return name, part, "its forward changes a buffer"
        for (name, part), before in zip(self._parts, self._attributes, strict=True):
            now = vars(part)
            for key in {**before, **now}:
                known = key in _INTERNAL or key.startswith(_OF_FX)
                if not known and before.get(key) is not now.get(key):
                    return name, part, f"its forward changes the attribute {key}"
        if self._generators.drawn():
            return "", None, "its forward draws numbers of its own"
        return None

    def restore(self) -> None:
        with torch.no_grad():
            for _, _, buffer, version, content in self._buffers:
                if buffer._version != version:
                    buffer.copy_(content)
        for (_, part), before in zip(self._parts, self._attributes, strict=True):
            for key in [key for key in vars(part) if key not in before and not key.startswith(_OF_FX)]:
                del vars(part)[key]
            vars(part).update(before)
        self._generators.restore()
