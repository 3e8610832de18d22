"""Result files of any kind as one flat tree: dotted path -> array, number or text.

Read are .t7, .h5 / .hdf5, .npz, .npy, .pt / .pth, .safetensors and .json. Places in a list are numbered from
1, as in Lua, so that the paths of a .t7 file and of the same results from Python are equal; a '/' in a name
counts as the '.' between names.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from convnet_benchmarks.errors import UserError

ROOT = "root"


@dataclass(frozen=True)
class Entry:
    """One leaf of a result file.

    ``precision``: the element type as it was stored; 'number' for a plain number of Lua or JSON, 'text' and
    'boolean' for what ``value`` holds as such. bfloat16 arrays are held as float32.
    """

    value: Any  # numpy array, str or bool
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
        """The entry at ``path``, also where a table on the way is one that was met before."""
        if path in self.entries:
            return self.entries[path]
        for alias, first in self.aliases.items():
            if path.startswith(alias + "."):
                return self.find((first + path[len(alias) :]).lstrip("."))
        return None

    def holds(self, path: str) -> bool:
        """Whether there is an entry at ``path`` or below it."""
        known = (*self.entries, *self.aliases)
        return any(entry == path or entry.startswith(f"{path}.") for entry in known)


def load_results(path: str) -> ResultTree:
    """Reads a result file by its suffix; raises UserError for one that is missing, broken or of no kind."""
    suffix = Path(path).suffix.lower()
    if suffix not in _READERS:
        raise UserError(f"{path}: unknown kind of result file; accepted: {', '.join(_READERS)}")
    if not Path(path).is_file():
        raise UserError(f"{path}: {'is a folder' if Path(path).is_dir() else 'no such file'}")
    return _READERS[suffix](path)


def tree_of(value: Any) -> ResultTree:
    """The tree of a value: Lua objects, mappings, lists, arrays, torch tensors, numbers and texts, nested."""
    tree = ResultTree()
    seen: dict[int, str] = {}
    # Children are pushed in reverse, so that entries come in the file's order; no recursion, however deep.
    stack: list[tuple[str, Any]] = [("", value)]
    while stack:
        path, item = stack.pop()
        entry = _leaf(item)
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


def _leaf(item: Any) -> Entry | None:
    if isinstance(item, bool | np.bool_):
        return Entry(bool(item), "boolean")
    if isinstance(item, int | float):
        return Entry(np.asarray(item, dtype=np.float64), "number")
    if isinstance(item, str):
        return Entry(item, "text")
    if isinstance(item, bytes):
        return Entry(item.decode("latin-1"), "text")
    if item is None:
        return Entry("nil", "text")
    if isinstance(item, np.ndarray | np.generic):
        return Entry(np.asarray(item), item.dtype.name)
    module = type(item).__module__
    if module.startswith("lua_compat.t7"):
        return _lua_leaf(item)
    if module.startswith("torch"):
        return _torch_leaf(item)
    return None


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
    tensor = item.detach().cpu()
    if tensor.is_quantized or tensor.is_sparse:
        raise UserError("a sparse or quantized tensor cannot be compared; save it dense")
    precision = str(tensor.dtype).removeprefix("torch.")
    # numpy has no bfloat16 and no 8-bit floats: float32 holds all of them exactly.
    holds = tensor.float() if tensor.dtype.itemsize <= 2 and tensor.dtype.is_floating_point else tensor
    return Entry(holds.numpy(), precision)


def _children(item: Any) -> Iterable[tuple[str, Any]] | None:
    if type(item).__module__.startswith("lua_compat.t7"):
        return _lua_children(item)
    if isinstance(item, dict):
        return [(_name(key), child) for key, child in item.items()]
    if isinstance(item, list | tuple):
        return [(str(place), child) for place, child in enumerate(item, 1)]
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


def load_t7(path: str) -> Any:
    """The Lua object in a .t7 file; raises UserError for one that is broken or cannot be read."""
    from lua_compat import t7

    try:
        return t7.load(path)
    except t7.T7FormatError as error:
        raise UserError(f"{path}: {error}") from None
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from None


def _read_t7(path: str) -> ResultTree:
    return tree_of(load_t7(path))


def _read_hdf5(path: str) -> ResultTree:
    from lua_compat import hdf5

    try:
        return tree_of(hdf5.load(path))
    except hdf5.HDF5Error as error:
        raise UserError(str(error)) from None


def _read_numpy(path: str) -> ResultTree:
    try:
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return tree_of(loaded)
        with loaded:
            return tree_of({name: loaded[name] for name in loaded.files})
    except (ValueError, OSError, EOFError, _bad_zip()) as error:
        raise UserError(f"{path}: not a numpy file of plain arrays ({error})") from None


def _bad_zip() -> type[Exception]:
    import zipfile

    return zipfile.BadZipFile


def _read_torch(path: str) -> ResultTree:
    import pickle

    import torch

    try:
        return tree_of(torch.load(path, map_location="cpu", weights_only=True))
    except (pickle.UnpicklingError, RuntimeError, EOFError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UserError(
            f"{path}: not a file of tensors that torch.load(weights_only=True) reads, such as a state_dict "
            f"({reason})"
        ) from None


def _read_safetensors(path: str) -> ResultTree:
    try:
        import safetensors
        from safetensors.torch import load_file
    except ImportError:
        raise UserError(f"{path}: needs the package safetensors (pip install safetensors)") from None
    try:
        return tree_of(load_file(path))
    except (safetensors.SafetensorError, OSError) as error:
        raise UserError(f"{path}: not a safetensors file ({error})") from None


def _read_json(path: str) -> ResultTree:
    import json

    try:
        with open(path, encoding="utf-8") as file:
            return tree_of(_arrays(json.load(file)))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not a JSON file ({error})") from None


def _arrays(value: Any) -> Any:
    """JSON's nested lists of numbers as arrays, where they are rectangular."""
    if isinstance(value, dict):
        return {name: _arrays(child) for name, child in value.items()}
    if isinstance(value, list):
        if value and all(_is_number(number) for number in _flattened(value)):
            try:
                return np.asarray(value, dtype=np.float64)
            except ValueError:  # ragged
                pass
        return [_arrays(child) for child in value]
    return value


def _flattened(value: list[Any]) -> Iterator[Any]:
    for item in value:
        if isinstance(item, list):
            yield from _flattened(item)
        else:
            yield item


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_READERS: dict[str, Callable[[str], ResultTree]] = {
    ".t7": _read_t7,
    ".h5": _read_hdf5,
    ".hdf5": _read_hdf5,
    ".npz": _read_numpy,
    ".npy": _read_numpy,
    ".pt": _read_torch,
    ".pth": _read_torch,
    ".safetensors": _read_safetensors,
    ".json": _read_json,
}
SUFFIXES = tuple(_READERS)
