"""Torch7 models in .t7 files: read, found in what the file holds, and converted to PyTorch.

A model is named by its file, whatever that ends in, and the Lua files that declare its classes after a plus:
``model.net+util/OneHot.lua``.
"""

import itertools
import os
import re
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from convnet_benchmarks.errors import UserError

if TYPE_CHECKING:
    from torch import nn

    from lua_compat import t7
    from lua_compat.conversion import Converted


_LUA_FILES = re.compile(r"(.+?)((?:\+[^+]+\.lua)*)", re.DOTALL)
_DIGITS = tuple(str(digit).encode() for digit in range(9))
_MOST_NAMED = 12  # models in a message
_OTHERS = (".py", ".lua", ".json", ".txt", ".log")


def without_lua_files(name: str) -> tuple[str, tuple[str, ...]]:
    """Returns what stands before the Lua files of ``model.t7+OneHot.lua``, and those files."""
    match = _LUA_FILES.fullmatch(name)
    model, files = match.groups() if match else (name, "")
    return model, tuple(filter(None, files.split("+")))


def is_t7_file(path: str) -> bool:
    """Returns whether there is a file that Torch7 wrote: by its ending .t7, or else by its first bytes."""
    if not os.path.isfile(path) or path.lower().endswith(_OTHERS):
        return False
    if path.lower().endswith(".t7"):
        return True
    from lua_compat.t7 import T7FormatError, detect_encoding

    try:
        with open(path, "rb") as file:
            start = file.read(16)
        found = detect_encoding(start[:4], 0)
    except (OSError, T7FormatError):
        return False
    return found.encoding == "binary" or start.splitlines()[0].strip() in _DIGITS


def load_module(file: str, place: str | None, option: str, lua: Sequence[str] = ()) -> "nn.Module":
    """Returns the model at ``place`` in ``file``, or the only one there, as a torch.nn.Module with its
    parameters.

    ``lua``: Lua files that declare classes, besides those named in ``file``. Raises UserError, naming the
    file or ``option`` (which gave the place), for what cannot be found, read or converted.
    """
    from lua_compat import t7

    file, more = without_lua_files(file)
    path, source = _find_model(file, place, option)
    assert isinstance(source, t7.TorchObject)
    return convert_model(source, path, file, (*more, *lua)).module


def convert_model(source: "t7.TorchObject", path: str, file: str, lua: Sequence[str]) -> "Converted":
    """Returns the model converted; raises UserError, which names the file, where that cannot be."""
    from lua_compat.conversion import ConversionError, convert
    from lua_compat.lua_modules import LuaError

    try:
        return convert(source, path, lua=lua)
    except OSError as error:
        raise UserError(f"{error.filename}: {error.strerror or error}") from None
    except LuaError as error:
        raise UserError(f"a Lua file cannot be run: {error}") from None
    except ConversionError as error:
        raise UserError(f"{file}: {error}") from None


def _find_model(file: str, place: str | None, option: str) -> tuple[str, Any]:
    """Returns the model and its path: at ``place``, the file's only object, or the only model in its
    tables.
    """
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
    models = dict(_models_in(value, "" if place is None else place, set()))
    if len(models) == 1:
        ((name, model),) = models.items()
        if name.count(".") + name.count("[") > 1:
            print(f"{file}: the model is at {name.lstrip('.')}", file=sys.stderr)
        return name.lstrip("."), model
    shown = ", ".join(name.lstrip(".") for name in itertools.islice(models, _MOST_NAMED))
    more = ", ..." if len(models) > _MOST_NAMED else ""
    found = f"it holds several: {shown}{more}" if models else "there is none"
    raise UserError(f"{file}: {option} must name a model; at {path} {found}")


def _models_in(value: Any, path: str, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """Yields the models in tables and other objects, with their paths, but not those inside a model."""
    from lua_compat.t7 import LuaTable, TorchObject
    from lua_compat.t7.paths import step

    table = value.fields if isinstance(value, TorchObject) else value
    if not isinstance(table, LuaTable) or id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, TorchObject) and value.typename.endswith("Criterion"):
        return
    for key, item in table.items():
        if is_model(item):
            if id(item) not in seen:
                seen.add(id(item))
                yield f"{path}{step(key)}", item
        else:
            yield from _models_in(item, f"{path}{step(key)}", seen)


def is_model(value: Any) -> bool:
    """Returns whether it is a module, of nn, cudnn, nngraph or someone's own; criterions are not."""
    from lua_compat.t7 import TorchObject

    if not isinstance(value, TorchObject) or value.typename.endswith("Criterion"):
        return False
    return value.typename.split(".")[0] in ("nn", "cudnn", "nngraph") or "gradInput" in value


def load_t7(path: str) -> Any:
    """Returns the Lua object in a .t7 file; raises UserError for one that is broken or cannot be read."""
    from lua_compat import t7
    from lua_compat.t7.inspection import unread_note

    try:
        with t7.Reader(path) as reader:
            value = reader.read()
            note = unread_note(reader)
        if note is not None:
            print(f"{path}: {note}", file=sys.stderr)
        return value
    except t7.T7FormatError as error:
        raise UserError(f"{path}: {error}") from None
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from None
