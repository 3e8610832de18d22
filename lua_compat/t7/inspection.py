"""The contents of a .t7 file, row by row: types, sizes, and values in a few words."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lua_compat.t7.objects import LuaFunction, LuaTable, Storage, Tensor, TorchObject
from lua_compat.t7.paths import step
from lua_compat.t7.reader import Reader

_SHOWN_ELEMENTS = 8
_SHOWN_TEXT = 60
_BLOCK = 1 << 17


@dataclass
class Row:
    """One object or value: its path, how deep it is, its key, its type, and a description.

    ``facts`` has the same in numbers; the row of an object met before says where, as ``again``. A row without
    a type stands for the entries of a table that are left out.
    """

    path: str
    depth: int
    label: str
    kind: str
    summary: str
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class Place:
    """A part of a tree: what it is in, the step to it, how deep it is, and where it was met before."""

    parent: "Place | None"
    label: str
    part: Any
    depth: int
    again: "Place | None" = None

    @property
    def path(self) -> str:
        labels, place = [], self
        while place.parent is not None:
            labels.append(place.label)
            place = place.parent
        return "root" + "".join(reversed(labels))


def places(value: Any, entries: int | None = None) -> Iterator[Place]:
    """Yields every part of a tree, depth first, at most ``entries`` of each table.

    What is in a part met again is not visited again. Nesting costs no recursion.
    """
    root = Place(None, "root", value, 0)
    first: dict[int, Place] = {}
    todo: list[Iterator[Place]] = [iter([root])]
    while todo:
        place = next(todo[-1], None)
        if place is None:
            todo.pop()
            continue
        part = place.part
        place.again = first.get(id(part))
        yield place
        if place.again is None and isinstance(part, LuaTable | TorchObject | LuaFunction | Tensor | Storage):
            first[id(part)] = place
            todo.append(_children(place, entries))


def rows(value: Any, entries: int | None = None) -> Iterator[Row]:
    """Yields a row for each of the ``places``."""
    shown = _elements_shown(value)
    for place in places(value, entries):
        label = place.label if place.part is _OMITTED else place.label.removeprefix(".")
        summary: str
        facts: dict[str, Any]
        if place.part is _OMITTED:
            summary, facts = "not shown", {}
        elif place.again is not None:
            first = place.again.path
            summary, facts = f"again: {first}", {"again": first}
        else:
            summary, facts = _describe(place.part)
            if isinstance(place.part, Tensor):
                hidden, more = _describe_hidden(place.part, shown)
                summary, facts = summary + hidden, {**facts, **more}
        yield Row(place.path, place.depth, label, _kind(place.part), summary, facts)


_OMITTED = object()


def _elements_shown(value: Any) -> dict[int, int]:
    """Returns how many elements of each storage, by its id, the tensors of a tree show at most."""
    shown: dict[int, int] = {}
    for place in places(value):
        part = place.part
        if isinstance(part, Tensor) and part.storage is not None and place.again is None:
            distinct = math.prod(n for n, step in zip(part.size, part.stride, strict=True) if step)
            shown[id(part.storage)] = shown.get(id(part.storage), 0) + (distinct if part.size else 0)
    return shown


def _describe_hidden(tensor: Tensor, shown: dict[int, int]) -> tuple[str, dict[str, Any]]:
    """Describes the rest of a storage that a view keeps, if larger than what tensors show and than 64 kB."""
    storage = tensor.storage
    if storage is None:
        return "", {}
    count, seen = len(storage), shown[id(storage)]
    hidden = (count - seen) * storage.array.itemsize
    if seen * 2 > count or hidden < 1 << 16:
        return "", {}
    return f"  (a view of {count} elements, {hidden / 1e6:.3g} MB of which no tensor shows)", {
        "hidden_bytes": hidden
    }


def _kind(value: Any) -> str:
    if value is _OMITTED:
        return ""
    if value is None:
        return "nil"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str | bytes):
        return "string"
    if isinstance(value, LuaTable):
        return "table"
    if isinstance(value, LuaFunction):
        return "function"
    if isinstance(value, TorchObject | Tensor | Storage):
        return value.typename
    return type(value).__name__  # the value of a class whose body is neither table nor list


def _children(place: Place, entries: int | None) -> Iterator[Place]:
    for label, part in _parts(place.part, entries):
        yield Place(place, label, part, place.depth + 1)


def _parts(value: Any, entries: int | None) -> Iterator[tuple[str, Any]]:
    if isinstance(value, LuaFunction):
        yield ".<upvalues>", value.upvalues
        return
    body = value
    if isinstance(value, TorchObject):
        if value.preamble is not None:
            yield ".<preamble>", value.preamble
        body = value.fields
    items: Iterable[tuple[Any, Any]] = ()
    if isinstance(body, list):
        items = enumerate(body, 1)
    elif isinstance(body, LuaTable) and not (body is value and _is_plain_list(body)):
        items = body.items()
    for i, (key, part) in enumerate(items):
        if entries is not None and i >= entries:
            yield f"... {len(body) - i} more entries", _OMITTED
            return
        yield step(key), part


def _is_plain_list(table: LuaTable) -> bool:
    """Returns whether the table is a list of scalars: shown on one line."""
    plain = (bool, int, float, str, bytes)
    return bool(table.array_part) and not table.hash_part and all(type(v) in plain for v in table.array_part)


def _describe(value: Any) -> tuple[str, dict[str, Any]]:
    if isinstance(value, Tensor):
        return _describe_tensor(value)
    if isinstance(value, Storage):
        summary, facts = _describe_elements(value.array)
        return f"{len(value)}  {summary}".rstrip(), {"count": len(value), **facts}
    if isinstance(value, LuaTable):
        facts = {"entries": len(value)}
        if _is_plain_list(value):
            shown = value.array_part[:_SHOWN_ELEMENTS]
            more = len(value) - len(shown)
            text = ", ".join(map(_scalar, shown)) + (f", ... {more} more" if more else "")
            return f"{{{text}}}", {**facts, "first": [_json_scalar(v) for v in shown]}
        return f"{len(value)} {'entry' if len(value) == 1 else 'entries'}", facts
    if isinstance(value, LuaFunction):
        problem = _why_unloadable(value.bytecode)
        facts = {"bytes": len(value.bytecode), **({"unloadable": problem} if problem else {})}
        return f"{len(value.bytecode)} bytes of bytecode, never run" + (
            f"; {problem}" if problem else ""
        ), facts
    if isinstance(value, TorchObject):
        facts = {"version": value.version}
        if isinstance(value.fields, bytes):
            return f"version {value.version}, {len(value.fields)} bytes", {
                **facts,
                "bytes": len(value.fields),
            }
        return f"version {value.version}", facts
    return _scalar(value), {"value": _json_scalar(value)}


_LUAJIT = b"\x1bLJ"
_TWO_SLOTS = 8  # the flag of a LuaJIT with LJ_GC64


def _why_unloadable(bytecode: bytes) -> str | None:
    """Returns why th cannot load a function's bytecode, as far as its first bytes tell; else None."""
    if bytecode[:3] != _LUAJIT:
        return "not of LuaJIT: th cannot load it"
    if len(bytecode) < 5 or bytecode[3] != 2:
        return "of another version of LuaJIT: th cannot load it"
    return None if bytecode[4] & _TWO_SLOTS else "of a LuaJIT without LJ_GC64: th cannot load it"


