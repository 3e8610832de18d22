"""A LuaJIT state with Torch7 in it, and the ways to run scripts there."""

from __future__ import annotations

import os
import shlex
import sys
from functools import partial

from lupa import luajit21

from lua_compat.kernels.strings import from_lua, to_lua
from lua_compat.printable import printable_lines
from lua_compat.runtime.crew import Crew
from lua_compat.runtime.errors import LuaError
from lua_compat.runtime.functions import Functions
from lua_compat.runtime.interrupts import LoopStopper
from lua_compat.runtime.pytorch import PyTorch, is_loaded
from lua_compat.runtime.script import checked_script
from lua_compat.runtime.trusted_files import TrustedFiles

TYPE_CHECKING = False  # typing is not loaded before a script starts
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from lua_compat.runtime.bridge import Handles

LUA_FOLDER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "lua")


def _deny(*_: object) -> Any:
    raise AttributeError("attributes of Python objects are not reachable from Lua")


def _new_state() -> luajit21.LuaRuntime:
    return luajit21.LuaRuntime(
        encoding="latin-1",
        unpack_returned_tuples=True,
        register_eval=False,
        register_builtins=False,
        attribute_handlers=(_deny, _deny),
    )


def _exit_code(stop: SystemExit) -> int:
    return stop.code if isinstance(stop.code, int) else 1


