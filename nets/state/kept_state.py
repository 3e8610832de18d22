"""Keeps what a pass may change in a module besides its gradients: buffers, attributes, random numbers, and
parameters."""

import operator
import random
import sys
from collections import deque
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn
from torch.jit import ScriptModule
from torch.nn.parameter import is_lazy
from torch.utils._pytree import tree_flatten

from convnet_benchmarks.nets.hooks import hook_on
from convnet_benchmarks.nets.programs import is_known_code, is_program

_BUILT_OF = ("_parameters", "_modules")
_IN_WORDS = {"_buffers": "a buffer", "_parameters": "a parameter"}
_OF_FX = "_tensor_constant"  # what torch.fx calls a tensor that it finds


class KeptState:
    """A module's buffers and attributes, with what is in their lists, dicts, sets, tensors and generators,
    and the generators of random numbers of PyTorch, Python and NumPy. A ``with`` block restores them.

    ``parameters``: theirs, too, if a forward may write to them; it takes a copy of them all.
    Parts that get modules or parameters meanwhile (lazy ones, in their first pass) stay as they have become.
    """

    def __init__(self, module: nn.Module, *, parameters: bool = False) -> None:
        parts = list(module.named_modules())
        seen = {id(part) for _, part in parts}
        if not (parameters and _may_write_parameters(module)):
            seen.update(map(id, module.parameters()))
        self._parts = [_Part(name, part, seen) for name, part in parts]
        self._generators = [_Content(torch.default_generator, _TORCHS), _Content(random, _PYTHONS)]
        if (numbers := sys.modules.get("numpy.random")) is not None:
            self._generators.append(_Content(numbers, _NUMPYS))

    def changes(self) -> tuple[str, nn.Module | None, str] | None:
        """Returns the name of a part that has changed, the part if it is known, and how; None if none has."""
        for kept in self._parts:
            if found := kept.change():
                return kept.name, kept.part, f"its forward changes {found}"
        if not all(one.same() for one in self._generators):
            return "", None, "its forward draws numbers of its own"
        return None

    def restore(self) -> None:
        for part in self._parts:
            part.restore()
        for generator in self._generators:
            generator.restore()

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self.restore()


def _may_write_parameters(module: nn.Module) -> bool:
    """Returns whether a forward may write to parameters: code of others, or an embedding that limits its
    rows' norms."""
    return any(
        is_program(part)
        or hook_on(part)
        or not is_known_code(type(part).__module__)
        or getattr(part, "max_norm", None) is not None
        for part in module.modules()
    )


class _Part:
    """The state of one part of a module, without the parts in it. TorchScript keeps attributes to itself."""

    def __init__(self, name: str, part: nn.Module, seen: set[int]) -> None:
        self.name, self.part = name, part
        self._type = type(part)
        self._built_of = (
            []
            if isinstance(part, ScriptModule)
            else [_Content(getattr(part, name), _DICT) for name in _BUILT_OF]
        )
        self._vars: dict[str, Any] = {} if isinstance(part, ScriptModule) else vars(part)
        self._attributes = dict(self._vars)
        held = [(key, value) for key, value in self._vars.items() if key not in _BUILT_OF]
        held += [("_buffers", buffer) for buffer in part.buffers(recurse=False)]
        held += [("_parameters", parameter) for parameter in part.parameters(recurse=False)]
        scripted = _scripted_names(part)
        held += [(name, _SCRIPTED.read((part, name))) for name in scripted]
        self._contents: list[tuple[str, _Content | _Numbers]]
        self._contents = [(key, content) for key, value in held for content in _contents(value, part, seen)]
        self._contents += [(name, _Content((part, name), _SCRIPTED)) for name in scripted]

    def _has_grown(self) -> bool:
        """Returns whether it has got modules or parameters, as lazy ones do."""
        return type(self.part) is not self._type or any(one.has_grown() for one in self._built_of)

    def change(self) -> str:
        """Returns what has changed; empty if nothing has."""
        if not all(one.same() for one in self._built_of):
            return "its parts"
        names = {**self._attributes, **self._vars}
        own = [name for name in names if self._attributes.get(name) is not self._vars.get(name)]
        own += [name for name, content in self._contents if not content.same()]
        name = next((name for name in own if not name.startswith(_OF_FX)), "")
        return _IN_WORDS.get(name, name and f"the attribute {name}")

    def restore(self) -> None:
        if self._has_grown():
            return
        for content in (*self._built_of, *(content for _, content in self._contents)):
            content.restore()
        for name in self._vars.keys() - self._attributes.keys():
            del self._vars[name]
        self._vars.update(self._attributes)


@dataclass(frozen=True)
class _Kind:
    """A kind of value that can change: how its content is copied, put back, and compared."""

    read: Callable[[Any], Any]
    write: Callable[[Any, Any], object]
    equal: Callable[[Any, Any], bool] = operator.eq


def _all_are(now: Collection[Any], before: Collection[Any]) -> bool:
    return len(now) == len(before) and all(map(operator.is_, now, before))


def _scripted_names(part: nn.Module) -> list[str]:
    """Returns the names of the attributes, besides parameters, that TorchScript keeps to itself."""
    known = getattr(part, "_concrete_type", None)  # frozen programs have none, and no attributes
    return [name for name, (_, parameter) in known.get_attributes().items() if not parameter] if known else []


