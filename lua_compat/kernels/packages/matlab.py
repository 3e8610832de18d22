"""MATLAB's files (up to version 7) for the Lua package matio, read and written by scipy.

Values cross as .t7 bytes: tensors, strings, tables.
"""

import io
from typing import Any

import numpy as np

from lua_compat import t7
from lua_compat.kernels.packages.extras import extra
from lua_compat.kernels.strings import from_lua, to_lua

__all__ = ["matlab_load", "matlab_save"]

_DEEPEST = 100
_KINDS = {"bool": np.uint8, "uint16": np.int32, "uint32": np.int64, "uint64": np.int64}


def _tensor(array: np.ndarray) -> t7.Tensor:
    if array.dtype.kind == "c":
        raise ValueError("complex numbers, which Torch7 has no tensors of")
    native = array.astype(_KINDS.get(array.dtype.name, array.dtype.newbyteorder("=")), order="C")
    return t7.Tensor.from_numpy(native)


def _struct(array: np.ndarray, place: tuple[int, ...], strings: bool, depth: int) -> t7.LuaTable:
    fields = {name: _value(array[place][name], strings, depth) for name in array.dtype.names or ()}
    return t7.LuaTable({name: value for name, value in fields.items() if value is not None})


def _value(array: Any, strings: bool, depth: int) -> Any:
    """Returns a variable as what a .t7 file can hold; None for one without elements."""
    if depth > _DEEPEST:
        raise ValueError("structures within structures that go too deep")
    if not isinstance(array, np.ndarray):
        raise ValueError(f"a value of the kind {type(array).__name__}")
    if array.dtype.kind in "US":
        rows = [to_lua(str(row)) for row in array.reshape(-1)]
        if strings:
            return "".join(rows).encode("latin-1").decode("utf-8", "surrogateescape") if rows else ""
        return _tensor(np.frombuffer("".join(rows).encode("latin-1"), np.int8)[None]) if rows else None
    if array.size == 0:
        return None
    if array.dtype.names is not None:
        if array.size == 1:
            return _struct(array, (0,) * array.ndim, strings, depth + 1)
        if array.ndim > 2:
            raise ValueError("structures in more than two dimensions")
        rows_of = [
            t7.LuaTable({j + 1: _struct(array, (i, j), strings, depth + 1) for j in range(array.shape[1])})
            for i in range(array.shape[0])
        ]
        return t7.LuaTable(dict(enumerate(rows_of, 1)))
    if array.dtype.kind == "O":
        cells = [_value(cell, strings, depth + 1) for cell in array.reshape(-1, order="F")]
        return t7.LuaTable({place: cell for place, cell in enumerate(cells, 1) if cell is not None})
    return _tensor(array)


def matlab_load(path: str, strings: bool, *names: str) -> str:
    """Returns the variables of a file (those named, or all) as a table in .t7 bytes.

    ``strings``: text as strings, not as CharTensors. Raises ValueError for what is not such a file.
    """
    scipy_io = extra("scipy.io", "matio", "scipy")
    path = from_lua(path)
    wanted = [from_lua(name) for name in names] or None
    with open(path, "rb") as file:
        try:
            found = scipy_io.loadmat(file, variable_names=wanted)
            values = {
                name: _value(array, strings, 0) for name, array in found.items() if not name.startswith("__")
            }
        except Exception as error:  # scipy raises many kinds for a damaged file
            if isinstance(error, OSError) and error.strerror:  # the disk's, not the file's
                raise
            said = str(error).partition("\n")[0][:200]
            raise ValueError(to_lua(f"matio: {path} cannot be read: {said}")) from None
    written = io.BytesIO()
    table = t7.LuaTable({name: value for name, value in values.items() if value is not None})
    t7.save(written, table)
    return written.getvalue().decode("latin-1")


def _array(value: Any, depth: int) -> Any:
    if depth > _DEEPEST:
        raise ValueError("matio: tables within tables that go too deep")
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
    scipy_io.savemat(from_lua(path), _array(values, 0), long_field_names=True)
