"""A Lua state that holds nn modules used by Python."""

import io
import os
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from lua_compat.kernels.strings import from_lua as text_of
from lua_compat.kernels.strings import to_lua
from lua_compat.lua_modules.source import LuaFile
from lua_compat.lua_modules.values import for_lua
from lua_compat.runtime.errors import LuaError
from lua_compat.runtime.state import Runtime


class LuaState:
    """A Lua state that has run ``files``; it starts when it is first needed.

    All modules of a model live in one state. Pickled, it becomes its files; a deep copy is the state itself.
    """

    def __init__(self, files: Sequence[str | os.PathLike[str] | LuaFile] = ()) -> None:
        """Raises OSError for a file that cannot be read."""
        self.files = tuple(file if isinstance(file, LuaFile) else LuaFile.read(file) for file in files)
        self._runtime: Runtime | None = None
        self._declared: dict[str, LuaFile] = {}
        self._unused: list[int] = []  # numbers of modules that Python has dropped

    def __reduce__(self) -> tuple[Any, ...]:
        return LuaState, (self.files,)

    def __deepcopy__(self, memo: dict[int, Any]) -> "LuaState":
        return self

    def __copy__(self) -> "LuaState":
        return self

    @property
    def declared(self) -> dict[str, LuaFile]:
        """Returns the classes that the files declare ('nn.OneHot'), each with its file. Raises LuaError."""
        self._started()
        return self._declared

    def knows(self, typename: str) -> bool:
        """Returns whether the files, or a package of th's, declare a class. Raises LuaError."""
        return bool(self.ask("know", to_lua(typename))[0])

    def ask(self, action: str, *arguments: Any) -> tuple[Any, ...]:
        """Runs an action of lua/th/api/modules.lua; returns its results. Raises LuaError with one line."""
        runtime = self._started()
        if self._unused:
            unused, self._unused = self._unused, []
            self._run(runtime, "release", *unused)
        return self._run(runtime, action, *arguments)

    def place(self, tensors: Iterable[Tensor]) -> list[int]:
        """Returns what describes tensors to Lua, which shares their memory. Raises TypeError."""
        handles = self._started().handles
        return [number for tensor in tensors for number in for_lua(tensor, handles)]

    def tensor(self, handle: int) -> Tensor:
        """Returns one of Lua's tensors, by its handle; valid until the next action."""
        return self._started().handles.tensor(handle)

    def drop(self, number: int) -> None:
        """Notes that Python no longer uses a module; a finalizer may call it at any time."""
        self._unused.append(number)

    def load(self, data: bytes) -> int:
        """Reads a module from the bytes of a .t7; returns its number. Raises LuaError."""
        number: int = self.ask("load", data.decode("latin-1"))[0]
        return number

    def save(self, number: int) -> bytes:
        """Returns the module as the bytes of a .t7, without what it computed last."""
        text: str = self.ask("save", number)[0]
        return text.encode("latin-1")

    def manual_seed(self, seed: int) -> None:
        """Starts the generator of Lua's random numbers again, as torch.manualSeed does there."""
        self.ask("seed", seed)

    def _started(self) -> Runtime:
        if self._runtime is None:
            # Lua computes on the CPU, also where a file asks for CUDA's packages.
            runtime = Runtime(self.files[0].path if self.files else "th", cpu_as_cuda=True, notes=False)
            runtime.add_modules()
            self._run(runtime, "seed", torch.initial_seed() % 2**32)
            for file in self.files:
                folders = map(to_lua, file.folders)
                try:
                    (names,) = self._run(runtime, "declare", file.text, "@" + to_lua(file.path), *folders)
                except LuaError as error:
                    raise LuaError(f"{file.path}: {error}") from None
                self._declared.update(dict.fromkeys(text_of(names).split(), file))
            self._runtime = runtime
        return self._runtime

    @staticmethod
    def _run(runtime: Runtime, action: str, *arguments: Any) -> tuple[Any, ...]:
        answer = runtime.ask(f"modules_{action}", *arguments)
        problem, *results = answer if isinstance(answer, tuple) else (answer,)
        if problem is not None:
            raise LuaError(io.StringIO(text_of(problem)).readline().rstrip())
        return tuple(results)
