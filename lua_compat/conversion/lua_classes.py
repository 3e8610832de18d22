"""Conversion of a class that only Lua computes: a Lua state loads the module from the bytes of a .t7 file."""

import io
from functools import partial
from typing import Any

from torch import nn

from lua_compat import t7
from lua_compat.conversion.reading import Conversion, Fields
from lua_compat.conversion.registry import CONVERSIONS
from lua_compat.conversion.writing import ModuleWriter
from lua_compat.lua_modules import LuaModule, LuaState
from lua_compat.runtime.errors import LuaError
from lua_compat.t7.elements import storage_typename
from lua_compat.t7.inspection import places
from lua_compat.t7.shells import Shells


def lua_conversion(state: LuaState) -> Conversion:
    """Returns the conversion to a module that ``state`` computes."""

    def convert(f: Fields) -> nn.Module:
        if not state.files:
            _refuse_functions(f)
        file = io.BytesIO()
        t7.save(file, _on_the_cpu(f.source))
        try:
            return LuaModule(state, file.getvalue(), f.typename, f.parameter_at)
        except LuaError as error:
            f.fail(str(error))

    return convert


def _refuse_functions(f: Fields) -> None:
    """Fails for a module with functions, which are code, unless the model's Lua files are given."""
    for place in places(f.source):
        if isinstance(place.part, t7.LuaFunction):
            f.fail(
                f"{place.path.removeprefix('root.')} is a function, which is code: with the Lua files that"
                " declare the model's classes, its functions are trusted, too"
            )


def _on_the_cpu(source: Any) -> Any:
    """Returns a copy for nn on a CPU: without cudnn and CUDA, and with only the part of each storage that is
    used.

    After getParameters() all parameters of a model are in one storage, which each of its modules would
    otherwise copy.
    """
    return _Copy(source).whole


class _Copy:
    """Copies a tree."""

    def __init__(self, source: Any) -> None:
        self._spans = _spans(source)
        self._shells = Shells(self._shell)
        self._storages: dict[int, t7.Storage] = {}
        self.whole = self._of(source)
        self._shells.fill_all()

    def _of(self, part: Any) -> Any:
        if isinstance(part, str):
            return _host(part) if part.startswith("torch.Cuda") else part
        if not isinstance(part, t7.LuaTable | t7.TorchObject | t7.Tensor | t7.Storage):
            return part
        return self._shells.of(part)

    def _fill(self, shell: Any, part: Any) -> None:
        if isinstance(part, t7.LuaTable):
            for key, value in part.items():
                shell[self._of(key)] = self._of(value)
        else:
            shell.fields, shell.preamble = self._of(part.fields), self._of(part.preamble)

    def _shell(self, part: Any) -> Any:
        if isinstance(part, t7.Storage):
            return self._storage(part)
        if isinstance(part, t7.Tensor):
            return self._tensor(part)
        shell: Any = t7.LuaTable()
        if isinstance(part, t7.TorchObject):
            shell = t7.TorchObject(_without_cudnn(part.typename), part.version, versioned=part.versioned)
        self._shells.later(partial(self._fill, shell, part))
        return shell

    def _tensor(self, tensor: t7.Tensor) -> t7.Tensor:
        typename = _host(tensor.typename)
        if tensor.storage is None or not tensor.numel():
            return t7.Tensor(typename, None, (), ())
        first = self._spans[id(tensor.storage)][0]
        offset = tensor.storage_offset - first
        return t7.Tensor(typename, self._storage(tensor.storage), tensor.size, tensor.stride, offset)

    def _storage(self, storage: t7.Storage) -> t7.Storage:
        if id(storage) not in self._storages:
            first, last = self._spans[id(storage)]
            typename = storage_typename(_host(storage.typename.replace("Storage", "Tensor")))
            self._storages[id(storage)] = t7.Storage(typename, storage.array[first:last])
        return self._storages[id(storage)]


def _spans(source: Any) -> dict[int, tuple[int, int]]:
    """Returns the elements of every storage that are in use, by its id: [first, last)."""
    spans: dict[int, tuple[int, int]] = {}

    def widen(storage: t7.Storage, first: int, last: int) -> None:
        known = spans.get(id(storage), (first, last))
        spans[id(storage)] = min(known[0], first), max(known[1], last)

    for place in places(source):
        part = place.part
        if isinstance(part, t7.Storage):
            if not isinstance(place.parent.part if place.parent else None, t7.Tensor):
                widen(part, 0, len(part))
        elif isinstance(part, t7.Tensor) and part.storage is not None and part.numel():
            reach = [(n - 1) * step for n, step in zip(part.size, part.stride, strict=True)]
            start = part.storage_offset - 1
            widen(
                part.storage, start + sum(min(r, 0) for r in reach), start + sum(max(r, 0) for r in reach) + 1
            )
    return spans


def _host(typename: str) -> str:
    """Returns the CPU type for a CUDA type: torch.FloatTensor for torch.CudaTensor."""
    return {"torch.CudaTensor": "torch.FloatTensor", "torch.CudaStorage": "torch.FloatStorage"}.get(
        typename, typename.replace("torch.Cuda", "torch.")
    )


def _without_cudnn(typename: str) -> str:
    of_nn = typename.replace("cudnn.", "nn.", 1)
    return of_nn if of_nn in CONVERSIONS else typename


def lua_export(w: ModuleWriter, m: Any) -> t7.TorchObject:
    """Returns the Torch7 module that Lua holds."""
    written: t7.TorchObject = t7.load(io.BytesIO(m.data()))
    written["train"] = m.training
    return written
