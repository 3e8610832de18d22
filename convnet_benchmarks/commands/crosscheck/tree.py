"""Result files of any kind as one flat tree: dotted path -> array, number or text.

Reads .t7, .h5 / .hdf5, .npz, .npy, .pt / .pth, .safetensors and .json. Places in a list are numbered from
1, as in Lua, so that the paths of a .t7 file and of the same results from Python are equal; a '/' in a name
counts as the '.' between names.
"""

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from convnet_benchmarks.commands.crosscheck.exact_numbers import exact_type
from convnet_benchmarks.commands.crosscheck.readers import READERS, kind_of
from convnet_benchmarks.errors import UserError

ROOT = "root"
_TEXT_KINDS = "US"  # of numpy


@dataclass(frozen=True)
class Entry:
    """One leaf of a result file.

    ``precision``: the element type as it was stored; 'number' for a plain number of Lua or JSON, 'text',
    'boolean' and 'integer' (one that no number type holds) for what ``value`` holds as such. bfloat16 arrays
    are held as float32.
    """

    value: Any  # numpy array, str, bool or int
    precision: str

    @property
    def is_array(self) -> bool:
        return isinstance(self.value, np.ndarray)


@dataclass
class ResultTree:
    """``entries`` in the order of the file. ``aliases``: a table met again -> where it was first met."""

    entries: dict[str, Entry] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)

    def find(self, path: str) -> Entry | None:
        """Returns the entry at ``path``, also where a table on the way is one that was met before."""
        if path in self.entries:
            return self.entries[path]
        for alias, first in self.aliases.items():
            if path.startswith(alias + "."):
                return self.find((first + path[len(alias) :]).lstrip("."))
        return None

    def holds(self, path: str) -> bool:
        """Returns whether there is an entry at ``path`` or below it."""
        known = (*self.entries, *self.aliases)
        return any(entry == path or entry.startswith(f"{path}.") for entry in known)


def load_results(path: str) -> ResultTree:
    """Reads a result file by its suffix, or Torch7's by its content; raises UserError for one that is
    broken or of no kind."""
    kind = kind_of(path)
    if kind is None:
        raise UserError(f"{path}: unknown kind of result file; accepted: {', '.join(READERS)}")
    try:
        value = READERS[kind](path)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from None
    try:
        return tree_of(value)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def tree_of(value: Any) -> ResultTree:
    """Returns the tree of a value: Lua objects, mappings, lists, arrays, torch tensors, numbers and
    texts, nested.

    Raises UserError that names the path of what cannot be compared.
    """
    tree = ResultTree()
    seen: dict[int, str] = {}
    # Children are pushed in reverse, so that entries come in the file's order; no recursion, however deep.
    stack: list[tuple[str, Any]] = [("", value)]
    while stack:
        path, item = stack.pop()
        try:
            entry = _leaf(item)
        except _UncomparableError as error:
            raise UserError(f"{path or ROOT}: {error}") from None
        if entry is not None:
            _add(tree, path or ROOT, entry)
            continue
        children = _children(item)
        if children is None:
            raise UserError(f"{path or ROOT}: holds a {type(item).__name__}, which cannot be compared")
        if id(item) in seen:
            tree.aliases[path] = seen[id(item)]
            continue
        seen[id(item)] = path
        named = [(f"{path}.{name}" if path else name, child) for name, child in children]
        stack.extend(reversed(named))
    return tree


def _add(tree: ResultTree, path: str, entry: Entry) -> None:
    if path in tree.entries:
        raise UserError(f"{path}: two values have this path")
    tree.entries[path] = entry


class _UncomparableError(Exception):
    """A leaf cannot be compared. The message says why, and what is accepted."""


