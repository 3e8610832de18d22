"""Writes torch.nn Modules as the objects of a .t7 file: one writer for a model, one for each module in it."""

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
import torch
from torch import nn

from lua_compat import t7
from lua_compat.conversion.errors import ConversionError
from lua_compat.declarations import find_declaration
from lua_compat.t7.elements import storage_typename

TENSORS = {
    torch.float16: "torch.HalfTensor",
    torch.float32: "torch.FloatTensor",
    torch.float64: "torch.DoubleTensor",
    torch.uint8: "torch.ByteTensor",
    torch.int8: "torch.CharTensor",
    torch.int16: "torch.ShortTensor",
    torch.int32: "torch.IntTensor",
    torch.int64: "torch.LongTensor",
}

# Classes whose format has changed; all others, including derived classes, are at version 1.
_VERSIONS = {
    "nn.BatchNormalization": 2,
    "nn.SpatialBatchNormalization": 2,
    "nn.LookupTable": 4,
    "nn.VolumetricMaxPooling": 2,
    "nn.GradientReversal": 2,
}

Export = Callable[["ModuleWriter", Any], t7.TorchObject]
FindExport = Callable[[type], Export | None]
Substitute = Callable[[nn.Module, str], nn.Module | None]  # at a path: made of layers that can be written


class ModelWriter:
    """Writes the modules of one model: shared objects and shared memory in PyTorch are shared in the file."""

    def __init__(self, dtype: torch.dtype, find_export: FindExport, substitute: Substitute) -> None:
        self.typename = TENSORS[dtype]
        self.dtype = dtype
        self._find_export = find_export
        self._substitute = substitute
        self._modules: dict[int, t7.TorchObject] = {}
        self._substitutes: list[nn.Module] = []  # kept alive, so that their ids are not reused
        self._storages: dict[int, t7.Storage] = {}  # by address
        self._gradients: dict[tuple[Any, ...], t7.Storage] = {}
        self._kept: list[torch.Tensor] = []  # kept alive, so that their addresses are not reused

    def module(self, module: nn.Module, path: str) -> t7.TorchObject:
        if id(module) in self._modules:
            return self._modules[id(module)]
        export = self._find_export(type(module))
        substitute = self._substitute(module, path)
        if substitute is not None:
            self._substitutes.append(substitute)
            written = self.module(substitute, path)
        elif export is not None:
            written = export(ModuleWriter(self, module, path), module)
        else:
            raise ConversionError(f"{type(module).__name__} has no counterpart in Torch7's nn here", path)
        self._modules[id(module)] = written
        return written

    def tensor(self, tensor: torch.Tensor) -> t7.Tensor:
        """Returns the tensor as a view of its memory: tensors that share memory share a storage."""
        tensor = tensor.detach().cpu()
        if tensor.dtype not in TENSORS:
            raise ValueError(f"Torch7 has no tensors of {tensor.dtype}")
        typename = TENSORS[tensor.dtype]
        if not tensor.numel():
            return t7.Tensor(typename, None, (), ())
        address = tensor.untyped_storage().data_ptr()
        if address not in self._storages:
            whole = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())
            self._storages[address] = t7.Storage(storage_typename(typename), whole.numpy())
            self._kept.append(whole)
        shape = tensor.shape or (1,)
        stride = tensor.stride() or (1,)
        return t7.Tensor(typename, self._storages[address], shape, stride, int(tensor.storage_offset()) + 1)

    def gradient(self, parameter: t7.Tensor) -> t7.Tensor:
        """Returns zeros for a parameter; the same zeros for parameters that share memory."""
        storage = parameter.storage
        key = (id(storage), parameter.storage_offset, parameter.size, parameter.stride)
        if key not in self._gradients:
            zeros = np.zeros(parameter.numel(), parameter.dtype)
            self._gradients[key] = t7.Storage(storage_typename(parameter.typename), zeros)
        strides = np.empty(parameter.size, np.bool_).strides  # contiguous, counted in elements
        return t7.Tensor(parameter.typename, self._gradients[key], parameter.size, strides)


class ModuleWriter:
    """Builds the object of one module for an export; a failure is a ConversionError with the path."""

    def __init__(self, model: ModelWriter, module: nn.Module, path: str) -> None:
        self._model = model
        self._training = module.training
        self.path = path
        self.kind = type(module).__name__

    def fail(self, problem: str) -> NoReturn:
        raise ConversionError(f"{self.kind}: {problem}", self.path)

    def require(self, condition: bool, problem: str) -> None:
        if not condition:
            self.fail(problem)

    def object(self, typename: str, **fields: Any) -> t7.TorchObject:
        """Returns an object of the class with these fields, those of every nn module, and the others that a
        new module of the class has.

        A torch tensor becomes a Torch7 tensor; for a parameter named 'weight' there is a 'gradWeight' of
        zeros. A tuple becomes a LongStorage, a list a table, and None is left out.
        """
        written: dict[str, Any] = {
            "_type": self._model.typename,
            "output": self.empty(),
            "gradInput": self.empty(),
            **self._declared(typename, fields),
            "train": self._training,
        }
        for name, value in fields.items():
            written[name] = self.value(value)
            if isinstance(value, nn.Parameter):
                written[f"grad{name[0].upper()}{name[1:]}"] = self._model.gradient(written[name])
        return t7.TorchObject(typename, _VERSIONS.get(typename, 1), t7.LuaTable(written))

    def _declared(self, typename: str, given: dict[str, Any]) -> dict[str, Any]:
        """Returns the fields of a new module of the class that are not given."""
        declaration = find_declaration(typename)
        found: dict[str, Any] = {}
        for name, field in (declaration.fields if declaration else {}).items():
            if name in given or field.role in ("own", "optional"):
                continue
            if field.kind == "Tensor":
                found[name] = self.empty()
            elif field.kind.endswith("Tensor"):
                found[name] = self.empty_of(f"torch.{field.kind}")
            elif field.kind in ("LongStorage", "table"):
                found[name] = self.value(() if field.kind == "LongStorage" else [])
            elif declaration:
                found[name] = declaration.default(name, lambda other: {**found, **given}.get(other))
        return {name: value for name, value in found.items() if value is not None}

    def value(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            try:
                return self._model.tensor(value)
            except ValueError as error:
                self.fail(str(error))
        if isinstance(value, tuple):
            return t7.Storage("torch.LongStorage", np.array(value, np.int64))
        if isinstance(value, list):
            return t7.LuaTable.from_list([self.value(item) for item in value])
        if isinstance(value, nn.Module):
            self.fail("a module is written with .child()")
        return value

    def empty(self) -> t7.Tensor:
        return t7.Tensor(self._model.typename, None, (), ())

    def empty_of(self, typename: str) -> t7.Tensor:
        return t7.Tensor(typename, None, (), ())

    def buffer(self, *shape: int) -> t7.Tensor:
        """Returns a buffer of zeros."""
        return t7.Tensor.from_numpy(np.zeros(shape, t7.Tensor(self._model.typename, None, (), ()).dtype))

    def child(self, module: nn.Module, place: str) -> t7.TorchObject:
        return self._model.module(module, f"{self.path}{place}")

    def children(self, modules: Any) -> t7.LuaTable:
        return t7.LuaTable.from_list(
            self.child(module, f".modules[{place}]") for place, module in enumerate(modules, 1)
        )
