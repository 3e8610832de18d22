"""A loaded Torch7 model as a torch.nn.Module."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from lua_compat import t7
from lua_compat.conversion.errors import ConversionError
from lua_compat.conversion.reading import Fields

# torch.nn refuses sizes in many ways, and fields of another kind fail where they are used.
_REFUSALS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
)
_DEEPEST = 100  # containers in containers; no real model comes near


def to_torch(model: t7.TorchObject, path: str = "root") -> nn.Module:
    """A torch.nn.Module with the outputs of ``model``, an nn, cudnn or nngraph module that t7.load gave.

    Parameters are copies in the model's number type, on the CPU; those that shared memory are one Parameter.
    Each module is in training or evaluate mode as the file says. Tables are lists. Raises ConversionError
    with the place in the model (from ``path`` on) of a module that cannot be converted.
    """
    return convert(model, path).module


@dataclass(frozen=True)
class Converted:
    """``places``: path, Torch7 module and its torch.nn counterpart, every module once, children first."""

    module: nn.Module
    places: tuple[tuple[str, t7.TorchObject, nn.Module], ...]


def convert(model: t7.TorchObject, path: str = "root") -> Converted:
    """As ``to_torch``, with the counterpart of every module in the model."""
    converter = Converter()
    return Converted(converter.module(model, path), tuple(converter.places))


class Converter:
    """Converts the modules of one model: what is one object or one memory there is one here."""

    def __init__(self) -> None:
        self.places: list[tuple[str, t7.TorchObject, nn.Module]] = []
        self._modules: dict[int, nn.Module | None] = {}  # by id of the source; None while being converted
        self._memories: dict[int, torch.Tensor] = {}  # by id of the t7.Storage
        self._parameters: dict[tuple[Any, ...], nn.Parameter] = {}
        self._depth = 0

    def module(self, source: Any, path: str) -> nn.Module:
        if not isinstance(source, t7.TorchObject):
            raise ConversionError(f"a module is expected, not {type(source).__name__}", path)
        known = self._modules.get(id(source), source)
        if isinstance(known, nn.Module):
            return known
        if known is None:
            raise ConversionError("the module contains itself", path)
        if self._depth >= _DEEPEST:
            raise ConversionError(f"more than {_DEEPEST} modules inside one another", path)
        self._modules[id(source)] = None
        self._depth += 1
        module = self._convert(source, path)
        self._depth -= 1
        # Not .train(): the children have a mode of their own.
        module.training = source.get("train") is not False
        self._modules[id(source)] = module
        self.places.append((path, source, module))
        return module

    def _convert(self, source: t7.TorchObject, path: str) -> nn.Module:
        from lua_compat.conversion.registry import find_conversion

        conversion = find_conversion(source.typename)
        if conversion is None:
            raise ConversionError(f"{source.typename} has no counterpart in PyTorch here", path)
        if not isinstance(source.fields, t7.LuaTable):
            raise ConversionError(f"{source.typename}: its fields were not read", path)
        fields = Fields(self, source, path)
        try:
            return conversion(fields)
        except ConversionError:
            raise
        except _REFUSALS as error:
            fields.fail(str(error).splitlines()[0] if str(error) else type(error).__name__)

    def parameter(self, tensor: t7.Tensor, shape: tuple[int, ...] | None) -> nn.Parameter:
        """Raises ValueError for a shape of another number of elements, and for whole numbers."""
        view = self._view(tensor)
        if not view.is_floating_point():
            raise ValueError(f"a {tensor.typename} cannot be trained")
        view = view if shape is None else view.view(shape)
        key = (id(tensor.storage), view.storage_offset(), view.shape, view.stride())
        if key not in self._parameters:
            self._parameters[key] = nn.Parameter(view)
        return self._parameters[key]

    def tensor(self, tensor: t7.Tensor) -> torch.Tensor:
        return torch.from_numpy(np.array(tensor.numpy()))

    def _view(self, tensor: t7.Tensor) -> torch.Tensor:
        """The tensor over its storage's copy: views that overlap in the file overlap here."""
        if tensor.storage is None:
            return torch.empty(0)
        if id(tensor.storage) not in self._memories:
            self._memories[id(tensor.storage)] = torch.from_numpy(np.array(tensor.storage.array))
        memory = self._memories[id(tensor.storage)]
        return memory.as_strided(tensor.size, tensor.stride, tensor.storage_offset - 1)
