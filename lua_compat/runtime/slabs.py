"""Memory that Lua divides among small tensors, and gives to larger ones until PyTorch is loaded."""

import bisect
import ctypes
import mmap
from operator import itemgetter

# The system clears memory, page by page, before it hands it out. So this much released memory is kept: as
# much as a full collection of a script's garbage finds (lua_compat/lua/torch/core/collection.lua).
MOST_SPARE = 128 << 20


class Slabs:
    """The memory of one Lua state. A piece lives as long as it is held here, or by a tensor on it."""

    def __init__(self) -> None:
        self._held: list[tuple[int, mmap.mmap]] = []  # by address
        self._shared: set[int] = set()  # the addresses of pieces that a tensor may be on
        self._spare: list[tuple[int, mmap.mmap]] = []  # given back, the oldest first
        self._spare_bytes = 0
        self._most_spare = MOST_SPARE

    def keep_no_spares(self) -> None:
        """Returns released memory to the system from now on: only small pieces are still requested."""
        self._most_spare = 0
        self._forget(self._spare_bytes)

    def request(self, size: int) -> int:
        """Requests ``size`` bytes; returns their address. Raises MemoryError."""
        for place in range(len(self._spare) - 1, -1, -1):
            if len(self._spare[place][1]) == size:
                address, memory = self._spare.pop(place)
                self._spare_bytes -= len(memory)
                bisect.insort(self._held, (address, memory), key=itemgetter(0))
                return address
        self._forget(int(size))  # so that never more is held than without them
        try:
            memory = mmap.mmap(-1, int(size))
        except (OSError, OverflowError, ValueError):
            # in the words of PyTorch, which lua_compat/runtime/functions.py turns into Torch7's
            raise MemoryError(f"cannot allocate {int(size)} bytes") from None
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        bisect.insort(self._held, (address, memory), key=itemgetter(0))
        return address

    def release(self, address: int) -> None:
        """Gives back what was requested; tensors on it keep it."""
        piece = self._held.pop(self._position(address))
        if piece[0] in self._shared:
            self._shared.remove(piece[0])
            return
        self._spare.append(piece)
        self._spare_bytes += len(piece[1])
        self._forget(self._spare_bytes - self._most_spare)

    def _forget(self, size: int) -> None:
        """Gives the oldest spare pieces back to the system, until they are ``size`` bytes."""
        while size > 0 and self._spare:
            _, memory = self._spare.pop(0)
            self._spare_bytes -= len(memory)
            size -= len(memory)

    def at(self, address: int) -> tuple[mmap.mmap, int]:
        """Returns the piece in which an address lies, and where in it."""
        start, memory = self._held[self._position(address)]
        self._shared.add(start)
        return memory, int(address) - start

    def _position(self, address: int) -> int:
        return bisect.bisect(self._held, address, key=itemgetter(0)) - 1
