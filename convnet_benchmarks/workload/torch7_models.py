"""Torch7 models in .t7 files: read, found in what the file holds, and converted to PyTorch."""

from typing import TYPE_CHECKING, Any

from convnet_benchmarks.errors import UserError

if TYPE_CHECKING:
    from torch import nn


def load_module(file: str, place: str | None, option: str) -> "nn.Module":
    """Returns the model at ``place`` in ``file``, or the only one there, as a torch.nn.Module with its
    parameters.

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
    """Returns the model and its path: at ``place``, the file's only object, or the only model in its
    table.
    """
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


def is_model(value: Any) -> bool:
    """Returns whether it is a module of nn, cudnn or nngraph; criterions are not."""
    from lua_compat.t7 import TorchObject

    if not isinstance(value, TorchObject) or value.typename.endswith("Criterion"):
        return False
    return value.typename.split(".")[0] in ("nn", "cudnn", "nngraph")


def load_t7(path: str) -> Any:
    """Returns the Lua object in a .t7 file; raises UserError for one that is broken or cannot be read."""
    from lua_compat import t7

    try:
        return t7.load(path)
    except t7.T7FormatError as error:
        raise UserError(f"{path}: {error}") from None
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from None
