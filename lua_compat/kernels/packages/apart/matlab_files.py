"""MATLAB's files, read by scipy, as .t7 bytes: tensors, strings, tables."""

import io
from typing import Any

import numpy as np

from lua_compat import t7
from lua_compat.kernels.packages.extras import extra
from lua_compat.kernels.strings import from_lua, to_lua

# imported before the forks that read
scipy_io = extra("scipy.io", "matio", "scipy")

_DEEPEST = 100
# scipy's and our own; others are accidental
_TELLING = (ValueError, NotImplementedError, scipy_io.matlab.MatReadError)
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
    """Returns a variable as an object for a .t7 file; None for one without elements."""
    if depth > _DEEPEST:
        raise ValueError("structures nested too deeply")
    if hasattr(array, "tocsc"):
        raise ValueError("a sparse matrix, which Torch7 has no tensors of")
    if array is None:  # an element of structures without fields
        return t7.LuaTable({})
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
        if array.size == 1 and array.flat[0] is None:
            return t7.LuaTable({})
        cells = [_value(cell, strings, depth + 1) for cell in array.reshape(-1, order="F")]
        return t7.LuaTable({place: cell for place, cell in enumerate(cells, 1) if cell is not None})
    return _tensor(array)


def _named(name: str, array: Any, strings: bool) -> Any:
    """Returns ``_value``; its errors name the variable."""
    try:
        return _value(array, strings, 0)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _read(path: str, strings: bool, *names: str) -> str:
    wanted = [from_lua(name) for name in names] or None
    with open(from_lua(path), "rb") as file:
        try:
            found = scipy_io.loadmat(file, variable_names=wanted)
            values = {
                name: _named(name, array, strings)
                for name, array in found.items()
                if not name.startswith("__")
            }
        except Exception as error:  # scipy raises many kinds for a damaged file
            if isinstance(error, OSError) and error.strerror:  # the disk's error, not the file's
                raise
            said = str(error).partition("\n")[0][:200] if isinstance(error, _TELLING) else "it is damaged"
            raise ValueError(to_lua(said)) from None
    written = io.BytesIO()
    table = t7.LuaTable({name: value for name, value in values.items() if value is not None})
    t7.save(written, table)
    return written.getvalue().decode("latin-1")


FUNCTIONS = {"read": _read}
