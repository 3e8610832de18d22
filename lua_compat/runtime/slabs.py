"""Memory that Lua divides among small tensors, and gives to larger ones until PyTorch is loaded."""

import bisect
import ctypes
import mmap
from operator import itemgetter


class Slabs:
    """The memory of one Lua state. A piece lives as long as it is held here, or by a tensor on it."""

    def __init__(self) -> None:
        self._held: list[tuple[int, mmap.mmap]] = []  # by address

    def request(self, size: int) -> int:
        """Requests ``size`` bytes; returns their address. Raises MemoryError."""
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
        del self._held[self._position(address)]

    def at(self, address: int) -> tuple[mmap.mmap, int]:
        """Returns the piece in which an address lies, and where in it."""
        start, memory = self._held[self._position(address)]
        return memory, int(address) - start

    def _position(self, address: int) -> int:
        return bisect.bisect(self._held, address, key=itemgetter(0)) - 1