def _scalar(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "nil" if value is None else str(value).lower()
    if isinstance(value, str | bytes):
        cut = value if len(value) <= _SHOWN_TEXT else value[:_SHOWN_TEXT]
        shown = repr(cut).removeprefix("b")
        return shown if len(value) <= _SHOWN_TEXT else f"{shown}... {len(value)} long"
    return f"{value:.14g}" if isinstance(value, float) else str(value)


def _json_scalar(value: Any) -> Any:
    if isinstance(value, bytes):
        value = value.decode("latin-1")
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return (
        value if not isinstance(value, str) or len(value) <= 10 * _SHOWN_TEXT else value[: 10 * _SHOWN_TEXT]
    )


def _describe_tensor(tensor: Tensor) -> tuple[str, dict[str, Any]]:
    sizes = "x".join(map(str, tensor.size)) or "no dimension"
    facts: dict[str, Any] = {
        "size": list(tensor.size),
        "stride": list(tensor.stride),
        "storage_offset": tensor.storage_offset,
    }
    available = 0 if tensor.storage is None else len(tensor.storage)
    # An expanded dimension repeats its elements: one copy is enough.
    array = tensor.numpy()
    array = array[tuple(slice(1) if step == 0 and size else slice(None)
                        for step, size in zip(array.strides, array.shape, strict=True))]  # fmt: skip
    if array.size > 4 * available:
        return f"{sizes}  overlapping itself", facts
    repeated = array.size != tensor.numel()
    summary, more = _describe_elements(array, show=not repeated)
    return f"{sizes}  {summary}".rstrip(), {**facts, **more}


def _describe_elements(array: np.ndarray, show: bool = True) -> tuple[str, dict[str, Any]]:
    """Returns the elements themselves if few, else the least, the largest and the mean; NaNs are counted
    apart."""
    if array.size == 0:
        return "", {}
    if show and array.size <= _SHOWN_ELEMENTS:
        values = array.reshape(-1).tolist()
        return "[" + ", ".join(f"{v:.6g}" for v in values) + "]", {
            "values": [_json_scalar(v) for v in values]
        }
    least, largest, total, nans = math.inf, -math.inf, 0.0, 0
    blocks: Any = np.nditer(
        [array],
        ["external_loop", "buffered"],
        [["readonly"]],
        op_dtypes=[np.dtype(np.float64)],
        buffersize=_BLOCK,
    )
    with np.errstate(all="ignore"):
        for block in blocks:
            valid = block[~np.isnan(block)]
            nans += block.size - valid.size
            if valid.size:
                least, largest = min(least, float(valid.min())), max(largest, float(valid.max()))
                total += float(valid.sum())
    if nans == array.size:
        return "all NaN", {"nan": nans}
    mean = total / (array.size - nans)
    facts = {
        "min": _json_scalar(least),
        "max": _json_scalar(largest),
        "mean": _json_scalar(mean),
        "nan": nans,
    }
    text = f"{least:.6g} .. {largest:.6g}, mean {mean:.6g}" + (f", {nans} NaN" if nans else "")
    return text, facts


def unread_note(reader: Reader) -> str | None:
    """Returns a line on what follows the last object that was read; None if nothing does."""
    if not reader.unread:
        return None
    end = reader.position
    return f"{reader.unread} bytes follow the first object, which ends at byte {end}; they were not read"
