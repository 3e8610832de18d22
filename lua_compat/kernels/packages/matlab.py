"""MATLAB's files (up to version 7) for the Lua package matio: read in a separate process, written by scipy.

Values are passed as .t7 bytes: tensors, strings, tables.
"""

import io
import os
from functools import cache
from typing import Any

import numpy as np

from lua_compat import t7
from lua_compat.helper_process.library import Ended, Library
from lua_compat.kernels.packages.extras import check_extra, extra
from lua_compat.kernels.strings import from_lua, to_lua
from lua_compat.whole_file import replaced_when_whole

__all__ = ["matlab_load", "matlab_save"]

_DEEPEST = 100


@cache
def _reader() -> Library:
    return Library("lua_compat.kernels.packages.apart.matlab_files", forks=True)


def matlab_load(path: str, strings: bool, *names: str) -> str:
    """Returns the variables of a file (those named, or all) as a table in .t7 bytes.

    ``strings``: text as strings, not as CharTensors. Raises ValueError for what is not such a file.
    """
    check_extra("scipy", "matio", "scipy")
    file = from_lua(path)
    with open(file, "rb"):
        pass
    try:
        read: str = _reader().call("read", to_lua(os.path.abspath(file)), strings, *names)
        return read
    except Ended as end:
        raise ValueError(f"matio: {path} cannot be read: it is damaged (scipy: {end})") from None
    except ValueError as error:
        raise ValueError(f"matio: {path} cannot be read: {error}") from None


def _array(value: Any, depth: int) -> Any:
    if depth > _DEEPEST:
        raise ValueError("matio: tables nested too deeply")
    if isinstance(value, t7.Tensor):
        array = np.ascontiguousarray(value.numpy())
        return array.reshape(-1, 1) if array.ndim == 1 else array
    if isinstance(value, t7.LuaTable):
        return {str(key): _array(entry, depth + 1) for key, entry in value.items()}
    if isinstance(value, bool):
        return np.array([[value]])
    if isinstance(value, int | float):
        return np.array([[float(value)]])
    if isinstance(value, str | bytes):
        return t7.lua_bytes(value).decode("utf-8", "replace")
    raise ValueError(f"matio: Unsupported type: {type(value).__name__}")


def matlab_save(path: str, data: str) -> None:
    """Writes a table of variables, in .t7 bytes: tensors, numbers, strings, booleans, and tables of these."""
    scipy_io = extra("scipy.io", "matio", "scipy")
    values = t7.load(io.BytesIO(data.encode("latin-1")))
    arrays = _array(values, 0)
    with replaced_when_whole(from_lua(path)) as whole, open(whole, "wb") as file:
        scipy_io.savemat(file, arrays, long_field_names=True)
