"""A loaded Torch7 model as a torch.nn.Module."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from torch import nn

from lua_compat import t7
from lua_compat.conversion.lua_classes import lua_conversion
from lua_compat.conversion.reading import Conversion, Converter, FindConversion
from lua_compat.conversion.registry import find_conversion
from lua_compat.lua_modules import LuaFile, LuaState

LuaFiles = Sequence[str | os.PathLike[str] | LuaFile]


def to_torch(
    model: t7.TorchObject,
    path: str = "root",
    *,
    lua: LuaFiles = (),
    conversions: Mapping[str, Conversion] | None = None,
) -> nn.Module:
    """Returns the torch.nn.Module equivalent to ``model``, an nn, cudnn or nngraph module from
    t7.load.

    Parameters are copies in the model's number type, on the CPU; those that shared memory are one Parameter.
    Each module is in training or evaluate mode as the file says. Tables are lists.

    ``conversions``: functions of ``Fields`` that return a torch.nn.Module, by class name, such as 'nn.OneHot'
    or 'OneHot'; they take precedence over the built-in ones. ``lua``: files that declare classes. Lua
    computes those, and the classes without a conversion that th knows. Raises ConversionError with the paths
    in the model (from ``path`` on) of modules that cannot be converted, OSError for a Lua file that cannot be
    read, LuaError for one that fails.
    """
    return convert(model, path, lua=lua, conversions=conversions).module


@dataclass(frozen=True)
class Converted:
    """A converted model. ``places``: path, Torch7 module and torch.nn counterpart of every module, without
    duplicates, children first."""

    module: nn.Module
    places: tuple[tuple[str, t7.TorchObject, nn.Module], ...]


def convert(
    model: t7.TorchObject,
    path: str = "root",
    *,
    lua: LuaFiles = (),
    conversions: Mapping[str, Conversion] | None = None,
) -> Converted:
    """Converts like ``to_torch``, and also returns the counterpart of every module in the model."""
    converter = Converter(_finder(LuaState(lua), conversions or {}))
    return Converted(converter.model(model, path), tuple(converter.places))


def _finder(state: LuaState, own: Mapping[str, Conversion]) -> FindConversion:
    """Returns a function that finds a class's conversion: the caller's, the files', a built-in one, th's
    class."""

    def find(typename: str) -> Conversion | None:
        given = own.get(typename) or own.get(typename.rpartition(".")[2])
        if given is not None:
            return given
        if state.files and typename in state.declared:
            return lua_conversion(state)
        return find_conversion(typename) or (lua_conversion(state) if state.knows(typename) else None)

    return find
