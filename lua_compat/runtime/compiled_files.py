"""Our own Lua files and templates as LuaJIT's bytecode: compiling them is most of what a Lua state costs."""

from __future__ import annotations

import contextlib
import marshal
import os
import threading
import zlib

from convnet_benchmarks.nets.user_cache import cache_folder, open_own, replace_whole
from lua_compat.kernels.strings import from_lua

TYPE_CHECKING = False  # typing is not loaded before a script starts
if TYPE_CHECKING:
    from typing import BinaryIO

    # When a file was changed, and its bytes.
    State = tuple[int, int]
    # A path, and the checksum of a template's text.
    Name = tuple[str, int]
    # The state of the file, and a template's text with the bytecode.
    Entry = tuple[State, bytes]

_NUMBER_BYTES = 4
_MOST_BYTES = 64 << 20


class CompiledFiles:
    """Bytecode, shared by the threads of a script, and kept in the user's cache for the next process.

    It is found by a file's path; a template's by the file that compiles it and the text that it is made from.
    ``library``: the file of LuaJIT; what another one has compiled is not used. ``alike``: the cache is not
    read or written, so that no process differs from the one before it.
    """

    def __init__(self, library: str, alike: bool = False) -> None:
        self._library = library
        self._alike = alike
        self._lock = threading.Lock()
        self._states: dict[str, State | None] = {}
        self._added: dict[Name, Entry] = {}
        # The cache: its file, where the entries begin in it, and the state, place, size and checksum of each.
        self._file: BinaryIO | None = None
        self._start = 0
        self._index: dict[Name, tuple[State, int, int, int]] | None = None  # None: nothing was asked yet

    def __del__(self) -> None:
        if self._file:
            self._file.close()

    def get(self, path: str, text: str = "") -> bytes | None:
        """Returns the bytecode of a file of ours, or of a template; None if it has to be compiled."""
        state, made_from = self._state(path), text.encode("latin-1")
        name = path, zlib.crc32(made_from)
        entry = self._added.get(name) or self._kept(name)
        if entry is None or entry[0] != state or not entry[1].startswith(made_from):
            return None
        return entry[1][len(made_from) :]

    def keep(self, path: str, code: str, text: str = "") -> None:
        """Keeps what a file, or a template, was compiled to."""
        state, made_from = self._state(path), text.encode("latin-1")
        if state:
            self._added[path, zlib.crc32(made_from)] = state, made_from + code.encode("latin-1")

    def write(self) -> None:
        """Keeps what was added for the next process, if that can be."""
        if not self._added or self._alike:
            return
        now = CompiledFiles(self._library)  # others may have written meanwhile
        now._read_index()
        whole = now._read(now._start, _MOST_BYTES)
        entries = {
            name: (state, whole[place : place + size], checksum)
            for name, (state, place, size, checksum) in (now._index or {}).items()
        }
        for name, (state, content) in self._added.items():
            entries[name] = state, content, zlib.crc32(content)
        index, contents, place = {}, [], 0
        for name, (state, content, checksum) in entries.items():
            if state == now._state(name[0]):
                index[name] = state, place, len(content), checksum
                contents.append(content)
                place += len(content)
        header = marshal.dumps((self._of_library(), index))
        numbers = [number.to_bytes(_NUMBER_BYTES, "little") for number in (zlib.crc32(header), len(header))]
        with contextlib.suppress(OSError):
            replace_whole(self._place(), b"".join((*numbers, header, *contents)))

    def _kept(self, name: Name) -> Entry | None:
        """Returns what the cache has under a name."""
        if self._index is None:
            self._read_index()
        found = self._index and self._index.get(name)
        if not found:
            return None
        state, place, size, checksum = found
        content = self._read(self._start + place, size)
        return (state, content) if zlib.crc32(content) == checksum else None

    def _read_index(self) -> None:
        index: dict[Name, tuple[State, int, int, int]] = {}
        self._file = None if self._alike else open_own(self._place(), _MOST_BYTES)
        numbers = self._read(0, 2 * _NUMBER_BYTES)
        checksum, size = (
            int.from_bytes(each, "little") for each in (numbers[:_NUMBER_BYTES], numbers[_NUMBER_BYTES:])
        )
        header = self._read(2 * _NUMBER_BYTES, size)
        if header and zlib.crc32(header) == checksum:
            library, found = marshal.loads(header)
            index = found if library == self._of_library() else {}
        self._start = 2 * _NUMBER_BYTES + size
        self._index = index

    def _read(self, place: int, size: int) -> bytes:
        """Returns bytes of the cache; fewer where it ends, none where it cannot be read."""
        with contextlib.suppress(OSError), self._lock:
            if self._file:
                self._file.seek(place)
                return self._file.read(min(size, _MOST_BYTES))
        return b""

    def _place(self) -> str:
        """Returns the file of this LuaJIT and this copy of th."""
        copy = zlib.crc32(f"{self._library}:{__file__}".encode())
        return os.path.join(cache_folder(), f"lua-files-{copy:08x}")

    def _of_library(self) -> tuple[str, State | None]:
        return self._library, _state_of(self._library)

    def _state(self, path: str) -> State | None:
        """Returns ``_state_of`` when a path was first asked for."""
        if path not in self._states:
            self._states[path] = _state_of(path)
        return self._states[path]


def _state_of(path: str) -> State | None:
    """Returns when a file was changed and its bytes; None if there is none."""
    try:
        found = os.stat(from_lua(path))
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