class Runtime:
    """One Lua state. ``program`` and ``args`` are what Lua sees as ``arg[0]`` and ``arg[1...]``; ``arg[-1]``
    is a command that runs th.

    ``cpu_as_cuda``: CUDA's packages and types exist, on the CPU, and with ``notes`` stderr says so; otherwise
    they exist if PyTorch has CUDA. ``gpus``: the machine's GPU for a device that the script names, as in
    ``runtime/cuda.py``. ``same_order``: string keys have the same order, and random numbers the same start,
    as in every other such state (runtime/hash_seed.py), and kernels are not chosen by their times.
    ``sandboxed``: only those of Python's functions can be called that are named as harmless. ``lock_down``
    removes the rest for scripts. ``crew``: what the threads of a script share; whoever passes one calls its
    ``leave`` when the script has ended.
    ``in_thread``: this is the state of one of those threads. ``trusted``: the files whose functions the
    script may load, by default those of ``program``. ``way``: the only way allowed for operations that have
    several: ``pytorch``, or ``luajit``, which raises an error where LuaJIT and BLAS refuse. ``any`` allows
    all of them. With each of the three, ``report_of_ways`` says which way was taken and why, also in threads
    that have ended.
    """

    def __init__(
        self,
        program: str = "th",
        args: Sequence[str] = (),
        *,
        sandboxed: bool = False,
        cpu_as_cuda: bool = False,
        notes: bool = True,
        gpus: Mapping[int, int] | None = None,
        same_order: bool = False,
        crew: Crew | None = None,
        in_thread: bool = False,
        trusted: TrustedFiles | None = None,
        way: str | None = None,
    ) -> None:
        self.exited = False  # by os.exit

        first_seed: int | None = None
        if same_order:
            from lua_compat.runtime.hash_seed import FIRST_SEED, fixed_hash_seed

            first_seed = FIRST_SEED
            with fixed_hash_seed(luajit21.__file__):
                self._lua = _new_state()
        else:
            self._lua = _new_state()
        crew = crew or Crew()
        trusted = trusted or TrustedFiles(program)
        # The maker of further states must not refer to this one, which would keep it alive.
        new_state = partial(
            Runtime,
            program,
            cpu_as_cuda=cpu_as_cuda,
            gpus=gpus,
            same_order=same_order,
            crew=crew,
            in_thread=True,
            trusted=trusted,
            way=way,
        )
        self._crew, self._is_watched = crew, way is not None
        self._pytorch = PyTorch(
            cpu_as_cuda=cpu_as_cuda,
            with_cuda=not sandboxed,
            in_thread=in_thread,
            own_process=crew.owns_process,
            timing=not same_order,
        )
        functions = Functions(
            self._pytorch,
            crew,
            new_state,
            trusted,
            first_seed=first_seed,
            sandboxed=sandboxed,
            in_thread=in_thread,
            notes=notes,
            gpus=gpus,
        )
        command = "th" if sandboxed else _command()
        with open(os.path.join(LUA_FOLDER, "th", "boot.lua"), encoding="utf-8") as file:
            boot = file.read()
        table = self._lua.table_from
        self._run = self._lua.eval(
            "function(source, ...) return assert(loadstring(source, '@th/boot.lua'))(...) end"
        )(
            boot,
            functions.find,
            is_loaded(),
            to_lua(LUA_FOLDER),
            table({place: to_lua(word) for place, word in enumerate([command, program, *args], -1)}),
            way,
            luajit21.as_attrgetter(-0.0),
        )
        if sandboxed:  # nothing can be loaded any longer once a script runs
            self._call("find_all", table(functions.names()))
        self._call("start", sandboxed)

    @property
    def handles(self) -> Handles:
        """Returns the tensors of this state by handle. Loads PyTorch."""
        return self._pytorch.handles

    def run_file(self, path: str) -> int:
        """Runs a script and returns its exit code. Raises LuaError."""
        return self._call("file", to_lua(path))

    def run_string(self, code: str, name: str = "=(command line)") -> int:
        """Runs Lua source and returns its exit code. Raises LuaError."""
        return self._call("string", to_lua(code), to_lua(name))

    def finds(self, package: str) -> bool:
        """Returns whether ``require`` would find a package."""
        return bool(self._run("finds", to_lua(package)))

    def require(self, package: str) -> int:
        """Calls ``require(package)`` and keeps the package in a global of its name. Raises LuaError."""
        return self._call("require", to_lua(package))

    def lock_down(self, packages: Sequence[str], sources: dict[str, str]) -> None:
        """Loads ``packages``, then leaves scripts only what cannot reach files, processes or memory.

        ``sources``: Lua text that ``require`` may find, by module name. Raises LuaError.
        """
        table = self._lua.table_from
        self._call("add", "sandbox.lua", table(list(packages)), table(sources))

    def run_for_result(self, code: str, name: str) -> tuple[int, bytes | None]:
        """Runs Lua source; returns its exit code and the table {n=, values...} it returned, as the bytes of a
        .t7.

        None if it ended by ``os.exit``. Raises LuaError.
        """
        exit_code = self._call("keep_result", code, name)
        result = self._run("result")
        return exit_code, None if result is None else result.encode("latin-1")

    def finish(self) -> int:
        """Ends the script: the pools of threads that it has left end their jobs. Returns the exit code."""
        return self._call("finish")

    def end_process_with(self, exit_code: int) -> None:
        """Has the process end as soon as this state does, after the finalisers of the script."""
        self._run("end_process", exit_code)

    def report_of_ways(self) -> str:
        """Returns a line for each operation and way of a state with a ``way``: calls, and why not a faster
        one."""
        report: str = self._run("report_of_ways", self._crew.ways_of_ended_threads())
        return report.encode("latin-1").decode("utf-8", "replace")

    def ways_taken(self) -> str:
        """Returns what the report of another state adds to its own; nothing in a state without a ``way``."""
        return self._run("ways_taken") if self._is_watched else ""

    def collect(self) -> int:
        """Runs a full collection; returns how many handles are then alive."""
        self._run("collect")
        return self._pytorch.alive()

    def watch_globals(self, strict: bool) -> None:
        """Reports each new or unknown global from now on: on stderr, or (``strict``) as an error."""
        self._call("add", "globals.lua", strict)

    def add_modules(self) -> None:
        """Makes the actions on nn modules that Python uses (lua/th/api/modules.lua)."""
        self._call("add", "api/modules.lua")

    def add_legacy(self) -> None:
        """Makes the actions on the modules of lua_compat.legacy (lua/th/api/legacy.lua)."""
        self._call("add", "api/legacy.lua")

    def ask(self, action: str, *arguments: Any) -> Any:
        """Runs one of the actions that were added; returns what it returns, several results as a tuple."""
        sys.stdout.flush()
        try:
            with self._pytorch:
                return self._run(action, *arguments)
        finally:
            self._flush()

    def open_prompt(self, colored: bool) -> None:
        """Makes ``evaluate``, ``is_whole``, ``complete`` and the prompt's own globals."""
        self._call("add", "prompt/init.lua", colored)

    def open_notebook(self, show: Callable[[str], None], ask: Callable[[], str | None], session: str) -> None:
        """Makes ``run_cell``, ``help``, ``is_whole``, ``complete`` and the package itorch.

        ``show`` takes what is to be shown as JSON; ``ask`` returns a line that is typed; ``session`` is a
        text that no other notebook's state has.
        """
        self._call("add", "prompt/notebook.lua", show, ask, session)

    def run_cell(self, code: str, number: int, silent: bool) -> str | None:
        """Runs a cell of a notebook, and shows its value unless ``silent``; returns an error's text with a
        traceback. Raises SystemExit for ``os.exit``."""
        problem = self.ask("run_cell", to_lua(code), number, silent)
        return None if problem is None else printable_lines(from_lua(problem))

    def help(self, name: str) -> str | None:
        """Returns what is known about a name, or None."""
        text = self.ask("help", to_lua(name))
        return None if text is None else from_lua(text)

    def flush(self) -> None:
        """Writes out what Lua has printed."""
        self._flush()

    def loop_stopper(self) -> LoopStopper | None:
        """Returns what stops typed code that does not come back to Python; None if LuaJIT hides it."""
        try:
            return LoopStopper(luajit21.__file__, int(self._run("state_address"), 0))
        except (AttributeError, OSError, TypeError, ValueError):
            return None

    def evaluate(self, text: str) -> int | None:
        """Runs a typed text and shows its values or its error; returns the exit code if it called
        ``os.exit``."""
        try:
            self._protected("evaluate", to_lua(text))
        except SystemExit as stop:
            self.exited = True
            return _exit_code(stop)
        return None

    def is_whole(self, text: str) -> bool:
        """Returns whether a typed text is complete; False if more of it has to come."""
        return bool(self._run("is_whole", to_lua(text)))

    def complete(self, word: str) -> list[str]:
        """Returns the names that a typed beginning, such as ``torch.ran`` or ``t:si``, may become."""
        return [name for name in self._run("complete", to_lua(word)).split("\n") if name]

    def _call(self, what: str, *arguments: Any) -> int:
        try:
            self._protected(what, *arguments)
        except SystemExit as stop:
            self.exited = True
            return _exit_code(stop)
        return 0

    def _protected(self, what: str, *arguments: Any) -> None:
        # Lua writes through C's stdout and Python through its own: each hands over what it still holds.
        sys.stdout.flush()
        try:
            with self._pytorch:
                trouble = self._run(what, *arguments)
        finally:
            self._flush()
        if trouble is not None:
            raise LuaError(printable_lines(trouble.encode("latin-1").decode("utf-8", "replace")))

    def _flush(self) -> None:
        self._run("flush")


def _command() -> str:
    """Returns the shell's words that start th as this process was started, or as Python finds it."""
    words = [sys.argv[0]] if os.path.basename(sys.argv[0]) == "th" else [sys.executable, "-m", "lua_compat"]
    return shlex.join(words)


def run(path: str | os.PathLike[str], args: Sequence[str] = (), *, trust_functions: bool = False) -> int:
    """Runs a Lua script of Torch7 as ``th path args...`` does, in this process.

    Returns the exit code (``os.exit`` ends the script only). Raises LuaError for an error that the
    script did not catch, FileNotFoundError if there is no script. Threads of the script that still work
    when it has failed or called ``os.exit`` are waited for.
    """
    script = checked_script(path, args)
    crew = Crew()
    try:
        runtime = Runtime(script, args, crew=crew, trusted=TrustedFiles(script, trust_functions))
        code = runtime.run_file(script)
        return code if runtime.exited else runtime.finish()
    finally:
        crew.leave(1)
