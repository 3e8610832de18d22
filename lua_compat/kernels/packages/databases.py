"""Databases of the Lua package lmdb, by the library lmdb. Text is Lua's bytes; failures are LMDB's
own texts."""

import os
from collections.abc import Callable
from typing import Any

from lua_compat.kernels.packages.extras import extra
from lua_compat.kernels.strings import from_lua, to_lua


def _library() -> Any:
    return extra("lmdb", "lmdb", "lmdb")


class Databases:
    """Environments, transactions and cursors of one Lua state, by number."""

    def __init__(self) -> None:
        self._held: dict[int, Any] = {}
        self._made = 0

    def kernels(self) -> dict[str, Callable[..., Any]]:
        """Returns the kernels by name. They reach files: none is for untrusted scripts."""
        found = (
            self.lmdb_open, self.lmdb_begin, self.lmdb_end, self.lmdb_stat, self.lmdb_stale, self.lmdb_get,
            self.lmdb_put, self.lmdb_cursor, self.lmdb_move, self.lmdb_item, self.lmdb_cursor_put,
            self.lmdb_delete, self.lmdb_close,
        )  # fmt: skip
        return {kernel.__name__: kernel for kernel in found}

    def _add(self, made: Any) -> int:
        self._made += 1
        self._held[self._made] = made
        return self._made

    def _of(self, number: int) -> Any:
        if number not in self._held:
            raise ValueError("lmdb: it is closed")
        return self._held[number]

    def _try(self, call: Callable[[], Any]) -> tuple[Any, str | None]:
        """Returns what ``call`` does, and LMDB's text if that failed."""
        try:
            return call(), None
        except _library().Error as error:
            return None, to_lua(str(error))

    def lmdb_open(
        self, path: str, map_size: float, flags: str, mode: float, databases: float, readers: float
    ) -> tuple[int | None, str | None]:
        """Opens the environment in a folder (made if it is not there), or in a file: NOSUBDIR."""
        path, given = from_lua(path), set(flags.split())
        subdir = "NOSUBDIR" not in given
        os.makedirs(path if subdir else os.path.dirname(path) or ".", exist_ok=True)

        def opened() -> int:
            return self._add(
                _library().open(
                    path, int(map_size), subdir=subdir, readonly="RDONLY" in given,
                    metasync="NOMETASYNC" not in given, sync="NOSYNC" not in given,
                    map_async="MAPASYNC" in given, writemap="WRITEMAP" in given, lock="NOLOCK" not in given,
                    mode=int(mode), max_dbs=int(databases), max_readers=int(readers),
                )
            )  # fmt: skip

        return self._try(opened)

    def lmdb_begin(self, environment: int, write: bool, parent: int) -> tuple[int | None, str | None]:
        """Starts a transaction, within another if ``parent`` is not 0."""
        outer = self._of(parent) if parent else None
        return self._try(lambda: self._add(self._of(environment).begin(write=write, parent=outer)))

    def lmdb_end(self, transaction: int, keep: bool) -> str | None:
        """Ends a transaction: what it changed is kept or not. Returns what went wrong."""
        held = self._held.pop(transaction, None)
        if held is None:
            return None
        return self._try(held.commit if keep else held.abort)[1]

    def lmdb_stat(self, environment: int) -> tuple[int, ...]:
        """Returns the size of a page, depth, pages of branches, of leaves, of long values, entries."""
        found = self._of(environment).stat()
        names = "psize", "depth", "branch_pages", "leaf_pages", "overflow_pages", "entries"
        return tuple(found[name] for name in names)

    def lmdb_stale(self, environment: int) -> int:
        """Returns how many readers that have ended were forgotten."""
        found: int = self._of(environment).reader_check()
        return found

    def lmdb_get(self, transaction: int, key: str) -> str | None:
        value = self._of(transaction).get(key.encode("latin-1"))
        return None if value is None else bytes(value).decode("latin-1")

    def lmdb_put(
        self, transaction: int, key: str, value: str, overwrite: bool, append: bool
    ) -> tuple[bool, str | None]:
        """Returns whether a value was stored (False: there is one, and it stays), and what went wrong."""
        held = self._of(transaction)
        stored, problem = self._try(
            lambda: held.put(
                key.encode("latin-1"), value.encode("latin-1"), overwrite=overwrite, append=append
            )
        )
        return bool(stored), problem

    def lmdb_cursor(self, transaction: int) -> tuple[int | None, str | None]:
        return self._try(lambda: self._add(self._of(transaction).cursor()))

    def lmdb_move(self, cursor: int, how: str, key: str) -> bool:
        """Moves a cursor (first, last, next, prev, set_key, set_range); returns whether there is an entry."""
        held = self._of(cursor)
        found: bool = (
            getattr(held, how)(key.encode("latin-1")) if how.startswith("set") else getattr(held, how)()
        )
        return found

    def lmdb_item(self, cursor: int) -> tuple[str, str] | None:
        """Returns the key and the value where a cursor is; None: nowhere."""
        key, value = self._of(cursor).item()
        return (bytes(key).decode("latin-1"), bytes(value).decode("latin-1")) if key else None

    def lmdb_cursor_put(self, cursor: int, key: str, value: str, overwrite: bool) -> tuple[bool, str | None]:
        held = self._of(cursor)
        stored, problem = self._try(
            lambda: held.put(key.encode("latin-1"), value.encode("latin-1"), overwrite=overwrite)
        )
        return bool(stored), problem

    def lmdb_delete(self, cursor: int) -> bool:
        """Removes the entry where a cursor is; returns whether there was one."""
        found: bool = self._of(cursor).delete()
        return found

    def lmdb_close(self, number: int) -> None:
        """Closes an environment or a cursor."""
        held = self._held.pop(number, None)
        if held is not None:
            held.close()
