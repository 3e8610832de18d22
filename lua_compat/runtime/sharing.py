"""Memory that the Lua states of one script share: tensors, and the objects of package tds.

A state lends memory, and another one borrows it, by a number. Shared objects have numbers, too. Lua reads and
writes their memory; no address is kept there.
"""

import ctypes
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from lua_compat.runtime.slabs import Piece, Slabs, map_memory

if TYPE_CHECKING:
    from torch import Tensor

    from lua_compat.runtime.bridge import Handles

# Pieces of at least this many bytes are mapped: the system clears their pages when they are first used.
_MAPPED = 1 << 16

Item = TypeVar("Item")
Function = Callable[..., Any]


class SharedObject:
    """Memory in pieces that never move, and what else it holds: tensors and objects. It lives as long as a
    state has it open, or another object holds it. ``bytes_held``: about how many that are not its own."""

    def __init__(self, kind: str, size: int) -> None:
        self.kind = kind
        self.pieces: list[tuple[int, int]] = []  # addresses and sizes
        self._memory: list[Any] = []
        self._held: dict[int, tuple[SharedObject | SharedTensor, int]] = {}  # by number, with how often
        self.bytes_held = 0.0
        self._lock = threading.Lock()
        self.grow(0, size)

    def grow(self, known: float, size: float) -> None:
        """Adds a piece of at least ``size`` bytes; not if there are more than ``known`` already."""
        with self._lock:
            if len(self.pieces) > known:
                return
            size = max(int(size), sum(piece for _, piece in self.pieces))
            memory = map_memory(size) if size >= _MAPPED else bytearray(size)
            start = ctypes.c_char.from_buffer(memory)  # a bytearray cannot move while it has one
            self._memory.append(start)
            self.pieces.append((ctypes.addressof(start), size))

    def hold(self, number: int, item: "SharedObject | SharedTensor") -> None:
        with self._lock:
            _, times = self._held.get(number, (item, 0))
            self._held[number] = (item, times + 1)
            if times == 0:
                self.bytes_held += item.bytes_held

    def drop(self, number: int) -> None:
        with self._lock:
            if number in self._held:
                item, times = self._held.pop(number)
                if times > 1:
                    self._held[number] = (item, times - 1)
                else:
                    self.bytes_held -= item.bytes_held


class Lent(NamedTuple):
    """``elements`` of the type ``code``, ``base`` elements after ``address``, in ``memory``."""

    memory: "Piece | Tensor"
    address: int
    code: float
    base: float
    elements: float

    def taken(self, handles: Callable[[], "Handles"], slabs: Slabs) -> tuple[int | bool, int, float, float]:
        """Gives the memory to a state; returns the handle or False, the address, ``base``, ``elements``."""
        if isinstance(self.memory, Piece):
            slabs.adopt(self.memory)
            return False, self.address, self.base, self.elements
        return handles().add(self.memory), self.address, self.base, self.elements


class SharedTensor:
    """A tensor that a shared object holds: its storage (None: no elements), and what Lua says of its type and
    layout."""

    def __init__(self, storage: Lent | None, bytes_held: float, layout: tuple[float, ...]) -> None:
        self.storage, self.bytes_held, self.layout = storage, bytes_held, layout


