"""Modules and criterions with the interface of torch.legacy.nn: their fields are Python's, Lua computes."""

import copy
import functools
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from lua_compat.legacy.classes import FACTS, LUA_ARGUMENTS
from lua_compat.legacy.link import Link
from lua_compat.runtime.errors import LuaError

_TENSOR_TYPES = {
    "torch.HalfTensor": torch.float16,
    "torch.FloatTensor": torch.float32,
    "torch.DoubleTensor": torch.float64,
}
_COMPUTING = (
    "updateOutput",
    "updateGradInput",
    "accGradParameters",
    "updateParameters",
    "zeroGradParameters",
)


# Python's classes by the names of Lua's.
CLASSES: dict[str, type] = {}


class Object:
    """An object of nn. Each of its attributes is a field of the Lua object that computes."""

    _lua_class = "Module"  # the name of the class of nn

    def __init__(self, *arguments: Any, **named: Any) -> None:
        facts = FACTS[self._lua_class]
        given = facts.bound(arguments, named)
        given, fields = facts.apart(given)
        if self._lua_class in LUA_ARGUMENTS:
            given = LUA_ARGUMENTS[self._lua_class](*given)
        while given and given[-1] is None:
            given.pop()
        state = link()
        number = _number_of(self, state)
        for value in given:
            _push_all(value, state)
        kind = "torch.FloatTensor" if torch.get_default_dtype() == torch.float32 else "torch.DoubleTensor"
        state.ask("construct", number, kind, facts.typename, *state.encoded(*given))
        _pull(self, state)
        self.__dict__.update(fields)

    def _call(self, method: str, *arguments: Any) -> Any:
        state = link()
        _push_all(self, state)
        for argument in arguments:
            _push_all(argument, state)
        described = state.encoded(*arguments)
        results = state.call(_number_of(self, state), method, *described)
        _pull(self, state)
        return results[0] if results else None

    def __repr__(self) -> str:
        """Returns what Torch7 prints; for a subclass in Python, its name."""
        name = f"nn.{type(self).__name__}"
        if type(self) is not CLASSES.get(f"nn.{self._lua_class}"):
            return name
        try:
            return str(self._call("__tostring__"))
        except LuaError:  # a field is missing
            return name

    def cuda(self, device: Any = None) -> Any:
        raise RuntimeError(
            f"{type(self).__name__}.cuda(): these modules compute on the CPU; leave the call out"
        )

    def type(self, type: Any = None, tensorCache: Any = None) -> Any:
        """Returns the type of its tensors, or converts them and returns itself."""
        if type is None:
            return self.__dict__.get("_type", "torch.FloatTensor")
        name = type if isinstance(type, str) else f"torch.{type.__name__}"
        if name not in _TENSOR_TYPES:
            raise ValueError(f"type must be one of {', '.join(_TENSOR_TYPES)}, not {name}")
        _convert(self, name, {})
        return self

    def half(self) -> Any:
        return self.type("torch.HalfTensor")

    def float(self) -> Any:
        return self.type("torch.FloatTensor")

    def double(self) -> Any:
        return self.type("torch.DoubleTensor")

    def cpu(self) -> Any:
        return self

    def clone(self) -> Any:
        return copy.deepcopy(self)