def _leaves_alike(now: Any, before: Any) -> bool:
    """Compares values of TorchScript's: the same tensors, and equal numbers, in the same lists and dicts."""
    (ones, structure), (others, other_structure) = tree_flatten(now), tree_flatten(before)
    return structure == other_structure and all(
        one is other or (not isinstance(one, Tensor) and one == other)
        for one, other in zip(ones, others, strict=True)
    )


def _printed_alike(now: Any, before: Any) -> bool:
    """Compares states of NumPy, whose arrays are cut when printed, but not the place in them."""
    return str(now) == str(before)


_LIST = _Kind(list, lambda value, was: (value.clear(), value.extend(was)), _all_are)
_SET = _Kind(set, lambda value, was: (value.clear(), value.update(was)))
_DICT = _Kind(
    dict,
    lambda value, was: (value.clear(), value.update(was)),
    lambda now, was: list(now) == list(was) and _all_are(now.values(), was.values()),
)
_ARRAY = _Kind(
    lambda value: value.copy(),
    lambda value, was: value.__setitem__(..., was),
    lambda now, was: now.tobytes() == was.tobytes(),
)
# Of an attribute of a program, given with its name; read, all but a tensor is a copy.
_SCRIPTED = _Kind(
    lambda of: of[0]._c.getattr(of[1]), lambda of, was: of[0]._c.setattr(of[1], was), _leaves_alike
)
# Of generators; Python's and NumPy's may be the modules.
_PYTHONS = _Kind(lambda value: value.getstate(), lambda value, was: value.setstate(was))
_TORCHS = _Kind(lambda value: value.get_state(), lambda value, was: value.set_state(was), torch.equal)
_NUMPYS = _Kind(lambda value: value.get_state(), lambda value, was: value.set_state(was), _printed_alike)
_NUMPYS_NEW = _Kind(
    lambda value: value.bit_generator.state,
    lambda value, was: setattr(value.bit_generator, "state", was),
    _printed_alike,
)


_KINDS: list[tuple[Any, _Kind]] = [
    (dict, _DICT),
    ((list, deque), _LIST),
    (set, _SET),
    (torch.Generator, _TORCHS),
    (random.Random, _PYTHONS),
]


def _numpys_kinds() -> Iterator[tuple[Any, _Kind]]:
    if (numpy := sys.modules.get("numpy")) is not None:
        yield numpy.ndarray, _ARRAY
    if (numbers := sys.modules.get("numpy.random")) is not None:
        yield from ((numbers.RandomState, _NUMPYS), (numbers.Generator, _NUMPYS_NEW))


def _kind(value: Any) -> _Kind | None:
    """Returns the kind of a value other than a tensor; None for one that cannot change, or not be copied."""
    kinds = chain(_KINDS, _numpys_kinds())
    return next((kind for types, kind in kinds if isinstance(value, types)), None)


class _Content:
    """The content of ``value``."""

    def __init__(self, value: Any, kind: _Kind) -> None:
        self._value, self._kind = value, kind
        self._was = kind.read(value)

    def same(self) -> bool:
        return self._kind.equal(self._kind.read(self._value), self._was)

    def has_grown(self) -> bool:
        """Returns whether a dict has values where it had none."""
        return any(self._was.get(key) is None for key, value in self._value.items() if value is not None)

    def restore(self) -> None:
        if not self.same():
            self._kind.write(self._value, self._was)


class _Numbers:
    """A tensor's numbers."""

    def __init__(self, tensor: Tensor) -> None:
        self._tensor, self._was = tensor, tensor.detach().clone()
        self._told = self._now()

    def _now(self) -> tuple[Any, ...]:
        return None if self._tensor.is_inference() else self._tensor._version, self._tensor.shape

    def same(self) -> bool:
        """Returns whether nothing was written to it: not every write is counted (``.data``, batch
        normalisation's)."""
        one, was = self._tensor, self._was
        if self._now() != self._told:
            return False
        with suppress(RuntimeError):  # PyTorch does not compare all: sparse ones, those without memory
            return torch.equal(one, was) or torch.allclose(one, was, rtol=0, atol=0, equal_nan=True)
        return True

    def restore(self) -> None:
        tensor = self._tensor
        if self.same():
            return
        if tensor.shape != self._was.shape:
            tensor.data = self._was.clone()
        else:
            with torch.no_grad():
                tensor.copy_(self._was)
        self._told = self._now()


def _contents(value: Any, part: nn.Module, seen: set[int]) -> Iterator[_Content | _Numbers]:
    """Yields what can change in a value that ``part`` has, and in what that holds; each once.

    Objects are looked into if their class is from the same file as that of the part. What lies further off
    may be anything, such as the state of an interpreter, and be held by others.
    """
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, (type, str, int, float)):
            continue
        seen.add(id(one))
        if isinstance(one, Tensor):
            if not is_lazy(one):
                yield _Numbers(one)
            continue
        kind = _kind(one)
        if kind is not None:
            yield _Content(one, kind)
        if isinstance(one, dict):
            waiting += one.values()
        elif isinstance(one, (list, tuple, deque, set)):
            waiting += one
        elif (isinstance(one, nn.Module) or _same_file(one, part)) and hasattr(one, "__dict__"):
            waiting.append(vars(one))


def _same_file(one: Any, other: Any) -> bool:
    return type(one).__module__ == type(other).__module__