class Sharing:
    """Everything that is lent and shared now. ``numbers``: those by which Lua knows it."""

    def __init__(self, numbers: Iterator[int]) -> None:
        self._numbers = numbers
        self._lent: dict[int, Lent] = {}
        self._lent_objects: dict[int, tuple[int, SharedObject]] = {}
        self._shared: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()

    def withdraw(self, number: float) -> Lent:
        """Returns what is lent; from now on no one else can."""
        return _withdrawn(self._lent, number)

    def _keep(self, numbered: dict[int, Item] | weakref.WeakValueDictionary[int, Item], item: Item) -> int:
        number = next(self._numbers)
        numbered[number] = item
        return number

    def functions(self, handles: Callable[[], "Handles"], slabs: Slabs) -> dict[str, Function]:
        """Returns what a Lua state calls; ``handles``: its tensors, ``slabs``: its other memory."""

        def lend(handle: int, *what: float) -> int:
            tensor = pinned(handles().tensor(handle))
            return self._keep(self._lent, Lent(tensor, tensor.data_ptr(), *what))

        def lend_slab(address: float, *what: float) -> int:
            return self._keep(self._lent, Lent(slabs.lend(int(address)), int(address), *what))

        def borrow(number: float, code: float) -> tuple[int | bool, int, float, float]:
            item = self.withdraw(number)
            if item.code != code:
                raise RuntimeError("threads: what was lent has another type")
            return item.taken(handles, slabs)

        return {
            "lend": lend,
            "lend_slab": lend_slab,
            "hold_slab": lambda address: slabs.adopt(slabs.lend(address)),
            "borrow": borrow,
            **self._functions_of_objects(handles, slabs),
        }

    def _functions_of_objects(self, handles: Callable[[], "Handles"], slabs: Slabs) -> dict[str, Function]:
        def opened(number: int, item: SharedObject) -> tuple[int, str, int, int, float]:
            address, size = item.pieces[0]
            slabs.adopt(Piece(address, item))
            return number, item.kind, address, size, item.bytes_held

        def new(kind: str, size: float) -> tuple[int, str, int, int, float]:
            item = SharedObject(kind, int(size))
            return opened(self._keep(self._shared, item), item)

        def lend(number: float) -> int:
            return self._keep(self._lent_objects, (int(number), self._shared[int(number)]))

        def open_(number: float) -> tuple[int, str, int, int, float] | None:
            item = self._shared.get(int(number))
            return opened(int(number), item) if isinstance(item, SharedObject) else None

        def piece(number: float, place: float) -> tuple[int, int] | None:
            pieces = self._shared[int(number)].pieces
            return pieces[int(place) - 1] if place <= len(pieces) else None

        def hold(number: float, held: float) -> bool:
            item = self._shared.get(int(held))
            if item is not None:
                self._shared[int(number)].hold(int(held), item)
            return item is not None

        def hold_tensor(number: float, lent: float | None, size: float, *layout: float) -> int:
            item = SharedTensor(None if lent is None else self.withdraw(lent), size, layout)
            held = self._keep(self._shared, item)
            self._shared[int(number)].hold(held, item)
            return held

        def open_tensor(number: float) -> tuple[float, ...] | None:
            item = self._shared.get(int(number))
            if not isinstance(item, SharedTensor):
                return None
            taken = item.storage.taken(handles, slabs) if item.storage else (False, 0, 0, 0)
            return (*taken, *item.layout)

        return {
            "object_new": new,
            "object_lend": lend,
            "object_borrow": lambda number: opened(*_withdrawn(self._lent_objects, number)),
            "object_open": open_,
            "object_piece": piece,
            "object_grow": lambda number, known, size: self._shared[int(number)].grow(known, size),
            "object_hold": hold,
            "object_hold_tensor": hold_tensor,
            "object_drop": lambda number, held: self._shared[int(number)].drop(int(held)),
            "object_open_tensor": open_tensor,
        }


def _withdrawn(lent: dict[int, Item], number: float) -> Item:
    item = lent.pop(int(number), None)
    if item is None:
        raise RuntimeError("threads: data that shares memory can be loaded only once")
    return item


def pinned(tensor: "Tensor") -> "Tensor":
    """Returns the whole storage of ``tensor``, which from now on never moves: other threads have its address.

    After NumPy has viewed a tensor, PyTorch refuses to resize its storage; the view serves only this purpose.
    """
    import torch

    if tensor.device.type != "cpu":
        raise RuntimeError("threads: CUDA tensors cannot be shared between threads; send a copy on the CPU")
    tensor.numpy()
    storage = tensor.untyped_storage()
    assert not storage.resizable()
    return torch.as_strided(tensor, (storage.nbytes() // tensor.element_size(),), (1,), 0)
