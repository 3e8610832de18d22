"""The Lua state in which legacy modules compute, and what Python and Lua know of each other's objects
(lua_compat/lua/th/api/legacy.lua describes how values cross)."""

import io
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from lua_compat.kernels.strings import from_lua as text_of
from lua_compat.kernels.strings import to_lua
from lua_compat.lua_modules.values import for_lua
from lua_compat.runtime.errors import LuaError
from lua_compat.runtime.state import Runtime

_MOST_SEED = 2**31


class Reals(tuple):
    """The numbers of a DoubleStorage, such as a MultiCriterion's weights."""


class Link:
    """One Lua state. Modules and tensors are known on both sides by numbers.

    ``adopt``: makes the Python object for a number of Lua's. ``push``: gives Lua the fields of a value.
    """

    def __init__(self, adopt: Callable[["Link", int], Any], push: Callable[[Any, "Link"], None]) -> None:
        self._adopt = adopt
        self._push = push
        self._runtime = Runtime("th", cpu_as_cuda=True, notes=False)
        self._runtime.add_legacy()
        self._last = 0
        self._calls = 0  # of methods, one within another
        self._unused: list[int] = []
        self._tensors: dict[int, weakref.ref[Tensor]] = {}
        self._numbers: dict[int, tuple[int, Any]] = {}  # by id: the number of a tensor, and where it lies
        self.objects: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        self.object_numbers: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self.functions: dict[int, Callable[..., Any]] = {}
        self._raised: BaseException | None = None
        self.ask("start", self._called_by_lua)

    def ask(self, action: str, *arguments: Any) -> tuple[Any, ...]:
        """Runs an action of lua/th/api/legacy.lua; returns its results. Raises LuaError with one line."""
        if self._unused:
            unused, self._unused = self._unused, []
            self._runtime.ask("legacy_release", *unused)
        answer = self._runtime.ask(f"legacy_{action}", *arguments)
        problem, *results = answer if isinstance(answer, tuple) else (answer,)
        if problem is not None:
            raised, self._raised = self._raised, None
            if raised is not None:
                raise raised
            raise LuaError(io.StringIO(text_of(problem)).readline().rstrip())
        return tuple(results)

    def next_number(self) -> int:
        self._last += 1
        return self._last

    def drop(self, number: int) -> None:
        """Notes that Python no longer uses an object; a finalizer may call it at any time."""
        self._unused.append(number)

    def call(self, number: int, method: str, *described: Any) -> list[Any]:
        """Calls a method. Lua's generator starts from PyTorch's, which goes on only if Lua has drawn."""
        seed = None if self._calls else self._seed()
        self._calls += 1
        try:
            answer = self.ask("call", number, seed, method, *described)
        finally:
            self._calls -= 1
        drawn, *results = self.decoded(*answer)
        if drawn:
            torch.randint(_MOST_SEED, ())
        return results

    def _seed(self) -> int:
        """Returns the number that PyTorch's generator gives next, and leaves the generator there."""
        generator = torch.Generator()
        generator.set_state(torch.get_rng_state())
        return int(torch.randint(_MOST_SEED, (), generator=generator))

    # Values to Lua

    def encoded(self, *values: Any) -> list[Any]:
        """Returns what describes values to Lua. Raises TypeError for a value that Lua cannot have."""
        text: list[str] = []
        flat: list[Any] = []
        for value in values:
            self._encode(value, text, flat)
        return ["".join(text), *flat]

    def _encode(self, value: Any, text: list[str], flat: list[Any]) -> None:
        if value is None:
            text.append("n")
        elif isinstance(value, bool):
            text.append("B" if value else "b")
        elif isinstance(value, int | float):
            text.append("d")
            flat.append(float(value))
        elif isinstance(value, str):
            text.append("s")
            flat.append(to_lua(value))
        elif isinstance(value, Tensor):
            self._encode_tensor(value, text, flat)
        elif value.__hash__ is not None and value in self.object_numbers:
            text.append("m")
            flat.append(self.object_numbers[value])
        elif isinstance(value, torch.Size | Reals):
            text.append("z" if isinstance(value, torch.Size) else "Z")
            flat += [len(value), *value]
        elif isinstance(value, list | tuple):
            text.append("{")
            for item in value:
                self._encode(item, text, flat)
            text.append("}")
        elif isinstance(value, dict):
            text.append("h")
            for key, item in value.items():
                self._encode(key, text, flat)
                self._encode(item, text, flat)
            text.append("}")
        else:
            raise TypeError(f"Lua has no counterpart of a {type(value).__name__}")

    def _encode_tensor(self, tensor: Tensor, text: list[str], flat: list[Any]) -> None:
        if tensor.dtype == torch.bool:
            tensor = tensor.to(torch.uint8)
        number, place = self._numbers.get(id(tensor), (0, None))
        if not number:
            number = self.next_number()
            self._know(tensor, number)
        if place is not None and place == _place(tensor):
            text.append("t")
            flat.append(number)
            return
        self._numbers[id(tensor)] = number, _place(tensor)
        text.append("T")
        flat += [number, *for_lua(tensor, self._runtime.handles)]

    def _know(self, tensor: Tensor, number: int) -> None:
        key = id(tensor)

        def forget(_: Any) -> None:
            self._numbers.pop(key, None)
            self._tensors.pop(number, None)
            self._unused.append(number)

        if number in self._unused:  # Lua gave it again before it was told
            self._unused.remove(number)
        self._tensors[number] = weakref.ref(tensor, forget)
        self._numbers[key] = number, None

    # Values from Lua

    def decoded(self, text: str, *flat: Any) -> list[Any]:
        """Returns the values that Lua describes: tensors that Python knows are the same objects, brought up
        to date."""
        values = iter(flat)
        letters = iter(text)
        return [self._decode(letter, letters, values) for letter in letters]

    def _decode(self, letter: str, letters: Iterator[str], values: Iterator[Any]) -> Any:
        if letter == "n":
            return None
        if letter in "bB":
            return letter == "B"
        if letter == "d":
            number = next(values)
            return int(number) if isinstance(number, float) and number.is_integer() else number
        if letter == "s":
            return text_of(next(values))
        if letter == "T":
            return self._decode_tensor(next(values), next(values))
        if letter == "m":
            return self.object(next(values))
        if letter == "z":
            count = next(values)
            return torch.Size(int(next(values)) for _ in range(count))
        if letter == "Z":
            return Reals(next(values) for _ in range(next(values)))
        items = []
        while (inner := next(letters)) != "}":
            items.append(self._decode(inner, letters, values))
        return items if letter == "{" else dict(zip(items[::2], items[1::2], strict=True))

    def _decode_tensor(self, number: int, handle: int) -> Tensor:
        lua = self._runtime.handles.tensor(handle)
        known = self._tensors.get(number)
        tensor = None if known is None else known()
        if tensor is None:
            tensor = _alias(lua)
            self._know(tensor, number)
        elif _place(tensor) != _place(lua) and (tensor.numel() or lua.numel()):
            tensor.data = _alias(lua)
        self._numbers[id(tensor)] = number, _place(tensor)
        return tensor

    def object(self, number: int) -> Any:
        """Returns the module of a number; of one that Python did not know, a new one."""
        known = self.objects.get(number)
        return self._adopt(self, number) if known is None else known

    # Calls from Lua

    def _called_by_lua(self, what: str, number: int, name: str, *described: Any) -> Any:
        try:
            with torch.inference_mode(False):
                arguments = self.decoded(*described)
                if what == "evaluate":
                    results = self.functions[number](*arguments)
                else:
                    results = getattr(self.objects[number], name)(*arguments)
                    self._push(self.objects[number], self)
                results = results if isinstance(results, tuple) else (results,)
                return tuple(self.encoded(*results))
        except BaseException as error:
            self._raised = error
            raise


def _place(tensor: Tensor) -> tuple[Any, ...]:
    storage = tensor.untyped_storage()
    lies = storage.data_ptr(), storage.nbytes(), tensor.storage_offset()
    return *lies, tensor.shape, tensor.stride(), tensor.dtype


def _alias(tensor: Tensor) -> Tensor:
    """Returns a tensor on the same memory with which autograd may work: Lua's own are made in inference
    mode."""
    alias = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
    return alias.set_(tensor.untyped_storage(), tensor.storage_offset(), tensor.shape, tensor.stride())
