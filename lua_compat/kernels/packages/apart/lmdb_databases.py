"""A database of the Lua package lmdb, with its transactions and cursors, on top of the library lmdb.

Each has a number that the caller gives it. Text is Lua's bytes; failures are LMDB's own texts.
"""

import os
from collections.abc import Callable
from typing import Any

from lua_compat.kernels.packages.extras import extra
from lua_compat.kernels.strings import from_lua, to_lua


def _library() -> Any:
    return extra("lmdb", "lmdb", "lmdb")


class Databases:
    """An environment, its transactions and cursors."""

    def __init__(self) -> None:
        self._held: dict[int, Any] = {}

    def functions(self) -> dict[str, Callable[..., Any]]:
        found = (
            self.open, self.begin, self.end, self.stat, self.stale, self.get, self.put, self.cursor,
            self.move, self.cursor_put, self.delete, self.close,
        )  # fmt: skip
        return {function.__name__: function for function in found}

    def _of(self, number: int) -> Any:
        if number not in self._held:
            raise ValueError("lmdb: it is closed")
        return self._held[number]

    def _try(self, call: Callable[[], Any]) -> tuple[Any, str | None]:
        """Returns the result of ``call``, and LMDB's message if it failed."""
        try:
            return call(), None
        except _library().Error as error:
            return None, to_lua(str(error))

    def _keep(self, number: int, make: Callable[[], Any]) -> str | None:
        """Stores the result of ``make`` under ``number``; returns an error message or None."""
        made, problem = self._try(make)
        if problem is None:
            self._held[number] = made
        return problem

    def open(
        self,
        number: int,
        path: str,
        map_size: float,
        flags: str,
        mode: float,
        databases: float,
        readers: float,
    ) -> str | None:
        """Opens the environment in a folder (made if it is not there), or in a file: NOSUBDIR."""
        path, given = from_lua(path), set(flags.split())
        subdir = "NOSUBDIR" not in given
        os.makedirs(path if subdir else os.path.dirname(path) or ".", exist_ok=True)

        def opened() -> Any:
            return _library().open(
                path, int(map_size), subdir=subdir, readonly="RDONLY" in given,
                metasync="NOMETASYNC" not in given, sync="NOSYNC" not in given,
                map_async="MAPASYNC" in given, writemap="WRITEMAP" in given, lock="NOLOCK" not in given,
                mode=int(mode), max_dbs=int(databases), max_readers=int(readers),
            )  # fmt: skip

        return self._keep(number, opened)

    def begin(self, number: int, environment: int, write: bool, parent: int) -> str | None:
        """Starts a transaction, within another if ``parent`` is not 0."""
        outer = self._of(parent) if parent else None
        return self._keep(number, lambda: self._of(environment).begin(write=write, parent=outer))

    def end(self, transaction: int, keep: bool) -> str | None:
        """Ends a transaction: ``keep``: commits, else aborts. Returns an error message or None."""
        held = self._held.pop(transaction, None)
        if held is None:
            return None
        return self._try(held.commit if keep else held.abort)[1]

    def stat(self, environment: int) -> tuple[int, ...]:
        """Returns the page size, the depth, the numbers of branch, leaf and overflow pages, and of
        entries."""
        found = self._of(environment).stat()
        names = "psize", "depth", "branch_pages", "leaf_pages", "overflow_pages", "entries"
        return tuple(found[name] for name in names)

    def stale(self, environment: int) -> int:
        """Clears the slots of dead readers; returns how many there were."""
        found: int = self._of(environment).reader_check()
        return found

    def get(self, transaction: int, key: str) -> str | None:
        value = self._of(transaction).get(key.encode("latin-1"))
        return None if value is None else bytes(value).decode("latin-1")

    def put(
        self, transaction: int, key: str, value: str, overwrite: bool, append: bool
    ) -> tuple[bool, str | None]:
        """Returns whether the value was stored (False: the key exists and is kept), and an error message."""
        held = self._of(transaction)
        stored, problem = self._try(
            lambda: held.put(
                key.encode("latin-1"), value.encode("latin-1"), overwrite=overwrite, append=append
            )
        )
        return bool(stored), problem

    def cursor(self, number: int, transaction: int) -> str | None:
        return self._keep(number, lambda: self._of(transaction).cursor())

    def move(self, cursor: int, how: str, key: str, wanted: bool) -> tuple[bool, str | None, str | None]:
        """Moves a cursor (first, last, next, prev, set_key, set_range), or not (current).

        Returns whether there is an entry, and, if that is ``wanted``, its key and value.
        """
        held = self._of(cursor)
        if how.startswith("set"):
            found = getattr(held, how)(key.encode("latin-1"))
        else:
            found = how == "current" or getattr(held, how)()
        if not found or not (wanted or how == "current"):
            return bool(found), None, None
        at, value = held.item()
        return (True, at.decode("latin-1"), value.decode("latin-1")) if at else (False, None, None)

    def cursor_put(self, cursor: int, key: str, value: str, overwrite: bool) -> tuple[bool, str | None]:
        held = self._of(cursor)
        stored, problem = self._try(
            lambda: held.put(key.encode("latin-1"), value.encode("latin-1"), overwrite=overwrite)
        )
        return bool(stored), problem

    def delete(self, cursor: int) -> bool:
        """Removes the entry where a cursor is; returns whether there was one."""
        found: bool = self._of(cursor).delete()
        return found

    def close(self, number: int) -> None:
        """Closes a cursor."""
        self._held.pop(number).close()


FUNCTIONS = Databases().functions()
