"""Memory that Lua divides among small tensors, and gives to larger ones until PyTorch is loaded."""

from __future__ import annotations

import bisect
import ctypes
import mmap
from operator import attrgetter

TYPE_CHECKING = False  # typing is not loaded before a script starts
if TYPE_CHECKING:
    from typing import Any

# The system clears memory, page by page, before it hands it out. So this much released memory is kept: as
# much as a full collection of a script's garbage finds (lua_compat/lua/torch/core/collection.lua).
MOST_SPARE = 128 << 20


def map_memory(size: int) -> mmap.mmap:
    """Requests ``size`` bytes from the system. Raises MemoryError."""
    try:
        # private: a page that could be shared with a child process costs half as much again
        return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, OverflowError, ValueError):
        # in the words of PyTorch, which lua_compat/runtime/functions.py turns into Torch7's
        raise MemoryError(f"cannot allocate {size} bytes") from None


class Piece:
    """Memory at an address. ``used``: a tensor may be on it, or another Lua state uses it, too. Only then
    ``memory`` may be an object that keeps it, and not be the memory."""

    __slots__ = ("address", "memory", "used")

    def __init__(self, address: int, memory: Any, used: bool = False) -> None:
        self.address, self.memory, self.used = address, memory, used


class Slabs:
    """The memory of one Lua state. A piece lives as long as it is held here, by a tensor on it, or by another
    state."""

    def __init__(self) -> None:
        self._held: list[Piece] = []  # by address; one that is adopted again is there again
        self._spare: list[Piece] = []  # given back, the oldest first
        self._spare_bytes = 0
        self._most_spare = MOST_SPARE

    def keep_no_spares(self) -> None:
        """Returns released memory to the system from now on: only small pieces are still requested."""
        self._most_spare = 0
        self._forget(self._spare_bytes)

    def request(self, size: int) -> int:
        """Requests ``size`` bytes; returns their address. Raises MemoryError."""
        for place in range(len(self._spare) - 1, -1, -1):
            if len(self._spare[place].memory) == size:
                piece = self._spare.pop(place)
                self._spare_bytes -= len(piece.memory)
                return self._hold(piece)
        self._forget(int(size))  # so that never more is held than without them
        memory = map_memory(int(size))
        return self._hold(Piece(ctypes.addressof(ctypes.c_char.from_buffer(memory)), memory))

    def lend(self, address: int) -> Piece:
        """Returns the piece in which an address lies, for ``adopt`` of another state."""
        piece = self._held[self._position(address)]
        piece.used = True
        return piece

    def adopt(self, piece: Piece) -> None:
        """Holds a piece that another state has lent, or this one."""
        self._hold(Piece(piece.address, piece.memory, used=True))

    def release(self, address: int) -> None:
        """Gives back what was requested or adopted; its other users keep it."""
        piece = self._held.pop(self._position(address))
        if not piece.used:
            self._spare.append(piece)
            self._spare_bytes += len(piece.memory)
            self._forget(self._spare_bytes - self._most_spare)

    def _hold(self, piece: Piece) -> int:
        bisect.insort(self._held, piece, key=attrgetter("address"))
        return piece.address

    def _forget(self, size: int) -> None:
        """Gives the oldest spare pieces back to the system, until they are ``size`` bytes."""
        while size > 0 and self._spare:
            gone = len(self._spare.pop(0).memory)
            self._spare_bytes -= gone
            size -= gone

    def at(self, address: int) -> tuple[mmap.mmap, int]:
        """Returns the piece in which an address lies, and where in it."""
        piece = self.lend(address)
        return piece.memory, int(address) - piece.address

    def _position(self, address: int) -> int:
        return bisect.bisect(self._held, address, key=attrgetter("address")) - 1
