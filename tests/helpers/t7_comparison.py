"""Values of .t7 files compared with their structure: one object must be one object in the other, too."""

from typing import Any

import numpy as np

from lua_compat import t7


def describe(value: Any) -> list[tuple[Any, ...]]:
    """A flat list, equal for equal values: types, scalars, array bytes (any NaN is one NaN), identities."""
    described: list[tuple[Any, ...]] = []
    numbers: dict[int, int] = {}
    todo = [value]
    while todo:
        part = todo.pop()
        if part is None or isinstance(part, bool | int | str | bytes):
            described.append((type(part).__name__, part))
            continue
        if isinstance(part, float):
            described.append(("float", repr(part)))
            continue
        if id(part) in numbers:
            described.append(("again", numbers[id(part)]))
            continue
        numbers[id(part)] = len(numbers)
        if isinstance(part, t7.LuaTable):
            described.append(("table", len(part)))
            for key, entry in reversed(list(part.items())):
                todo += [entry, key]
        elif isinstance(part, t7.TorchObject):
            described.append((part.typename, part.version, part.versioned))
            todo += [
                *(reversed(part.fields) if isinstance(part.fields, list) else [part.fields]),
                part.preamble,
            ]
        elif isinstance(part, t7.Tensor):
            described.append((part.typename, part.version, part.size, part.stride, part.storage_offset))
            todo.append(part.storage)
        elif isinstance(part, t7.Storage):
            described.append((part.typename, part.version, _bytes(part.array)))
        elif isinstance(part, t7.LuaFunction):
            described.append(("function", part.bytecode))
            todo.append(part.upvalues)
        else:
            raise TypeError(type(part))
    return described


def _bytes(array: np.ndarray) -> bytes:
    plain = array.astype(array.dtype)
    if plain.dtype.kind == "f":
        plain[np.isnan(plain)] = np.nan
    return plain.tobytes()
