"""The contents of a .t7 file as Python objects.

Equality of tables, torch objects, tensors, storages and functions is identity, as in Lua: they can be keys.
Lua's nil, booleans and numbers are None, bool and int or float (a whole number arrives as int). A Lua
string is ``str`` where its bytes are UTF-8 and ``bytes`` where they are not; ``lua_bytes`` gives the bytes of
either.
"""

import math
from collections.abc import ItemsView, Iterable, Iterator, Mapping, MutableMapping, ValuesView
from typing import Any, Final, Protocol

import numpy as np

from lua_compat.t7.elements import STORAGE_DTYPES, TENSOR_DTYPES, storage_typename, tensor_typename

EXACT_INTEGER = 2.0**53  # up to here every whole number is a double of its own
MAX_DIMENSIONS = 32  # numpy's limit before 2.0


def lua_bytes(text: str | bytes) -> bytes:
    """Returns the bytes of a Lua string. Raises ValueError for a str with a lone surrogate, which is not
    text."""
    if isinstance(text, bytes):
        return text
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"the string {text[:40]!r} cannot be encoded as UTF-8: {error.reason}") from None


def lua_string(raw: bytes) -> str | bytes:
    """Returns a Lua string from its bytes: str where they are UTF-8, else the bytes themselves."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def lua_number(value: float) -> int | float:
    """Returns a Lua number: int where the double is a whole number that an int keeps (not -0.0), else
    float."""
    if value.is_integer() and -EXACT_INTEGER < value < EXACT_INTEGER:
        return int(value) if value or math.copysign(1.0, value) > 0 else value
    return value


def numbers(values: np.ndarray) -> list[int | float]:
    """Returns lua_number of each."""
    small = np.abs(values) < EXACT_INTEGER
    whole = np.where(small, values, 0).astype(np.int64)
    keeps = small & (whole == values) & ~((values == 0) & np.signbit(values))
    if keeps.all():
        return whole.tolist()
    if not keeps.any():
        return values.tolist()
    return [
        i if keep else x for i, x, keep in zip(whole.tolist(), values.tolist(), keeps.tolist(), strict=True)
    ]


class _BooleanKey:
    """Stands for a boolean key inside a dict, where True and 1 would be the same key."""

    __slots__ = ("value",)

    def __init__(self, value: bool) -> None:
        self.value = value


_TRUE: Final = _BooleanKey(True)
_FALSE: Final = _BooleanKey(False)


def _stored_key(key: object) -> object:
    kind = type(key)
    if kind is str or kind is int:
        return key
    if kind is bool or kind is np.bool_:
        return _TRUE if key else _FALSE
    if kind is _BooleanKey:
        return key
    if isinstance(key, np.generic):
        key = key.item()
    if isinstance(key, float):
        if key != key:
            raise ValueError("NaN cannot be the key of a Lua table")
        return lua_number(key)
    if isinstance(key, bytes):
        return lua_string(key)
    if key is None:
        raise ValueError("nil cannot be the key of a Lua table")
    return key


class DeferredEntries(Protocol):
    """Entries of a table that are still as they are in a file."""

    def decode(self) -> tuple[np.ndarray | list[Any], list[Any]]:
        """Returns the keys, an array if all are numbers, and the values."""


class _Items(ItemsView[Any, Any]):
    """ItemsView without a look-up for each key."""

    _mapping: "LuaTable"

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        yield from enumerate(self._mapping.array_part, 1)
        for key, value in self._mapping.hash_part.items():
            yield (key.value if type(key) is _BooleanKey else key), value


class _Values(ValuesView[Any]):
    _mapping: "LuaTable"

    def __iter__(self) -> Iterator[Any]:
        yield from self._mapping.array_part
        yield from self._mapping.hash_part.values()


class LuaTable(MutableMapping[Any, Any]):
    """A Lua table: any key but nil and NaN, in the order of insertion (or of the file it was read from).

    ``True`` and ``1`` are different keys, ``1`` and ``1.0`` the same, ``"1"`` another one. Setting a value to
    None removes the key, as in Lua. ``len`` counts all entries; ``length()`` is Lua's ``#table``.

    As in Lua, the entries 1, 2, ..., n at the beginning are kept in ``array_part``, without their keys; all
    others in ``hash_part`` (booleans wrapped), which holds no key from 1 to n.
    """

    __slots__ = ("_array_part", "_deferred", "_hash_part")

    def __init__(self, entries: Mapping[Any, Any] | Iterable[tuple[Any, Any]] = ()) -> None:
        self._array_part: list[Any] = []
        self._hash_part: dict[Any, Any] = {}
        self._deferred: list[DeferredEntries] | None = None
        if entries == ():  # the reader makes millions of these
            return
        pairs = entries.items() if isinstance(entries, Mapping) else entries
        for key, value in pairs:
            self[key] = value

    @property
    def array_part(self) -> list[Any]:
        if self._deferred is not None:
            self._decode_deferred()
        return self._array_part

    @property
    def hash_part(self) -> dict[Any, Any]:
        if self._deferred is not None:
            self._decode_deferred()
        return self._hash_part

    def defer(self, entries: DeferredEntries) -> None:
        """Adds entries that are decoded when the table is first used."""
        if self._deferred is None:
            self._deferred = []
        self._deferred.append(entries)

    def _decode_deferred(self) -> None:
        deferred, self._deferred = self._deferred or [], None
        for entries in deferred:
            self.add_entries(*entries.decode())

    def add_entries(self, keys: np.ndarray | list[Any], values: list[Any]) -> None:
        """Sets many entries, none of them to None; an array of keys holds floats."""
        array, others = self.array_part, self.hash_part
        if isinstance(keys, np.ndarray):
            if not others and np.array_equal(keys, np.arange(len(array) + 1, len(array) + 1 + len(keys))):
                array.extend(values)
                return
            keys = numbers(keys)
        if not array and (others or keys[0] != 1):
            others.update(zip(keys, values, strict=True))
        else:
            for key, value in zip(keys, values, strict=True):
                self[key] = value

    @classmethod
    def from_list(cls, values: Iterable[Any]) -> "LuaTable":
        """Returns the table {values[0], values[1], ...} with keys 1, 2, ...; None leaves its key out."""
        table = cls()
        table._array_part = list(values)
        if any(value is None for value in table._array_part):
            return cls(enumerate(table._array_part, 1))
        return table

    def __getitem__(self, key: object) -> Any:
        key = _stored_key(key)
        if type(key) is int and 0 < key <= len(self.array_part):
            return self.array_part[key - 1]
        return self.hash_part[key]

    def __setitem__(self, key: object, value: object) -> None:
        array = self.array_part
        if type(key) is int and key == len(array) + 1 and not self._hash_part and value is not None:
            array.append(value)
            return
        key = _stored_key(key)
        if value is None:
            if key in self:
                self._remove(key)
        elif type(key) is int and 0 < key <= len(self.array_part):
            self.array_part[key - 1] = value
        elif not self.hash_part and key == len(self.array_part) + 1:
            self.array_part.append(value)
        else:
            self.hash_part[key] = value

    def __delitem__(self, key: object) -> None:
        key = _stored_key(key)
        if key not in self:
            raise KeyError(key)
        self._remove(key)

    def _remove(self, key: object) -> None:
        if type(key) is int and 0 < key <= len(self.array_part):
            if key < len(self.array_part):  # the entries after it leave the array part
                rest = {i: self.array_part[i - 1] for i in range(key + 1, len(self.array_part) + 1)}
                self._hash_part = {**rest, **self.hash_part}
            del self.array_part[key - 1 :]
        else:
            del self.hash_part[key]

    def __contains__(self, key: object) -> bool:
        if key is None or key != key:
            return False
        key = _stored_key(key)
        return (type(key) is int and 0 < key <= len(self.array_part)) or key in self.hash_part

    def __iter__(self) -> Iterator[Any]:
        yield from range(1, len(self.array_part) + 1)
        for key in self.hash_part:
            yield key.value if type(key) is _BooleanKey else key

    def __len__(self) -> int:
        return len(self.array_part) + len(self.hash_part)

    def items(self) -> ItemsView[Any, Any]:
        return _Items(self)

    def values(self) -> ValuesView[Any]:
        return _Values(self)

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    def length(self) -> int:
        """Returns the n for which the keys 1, 2, ..., n are present and n + 1 is not."""
        n = len(self.array_part)
        while n + 1 in self.hash_part:
            n += 1
        return n

    def array(self) -> list[Any]:
        """Returns the values at 1, 2, ..., up to the first absent one."""
        return self.array_part + [
            self.hash_part[i] for i in range(len(self.array_part) + 1, self.length() + 1)
        ]

    def __repr__(self) -> str:
        return f"<LuaTable of {len(self)} entries>"


class TorchObject:
    """An object of a Torch class that is a table in Lua: nn modules, criterions, users' classes.

    ``typename``: 'nn.Linear'. ``version``: the class's serialization version (0 for a file from before
    versions existed; ``versioned`` is then False). ``fields``: what the class wrote, nearly always a LuaTable
    of its fields; ``object["weight"]`` looks there. tds.Hash: a LuaTable; tds.Vec: a list; torch.Generator:
    its bytes. ``preamble``: what a class that writes two objects wrote first (nn.DataParallelTable: the GPU
    assignments; nn.GPU: {type, device}), else None.
    """

    __slots__ = ("fields", "preamble", "typename", "version", "versioned")

    def __init__(
        self,
        typename: str,
        version: int = 1,
        fields: Any = None,
        *,
        preamble: Any = None,
        versioned: bool = True,
    ) -> None:
        self.typename = typename
        self.version = version
        self.fields: Any = LuaTable() if fields is None else fields
        self.preamble: Any = preamble
        self.versioned = versioned

    def __getitem__(self, key: object) -> Any:
        return self.fields[key]

    def __setitem__(self, key: object, value: object) -> None:
        self.fields[key] = value

    def __contains__(self, key: object) -> bool:
        return isinstance(self.fields, LuaTable) and key in self.fields

    def get(self, key: object, default: Any = None) -> Any:
        return self.fields[key] if key in self else default

    def __repr__(self) -> str:
        return f"<{self.typename}>"


class Storage:
    """A Torch storage: ``typename`` ('torch.FloatStorage') and its elements, the 1-D numpy array ``array``.

    Read from a file on disk, ``array`` is a private memory map of the file (what is written to it stays in
    this process) and may be unaligned.
    """

    __slots__ = ("array", "typename", "version", "versioned")

    def __init__(self, typename: str, array: np.ndarray, *, version: int = 1, versioned: bool = True) -> None:
        expected = STORAGE_DTYPES.get(typename)
        if expected is None:
            raise ValueError(f"'{typename}' is not a storage type of Torch7")
        if array.ndim != 1 or array.dtype != expected or not array.flags.c_contiguous:
            raise ValueError(
                f"a {typename} takes a contiguous 1-D array of {expected}, not {array.dtype}"
                f" of shape {array.shape}"
            )
        self.typename = typename
        self.array = array
        self.version = version
        self.versioned = versioned

    @property
    def dtype(self) -> np.dtype:
        return self.array.dtype

    def __len__(self) -> int:
        return len(self.array)

    def __repr__(self) -> str:
        return f"<{self.typename} of {len(self)}>"


class Tensor:
    """A Torch tensor: a view of a storage (None: no elements) with sizes, strides and a 1-based offset.

    Tensors that shared a storage in the file share it here. ``numpy()`` is a view: writing to it writes to
    the storage.
    """

    __slots__ = ("size", "storage", "storage_offset", "stride", "typename", "version", "versioned")

    def __init__(
        self,
        typename: str,
        storage: Storage | None,
        size: Iterable[int],
        stride: Iterable[int],
        storage_offset: int = 1,
        *,
        version: int = 1,
        versioned: bool = True,
    ) -> None:
        """Raises ValueError for a view that reaches outside its storage, or a storage of another type."""
        self.typename = typename
        self.storage = storage
        self.size = tuple(size)
        self.stride = tuple(stride)
        self.storage_offset = storage_offset
        self.version = version
        self.versioned = versioned
        self._check()

    def _check(self) -> None:
        dtype = TENSOR_DTYPES.get(self.typename)
        if dtype is None:
            raise ValueError(f"'{self.typename}' is not a tensor type of Torch7")
        if len(self.size) != len(self.stride):
            raise ValueError(f"{len(self.size)} sizes but {len(self.stride)} strides")
        if len(self.size) > MAX_DIMENSIONS:
            raise ValueError(f"{len(self.size)} dimensions; at most {MAX_DIMENSIONS} can be read")
        if any(n < 0 for n in self.size):
            raise ValueError(f"negative size in {self.size}")
        wanted = storage_typename(self.typename)
        if self.storage is not None and self.storage.typename != wanted:
            raise ValueError(f"a {self.typename} needs a {wanted}, not a {self.storage.typename}")
        # The product bounds what numpy can address; it leaves zeros out, as numpy does.
        if math.prod(max(n, 1) for n in self.size) * dtype.itemsize >= 2**63:
            raise ValueError(f"sizes {self.size} are beyond any memory")
        if any(abs(step) * dtype.itemsize >= 2**63 for step in self.stride):
            raise ValueError(f"strides {self.stride} are beyond any memory")
        if self.numel() == 0:
            return
        reach = [(n - 1) * step for n, step in zip(self.size, self.stride, strict=True)]
        first = self.storage_offset + sum(r for r in reach if r < 0)
        last = self.storage_offset + sum(r for r in reach if r > 0)
        available = 0 if self.storage is None else len(self.storage)
        if first < 1 or last > available:
            raise ValueError(
                f"sizes {self.size}, strides {self.stride} from offset {self.storage_offset} reach"
                f" elements {first} to {last} of a storage of {available}"
            )

    @classmethod
    def from_numpy(cls, array: np.ndarray, typename: str | None = None) -> "Tensor":
        """Returns a tensor of its own storage. ``typename``: default is the CPU tensor that holds
        ``array.dtype``.

        A C-contiguous array of that type is shared; any other is copied. An array without elements, or
        without dimensions (Torch7 has no scalars: it becomes one element), keeps its elements.
        """
        typename = typename or tensor_typename(array.dtype)
        shaped = np.atleast_1d(np.ascontiguousarray(array, dtype=TENSOR_DTYPES[typename]))
        if shaped.size == 0:
            return cls(typename, None, (), ())
        storage = Storage(storage_typename(typename), shaped.reshape(-1))
        strides = (step // shaped.itemsize for step in shaped.strides)
        return cls(typename, storage, shaped.shape, strides)

    @property
    def dtype(self) -> np.dtype:
        return TENSOR_DTYPES[self.typename]

    def dim(self) -> int:
        return len(self.size)

    def numel(self) -> int:
        """Returns the number of elements; a tensor of no dimensions has none."""
        return math.prod(self.size) if self.size else 0

    def numpy(self) -> np.ndarray:
        """Returns the elements, sharing the storage. A tensor of no dimensions gives an array of shape
        (0,)."""
        if self.storage is None or self.numel() == 0:
            return np.empty(self.size or (0,), self.dtype)
        itemsize = self.dtype.itemsize
        return np.ndarray(
            self.size,
            self.dtype,
            buffer=self.storage.array,
            offset=(self.storage_offset - 1) * itemsize,
            strides=tuple(step * itemsize for step in self.stride),
        )

    def __repr__(self) -> str:
        return f"<{self.typename} of {'x'.join(map(str, self.size)) or 'no dimension'}>"


class LuaFunction:
    """A Lua function, opaque: ``bytecode`` is what string.dump gave and is never run.

    ``upvalues``: a LuaTable of {name, id, value} tables, or of plain values for the ``type_id`` 6 and 7 of
    old files (8 is today's).
    """

    __slots__ = ("bytecode", "type_id", "upvalues")

    def __init__(self, bytecode: bytes, upvalues: Any = None, type_id: int = 8) -> None:
        self.bytecode = bytecode
        self.upvalues: Any = LuaTable() if upvalues is None else upvalues
        self.type_id = type_id

    def __repr__(self) -> str:
        return f"<Lua function of {len(self.bytecode)} bytes>"