class Module(Object):
    """A layer. A subclass may compute in Python: Lua's containers call its methods."""

    gradInput: Any
    output: Any

    def forward(self, input: Any) -> Any:
        return self.updateOutput(input)

    def updateOutput(self, input: Any) -> Any:
        return self._call("updateOutput", input)

    def updateGradInput(self, input: Any, gradOutput: Any) -> Any:
        return self._call("updateGradInput", input, gradOutput)

    def accGradParameters(self, input: Any, gradOutput: Any, scale: float = 1) -> None:
        self._call("accGradParameters", input, gradOutput, scale)

    def backward(self, input: Any, gradOutput: Any, scale: float = 1) -> Any:
        return self._call("backward", input, gradOutput, scale)

    def backwardUpdate(self, input: Any, gradOutput: Any, lr: float) -> Any:
        self._call("backwardUpdate", input, gradOutput, lr)
        return self.gradInput

    def accUpdateGradParameters(self, input: Any, gradOutput: Any, lr: float) -> None:
        self._call("accUpdateGradParameters", input, gradOutput, lr)

    def updateParameters(self, learningRate: float) -> None:
        self._call("updateParameters", learningRate)

    def zeroGradParameters(self) -> None:
        found = self.parameters()
        for gradient in found[1] if found else ():
            gradient.zero_()

    def reset(self, stdv: Any = None) -> Any:
        self._call("reset", stdv)
        return self

    def clearState(self) -> Any:
        self._call("clearState")
        return self

    def training(self) -> None:
        for module in self.listModules():
            module.train = True

    def evaluate(self) -> None:
        for module in self.listModules():
            module.train = False

    def parameters(self) -> Any:
        """Returns the parameters and their gradients, two lists; None if there are none."""
        if "modules" in self.__dict__:
            found = [pair for module in self.modules if (pair := module.parameters())]
            weights = [weight for pair in found for weight in pair[0]]
            return (weights, [gradient for pair in found for gradient in pair[1]]) if weights else None
        names = [name for name in ("weight", "bias") if isinstance(self.__dict__.get(name), Tensor)]
        if not names:
            return None
        gradients = [self.__dict__.get("grad" + name.capitalize()) for name in names]
        return [self.__dict__[name] for name in names], gradients

    def flattenParameters(self) -> Any:
        """Moves the parameters into one tensor and their gradients into another; returns both."""
        found = self.parameters()
        return None if found is None else (_flattened(found[0]), _flattened(found[1]))

    def _children(self) -> list[Any]:
        return list(self.__dict__.get("modules", ()))

    def listModules(self) -> list[Any]:
        return [self, *(m for child in self._children() for m in _list_of(child))]

    def findModules(self, typename: Any, container: Any = None) -> tuple[list[Any], list[Any]]:
        """Returns the modules of a class (or of a name such as nn.Linear), and the containers they are in."""
        if isinstance(typename, str):
            matches = f"nn.{type(self).__name__}" == typename or str(type(self)) == typename
        else:
            matches = type(self) is typename
        nodes, containers = ([self], [container]) if matches else ([], [])
        for child in self._children():
            if isinstance(child, Module):
                inner = child.findModules(typename, self)
                nodes += inner[0]
                containers += inner[1]
        return nodes, containers

    def apply(self, callback: Callable[[Any], Any]) -> None:
        for module in self.listModules():
            callback(module)

    def replace(self, callback: Callable[[Any], Any]) -> Any:
        """Puts what ``callback`` returns in the place of each module."""
        out = callback(self)
        for place, child in enumerate(self._children()):
            if isinstance(child, Module):
                self.modules[place] = child.replace(callback)
        return out

    def share(self, other: Any, *names: str) -> Any:
        """Lets tensors of these names use another module's memory."""
        for mine, theirs in zip(self.listModules(), other.listModules(), strict=True):
            for name in names:
                if isinstance(mine.__dict__.get(name), Tensor):
                    mine.__dict__[name].data = theirs.__dict__[name].data
        return self

    modules: list[Any]
    train: bool


class Container(Module):
    """A module that holds others, in ``modules``."""

    _lua_class = "Container"

    def __repr__(self) -> str:
        if self._lua_class == "Sequential":
            steps = ["input", *(f"({place})" for place in range(len(self.modules))), "output"]
            lines = [f"[{' -> '.join(steps)}]"]
            lines += [f"({place}): {module!r}" for place, module in enumerate(self.modules)]
        else:
            lines = ["input"]
            for place, module in enumerate(self.modules):
                further = "\n       " if place == len(self.modules) - 1 else "\n  |    "
                lines.append(f"  |`-> ({place}): {module!r}".replace("\n", further))
            lines.append("   ... -> output")
        body = "".join(f"\n{line}" for line in lines).replace("\n", "\n  ")
        return f"nn.{type(self).__name__} {{{body}\n}}"

    def add(self, module: Any) -> Any:
        self.modules.append(module)
        return self

    def get(self, index: int) -> Any:
        return self.modules[index]

    def size(self) -> int:
        return len(self.modules)

    def __len__(self) -> int:
        return len(self.modules)

    def insert(self, module: Any, index: Any = None) -> None:
        self.modules.insert(len(self.modules) if index is None else index, module)

    def remove(self, index: Any = None) -> None:
        self.modules.pop(-1 if index is None else index)

    def applyToModules(self, func: Callable[[Any], Any]) -> None:
        for module in self.modules:
            func(module)


class Criterion(Object):
    """A loss."""

    _lua_class = "Criterion"
    gradInput: Any
    output: Any

    def forward(self, input: Any, target: Any) -> Any:
        return self.updateOutput(input, target)

    def updateOutput(self, input: Any, target: Any) -> Any:
        return self._call("updateOutput", input, target)

    def backward(self, input: Any, target: Any) -> Any:
        return self.updateGradInput(input, target)

    def updateGradInput(self, input: Any, target: Any) -> Any:
        return self._call("updateGradInput", input, target)


class CriterionList(Criterion):
    """A criterion that holds others."""

    criterions: list[Any]
    weights: Any

    def add(self, criterion: Any, weight: float = 1) -> Any:
        self._call("add", criterion, weight)
        return self


# Between Python and Lua


@functools.cache
def link() -> Link:
    """Returns the link of this process; it starts when it is first needed."""
    return Link(_adopted, _push_all)


