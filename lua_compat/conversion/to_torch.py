"""A loaded Torch7 model as a torch.nn.Module."""

from dataclasses import dataclass

from torch import nn

from lua_compat import t7
from lua_compat.conversion.reading import Converter
from lua_compat.conversion.registry import find_conversion


def to_torch(model: t7.TorchObject, path: str = "root") -> nn.Module:
    """Returns a torch.nn.Module that computes what ``model`` does, an nn, cudnn or nngraph module from
    t7.load.

    Parameters are copies in the model's number type, on the CPU; those that shared memory are one Parameter.
    Each module is in training or evaluate mode as the file says. Tables are lists. Raises ConversionError
    with the place in the model (from ``path`` on) of a module that cannot be converted.
    """
    return convert(model, path).module


@dataclass(frozen=True)
class Converted:
    """A converted model. ``places``: path, Torch7 module and torch.nn counterpart of every module once,
    children first."""

    module: nn.Module
    places: tuple[tuple[str, t7.TorchObject, nn.Module], ...]


def convert(model: t7.TorchObject, path: str = "root") -> Converted:
    """Does as ``to_torch``, and also returns the counterpart of every module in the model."""
    converter = Converter(find_conversion)
    return Converted(converter.module(model, path), tuple(converter.places))
