"""Torch7 models in .t7 files, found and converted to PyTorch."""

from typing import TYPE_CHECKING, Any

from convnet_benchmarks.errors import UserError

if TYPE_CHECKING:
    from torch import nn


def load_module(file: str, place: str | None, option: str) -> "nn.Module":
    """The model at ``place`` in ``file``, or the only one there, as a torch.nn.Module with its parameters.

    Raises UserError, naming the file or ``option`` (which gave the place), for what cannot be found, read or
    converted.
    """
    from lua_compat import t7
    from lua_compat.conversion import ConversionError, to_torch

    path, source = _find_model(file, place, option)
    assert isinstance(source, t7.TorchObject)
    try:
        return to_torch(source, path)
    except ConversionError as error:
        raise UserError(f"{file}: {error}") from None


def _find_model(file: str, place: str | None, option: str) -> tuple[str, Any]:
    """The model and its path: at ``place``, the file's only object, or the only model in its table."""
    from convnet_benchmarks.commands.crosscheck.model import is_model
    from convnet_benchmarks.commands.crosscheck.readers import load_t7
    from lua_compat.t7 import LuaTable
    from lua_compat.t7.paths import lookup

    value = load_t7(file)
    if place is not None:
        try:
            value = lookup(value, place)
        except KeyError as error:
            raise UserError(f"{option}: {error.args[0]}") from None
    path = place or "root"
    if is_model(value):
        return path, value
    entries = value.items() if isinstance(value, LuaTable) else ()
    models = {str(key): item for key, item in entries if is_model(item)}
    if len(models) == 1:
        ((name, model),) = models.items()
        return name if place is None else f"{place}.{name}", model
    found = f"it holds several: {', '.join(models)}" if models else "there is none"
    raise UserError(f"{file}: {option} must name a model; at {path} {found}")
