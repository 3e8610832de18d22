"""Databases of the Lua package lmdb. Each environment is opened by a separate process, because the library
lmdb crashes on a damaged database."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from lua_compat.helper_process.library import Ended, Library
from lua_compat.kernels.packages.extras import check_extra


@dataclass
class _Environment:
    """An environment's path, as given, and the process that opened it."""

    path: str
    library: Library = field(
        default_factory=partial(Library, "lua_compat.kernels.packages.apart.lmdb_databases")
    )
    end: str | None = None  # how the process has ended

    def call(self, name: str, *values: Any) -> Any:
        """Calls a function in the process; its errors name the path."""
        if self.end is None:
            try:
                return self.library.call(name, *values)
            except Ended as end:
                self.end = str(end)
            except KeyboardInterrupt:
                self.end = "Ctrl-C"
                raise
            except ValueError as error:
                raise ValueError(f"lmdb: {self.path}: {error}") from None
        raise ValueError(f"lmdb: {self.path}: the database is damaged (LMDB: {self.end})")


class Databases:
    """Environments, transactions and cursors of one Lua state, by number."""

    def __init__(self) -> None:
        self._held: dict[int, _Environment] = {}  # the environment that each number belongs to
        self._made = 0

    def kernels(self) -> dict[str, Callable[..., Any]]:
        """Returns the kernels by name. They reach files: none is for untrusted scripts."""
        passed_on = ("stat", "stale", "get", "put", "move", "cursor_put", "delete")
        found = (
            self.lmdb_open,
            self.lmdb_begin,
            self.lmdb_end,
            self.lmdb_cursor,
            self.lmdb_close_cursor,
            self.lmdb_close,
        )
        return {
            **{f"lmdb_{name}": partial(self._call, name) for name in passed_on},
            **{kernel.__name__: kernel for kernel in found},
        }

    def _of(self, number: int) -> _Environment:
        if number not in self._held:
            raise ValueError("lmdb: it is closed")
        return self._held[number]

    def _call(self, name: str, number: int, *values: Any) -> Any:
        """Calls a function of an environment, a transaction or a cursor."""
        return self._of(number).call(name, number, *values)

    def _make(self, environment: _Environment, name: str, *values: Any) -> tuple[int | None, str | None]:
        """Returns the number of the object that ``name`` makes, and an error message."""
        number = self._made = self._made + 1
        problem = environment.call(name, number, *values)
        if problem is None:
            self._held[number] = environment
        return (number, None) if problem is None else (None, problem)

    def lmdb_open(self, path: str, *settings: Any) -> tuple[int | None, str | None]:
        """Opens the environment in a folder (made if it is not there), or in a file: NOSUBDIR."""
        check_extra("lmdb", "lmdb", "lmdb")
        return self._make(_Environment(path), "open", path, *settings)

    def lmdb_begin(self, environment: int, write: bool, parent: int) -> tuple[int | None, str | None]:
        """Starts a transaction, within another if ``parent`` is not 0."""
        return self._make(self._of(environment), "begin", environment, write, parent)

    def lmdb_end(self, transaction: int, keep: bool) -> str | None:
        """Ends a transaction: ``keep``: commits, else aborts. Returns an error message or None."""
        environment = self._held.pop(transaction, None)
        problem: str | None = environment.call("end", transaction, keep) if environment else None
        return problem

    def lmdb_cursor(self, transaction: int) -> tuple[int | None, str | None]:
        return self._make(self._of(transaction), "cursor", transaction)

    def lmdb_close_cursor(self, number: int) -> None:
        environment = self._held.pop(number, None)
        if environment is not None:
            environment.call("close", number)

    def lmdb_close(self, number: int) -> None:
        """Closes an environment, with its transactions and cursors; ends its process."""
        environment = self._held.get(number)
        if environment is not None:
            self._held = {held: its for held, its in self._held.items() if its is not environment}
            environment.library.close()