def _leaf(item: Any) -> Entry | None:
    if isinstance(item, np.ndarray) and item.dtype.kind in _TEXT_KINDS:
        if item.dtype.kind == "U" and not _is_unicode(item):
            raise _UncomparableError("holds a text that is not valid Unicode; accepted: Unicode")
        if item.ndim:
            return None  # its texts are leaves
        item = item.item()
    if isinstance(item, bool | np.bool_):
        return Entry(bool(item), "boolean")
    if isinstance(item, int):
        return _whole_number(item)
    if isinstance(item, float):
        return Entry(np.asarray(item, dtype=np.float64), "number")
    if isinstance(item, str):
        return Entry(str(item), "text")  # of numpy, too
    if isinstance(item, bytes):
        return Entry(item.decode("latin-1"), "text")
    if item is None:
        return Entry("nil", "text")
    if isinstance(item, np.ndarray | np.generic):
        if item.dtype.kind not in "biufc" or item.real.itemsize > 8:
            accepted = "numbers of up to 64 bits (complex ones of 128), booleans and texts"
            raise _UncomparableError(f"holds elements of type {item.dtype}; accepted: {accepted}")
        return Entry(np.asarray(item), item.dtype.name)
    module = type(item).__module__
    if module.startswith("lua_compat.t7"):
        return _lua_leaf(item)
    if module.startswith("torch"):
        return _torch_leaf(item)
    return None


def _whole_number(item: int) -> Entry:
    """Keeps it unrounded: as a double, a 64-bit integer or, where neither holds it, Python's number."""
    dtype = exact_type([item])
    if dtype is None:
        return Entry(item, "integer")
    return Entry(np.asarray(item, dtype), "number" if dtype is np.float64 else dtype.__name__)


def _is_unicode(texts: np.ndarray) -> bool:
    """Returns whether all are characters of Python; numpy takes any 32 bits for one."""
    code_points = np.frombuffer(texts.tobytes(), np.dtype(np.uint32).newbyteorder(texts.dtype.byteorder))
    return bool(code_points.max(initial=0) <= sys.maxunicode)


def _lua_leaf(item: Any) -> Entry | None:
    from lua_compat.t7 import LuaFunction, Storage, Tensor

    if isinstance(item, Tensor):
        return Entry(item.numpy(), item.dtype.name)
    if isinstance(item, Storage):
        return Entry(item.array, item.dtype.name)
    if isinstance(item, LuaFunction):
        return Entry("function", "text")
    return None


def _torch_leaf(item: Any) -> Entry | None:
    import torch

    if not isinstance(item, torch.Tensor):
        return Entry(str(item), "text") if isinstance(item, torch.dtype | torch.device | torch.Size) else None
    kind = _without_plain_values(item)
    if kind:
        raise _UncomparableError(f"holds a {kind} tensor; accepted: dense tensors, saved with their values")
    tensor = item.detach().cpu().resolve_conj().resolve_neg()
    precision = str(tensor.dtype).removeprefix("torch.")
    # numpy has no bfloat16, no 8-bit floats and no complex32: larger types hold all of them exactly.
    if tensor.dtype.itemsize <= 2 and tensor.dtype.is_floating_point:
        tensor = tensor.float()
    elif tensor.dtype == torch.complex32:
        tensor = tensor.to(torch.complex64)
    return Entry(tensor.numpy(), precision)


def _without_plain_values(tensor: Any) -> str:
    """Returns the kind of a tensor that numpy cannot hold; '' for one that it can."""
    import torch

    if tensor.is_nested:
        return "nested"
    if tensor.is_quantized:
        return "quantized"
    if tensor.layout != torch.strided:
        return "sparse"
    return "meta" if tensor.is_meta else ""


def _children(item: Any) -> Iterable[tuple[str, Any]] | None:
    if type(item).__module__.startswith("lua_compat.t7"):
        return _lua_children(item)
    if isinstance(item, dict):
        return [(_name(key), child) for key, child in item.items()]
    if isinstance(item, list | tuple):
        return [(str(place), child) for place, child in enumerate(item, 1)]
    if isinstance(item, np.ndarray):  # of texts: as a list of them, or lists of lists
        return [(".".join(str(i + 1) for i in index), item[index]) for index in np.ndindex(item.shape)]
    return None


def _lua_children(item: Any) -> Iterable[tuple[str, Any]]:
    from lua_compat.t7 import LuaTable, TorchObject

    if isinstance(item, TorchObject):
        children = _children(item.fields)
        return [("fields", item.fields)] if children is None else children
    assert isinstance(item, LuaTable)
    return [(_name(key), child) for key, child in item.items()]


def _name(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    return (key.decode("latin-1") if isinstance(key, bytes) else str(key)).replace("/", ".")
