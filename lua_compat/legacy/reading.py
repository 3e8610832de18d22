"""``load_lua`` of torch.utils.serialization: .t7 files as PyTorch 0.4 gave them."""

import os
from collections import namedtuple
from functools import partial
from typing import Any

import numpy as np
import torch

from lua_compat import t7
from lua_compat.legacy import nn
from lua_compat.legacy.classes import FACTS, ClassFacts
from lua_compat.legacy.link import Reals
from lua_compat.legacy.modules import Object
from lua_compat.t7.shells import Shells

LuaFunction = namedtuple("LuaFunction", ["size", "dumped", "upvalues"])
_LISTS = ("tds.Vec", "tds_vec")
_TABLES = ("tds.Hash", "tds_hash")


class T7ReaderException(Exception):
    """The file has a class that torch.legacy.nn does not have."""


class hashable_uniq_dict(dict):
    """A Lua table: a dict whose entries are attributes, too (None if there is none); equal to itself."""

    def __hash__(self) -> int:  # type: ignore[override]
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    def __getattr__(self, key: str) -> Any:
        if key.startswith("__"):
            raise AttributeError(key)  # copy and pickle ask for these
        return self.get(key)


class TorchObject:
    """An object of a class that is not known: its name, and its fields as attributes and entries."""

    _typename: str
    _obj: Any

    def __init__(self, typename: str, obj: Any) -> None:
        self._typename = typename
        self._obj = obj

    def __getattr__(self, key: str) -> Any:
        if key.startswith("__") or key in ("_obj", "_typename"):
            raise AttributeError(key)
        return self[key]

    def __getitem__(self, key: Any) -> Any:
        return self._obj.get(key) if isinstance(self._obj, dict) else None

    def torch_typename(self) -> str:
        return self._typename

    def __repr__(self) -> str:
        return f"TorchObject({self._typename}, {self._obj!r})"

    def __dir__(self) -> list[str]:
        return [*(str(key) for key in self._obj), "torch_typename"]


def load_lua(
    filename: str | os.PathLike[str], unknown_classes: bool = False, long_size: int | None = None, **_: Any
) -> Any:
    """Reads a .t7 file.

    Tables are lists where their keys are 1, 2, ..., else dicts; modules are those of legacy.nn.
    An object of another class is a ``TorchObject`` with ``unknown_classes``, else a T7ReaderException.
    ``long_size`` is 4, 8 or None: found from the file. CUDA's tensors are read into main memory. Raises
    t7.T7FormatError for a malformed file, ValueError for another ``long_size``.
    """
    if long_size not in (None, 4, 8):
        raise ValueError(f"long_size must be 4, 8 or None, not {long_size!r}")
    with t7.Reader(filename, long_size=long_size, mmap=False) as reader:  # type: ignore[arg-type]
        return _Loading(unknown_classes).value(reader.read())


class _Loading:
    """One file."""

    def __init__(self, unknown_classes: bool) -> None:
        self._unknown_classes = unknown_classes
        self._shells = Shells(self._new)
        self._memories: dict[int, torch.Tensor] = {}
        self._modules: list[tuple[Object, int, dict[str, Any]]] = []

    def value(self, source: Any) -> Any:
        made = self._of(source)
        self._shells.fill_all()
        for module, version, fields in self._modules:
            facts = FACTS[module._lua_class]
            module.__dict__.update(facts.fields_of(_of_today(facts, version, fields)))
        return made

    def _of(self, part: Any) -> Any:
        if part is None or isinstance(part, bool | int | float | str | bytes):
            return part
        return self._shells.of(part)

    def _fill(self, shell: Any, part: Any) -> None:
        if isinstance(shell, list):
            items = part if isinstance(part, list) else part.array()
            shell.extend(self._of(item) for item in items)
        else:
            for key, item in part.items():
                shell[self._of(key)] = self._of(item)

    def _new(self, part: Any) -> Any:
        if isinstance(part, t7.LuaTable):
            return self._table(part)
        if isinstance(part, t7.Tensor):
            return self._tensor(part)
        if isinstance(part, t7.Storage):
            if part.typename == "torch.LongStorage":
                return torch.Size(part.array.tolist())
            if part.typename == "torch.DoubleStorage":
                return Reals(part.array.tolist())
            return self._memory(part).untyped_storage()
        if isinstance(part, t7.LuaFunction):
            return LuaFunction(len(part.bytecode), part.bytecode, self._of(part.upvalues))
        return self._object(part)

    def _table(self, part: t7.LuaTable) -> Any:
        shell: Any = [] if part.length() == len(part) else hashable_uniq_dict()
        self._shells.later(partial(self._fill, shell, part))
        return shell

    def _object(self, part: t7.TorchObject) -> Any:
        name = part.typename.removeprefix("nn.")
        if part.typename in _LISTS or part.typename in _TABLES:
            shell: Any = [] if part.typename in _LISTS else {}
            self._shells.later(partial(self._fill, shell, part.fields))
            return shell
        if part.typename == f"nn.{name}" and name in FACTS and isinstance(part.fields, t7.LuaTable):
            module: Object = object.__new__(getattr(nn, name))
            fields: dict[str, Any] = {}
            self._shells.later(partial(self._fill, fields, part.fields))
            self._modules.append((module, part.version, fields))
            return module
        if not self._unknown_classes:
            raise T7ReaderException(
                f"don't know how to deserialize Lua class {part.typename}: unknown_classes=True gives it as a"
                " TorchObject"
            )
        return TorchObject(part.typename, self._of(part.fields))

    def _tensor(self, part: t7.Tensor) -> torch.Tensor:
        if part.storage is None or not part.numel():
            return torch.from_numpy(np.empty(0, part.dtype))
        memory = self._memory(part.storage)
        return memory.as_strided(part.size, part.stride, part.storage_offset - 1)

    def _memory(self, storage: t7.Storage) -> torch.Tensor:
        """Returns a storage's elements in memory of PyTorch's; tensors that share it share it here."""
        if id(storage) not in self._memories:
            elements = np.array(storage.array, dtype=storage.dtype.newbyteorder("="))
            self._memories[id(storage)] = torch.from_numpy(elements).clone()  # memory that can grow
        return self._memories[id(storage)]


def _of_today(facts: ClassFacts, version: int, fields: dict[str, Any]) -> dict[str, Any]:
    """Returns the fields of an object as the last version of its class writes them."""
    if facts.name.endswith("BatchNormalization") and version < 2 and "running_std" in fields:
        fields = dict(fields)
        fields["running_var"] = fields.pop("running_std").pow(-2).add(-fields["eps"])
    if facts.name == "GradientReversal" and version < 2:
        fields = {"lambda": 1, **fields}
    return {key if isinstance(key, str) else str(key): value for key, value in fields.items()}
