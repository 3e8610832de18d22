"""Our own Lua files as LuaJIT's bytecode: compiling them is most of what a Lua state costs to start."""

import contextlib
import marshal
import os
import zlib

from convnet_benchmarks.nets.user_cache import cache_folder, read_own, replace_whole
from lua_compat.kernels.strings import from_lua

_CHECKSUM_BYTES = 4
_MOST_BYTES = 64 << 20

# When a file was changed, its bytes, and its bytecode.
Entry = tuple[int, int, bytes]


class CompiledFiles:
    """Bytecode by path, shared by the threads of a script, and kept in the user's cache for the next process.

    ``library``: the file of LuaJIT; what another one has compiled is not used. ``alike``: the cache is not
    read or written, so that no process differs from the one before it.
    """

    def __init__(self, library: str, alike: bool = False) -> None:
        self._library = library
        self._alike = alike
        self._known: dict[str, Entry] | None = None  # None: nothing was asked yet
        self._added = False

    def get(self, path: str) -> bytes | None:
        """Returns the bytecode of a file of ours, None if it has to be compiled."""
        if self._known is None:
            self._known = self._read()
        entry = self._known.get(path)
        return entry[2] if entry and entry[:2] == _state_of(path) else None

    def keep(self, path: str, code: str) -> None:
        """Keeps what a file was compiled to."""
        state = _state_of(path)
        if state and self._known is not None:
            self._known[path] = (*state, code.encode("latin-1"))
            self._added = True

    def write(self) -> None:
        """Keeps what was added for the next process, if that can be."""
        if not self._added or self._alike:
            return
        self._added = False
        files = {**self._read(), **(self._known or {})}
        current = {path: entry for path, entry in files.items() if entry[:2] == _state_of(path)}
        content = marshal.dumps((self._of_library(), current))
        checksum = zlib.crc32(content).to_bytes(_CHECKSUM_BYTES, "little")
        with contextlib.suppress(OSError):
            replace_whole(self._place(), checksum + content)

    def _read(self) -> dict[str, Entry]:
        if self._alike:
            return {}
        kept = read_own(self._place(), _MOST_BYTES) or b""
        checksum, content = kept[:_CHECKSUM_BYTES], kept[_CHECKSUM_BYTES:]
        if not content or zlib.crc32(content) != int.from_bytes(checksum, "little"):
            return {}
        library, files = marshal.loads(content)
        return files if library == self._of_library() else {}

    def _place(self) -> str:
        """Returns the file of this LuaJIT and this copy of th: it is read whole at each start."""
        copy = zlib.crc32(f"{self._library}:{__file__}".encode())
        return os.path.join(cache_folder(), f"lua-files-{copy:08x}")

    def _of_library(self) -> tuple[str, tuple[int, int] | None]:
        return self._library, _state_of(self._library)


def _state_of(path: str) -> tuple[int, int] | None:
    """Returns when a file was changed and its bytes; None if there is none."""
    try:
        found = os.stat(from_lua(path))
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