def _adopted(state: Link, number: int) -> Object:
    """Returns a Python object for one that Lua has made."""
    typename = state.ask("fields", number)[0]
    made: Object = object.__new__(CLASSES.get(typename, Module))
    _join(made, number, state)
    _pull(made, state)
    return made


def _join(made: Object, number: int, state: Link) -> None:
    state.objects[number] = made
    state.object_numbers[made] = number
    weakref.finalize(made, state.drop, number).atexit = False


def _number_of(one: Object, state: Link) -> int:
    number = state.object_numbers.get(one)
    if number is None:
        number = state.next_number()
        _join(one, number, state)
        own = [name for name in _COMPUTING if _in_python(type(one), name)]
        state.ask("empty", number, FACTS[one._lua_class].typename, " ".join(own))
    return number


def _in_python(kind: type, method: str) -> bool:
    """Returns whether a subclass computes a method itself."""
    holder = next(base for base in (*kind.__mro__, object) if method in base.__dict__ or base is object)
    return holder not in (object, Module, Container, Criterion, CriterionList)


def _objects_in(value: Any) -> Iterator[Object]:
    """Yields the objects in a value and in lists there."""
    if isinstance(value, Object):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _objects_in(item)


def _reachable(value: Any) -> list[Object]:
    found: dict[int, Object] = {}
    waiting = list(_objects_in(value))
    while waiting:
        one = waiting.pop()
        if id(one) not in found:
            found[id(one)] = one
            waiting += _objects_in(list(one.__dict__.values()))
    return list(found.values())


def _push_all(value: Any, state: Link) -> None:
    """Gives Lua the fields of every object in a value."""
    objects = _reachable(value)
    for one in objects:
        _number_of(one, state)
    for one in objects:
        facts = FACTS[one._lua_class]
        flat: list[Any] = [""]
        dropped = []
        for name, value in list(one.__dict__.items()):
            key, for_lua = facts.field_for_lua(name, value)
            if for_lua is None:
                dropped.append(key)
                continue
            try:
                text, *values = state.encoded(key, for_lua)
            except TypeError:
                if isinstance(for_lua, Tensor):
                    raise
                continue  # Python's own: Lua does not need it
            flat[0] += text
            flat += values
        state.ask("set", state.object_numbers[one], " ".join(dropped), *flat)


def _pull(one: Object, state: Link) -> None:
    """Takes over the fields of an object, and of those that it leads to, from Lua."""
    done: set[int] = set()
    waiting = [one]
    while waiting:
        current = waiting.pop()
        if id(current) in done:
            continue
        done.add(id(current))
        _, *described = state.ask("fields", state.object_numbers[current])
        items = state.decoded(*described)
        fields = FACTS[current._lua_class].fields_of(dict(zip(items[::2], items[1::2], strict=True)))
        for name, value in fields.items():
            if name in FACTS[current._lua_class].made_anew:
                current.__dict__.pop(name, None)
            _take_over(current.__dict__, name, value)
        waiting += _objects_in(list(fields.values()))


def _take_over(fields: dict[str, Any], name: str, value: Any) -> None:
    old = fields.get(name)
    if isinstance(old, list) and isinstance(value, list):
        old[:] = value  # a list stays the same list, as a table does
    elif value is not None or name not in fields:
        fields[name] = value


def _convert(value: Any, name: str, done: dict[int, Any]) -> Any:
    """Returns a value with tensors of another type; objects are changed, and what was shared stays so."""
    if id(value) in done:
        return done[id(value)]
    converted: Any
    if isinstance(value, Tensor):
        converted = value.to(_TENSOR_TYPES[name]) if value.is_floating_point() else value
    elif isinstance(value, Object):
        done[id(value)] = converted = value
        for key, field in list(value.__dict__.items()):
            value.__dict__[key] = _convert(field, name, done)
        value.__dict__["_type"] = name
    elif isinstance(value, list):
        converted = value
        value[:] = [_convert(item, name, done) for item in value]
    else:
        return value
    done[id(value)] = converted
    return converted


def _flattened(tensors: list[Tensor]) -> Tensor:
    storages: dict[int, list[Tensor]] = {}
    for tensor in tensors:
        storages.setdefault(tensor.data_ptr(), []).append(tensor)
    flat = torch.empty(sum(group[0].numel() for group in storages.values()), dtype=tensors[0].dtype)
    place = 0
    for group in storages.values():
        count = group[0].numel()
        flat[place : place + count].copy_(group[0].detach().reshape(-1))
        for tensor in group:
            tensor.data = flat[place : place + count].view(tensor.shape)
        place += count
    return flat


def _list_of(child: Any) -> list[Any]:
    return child.listModules() if isinstance(child, Module) else [child]
