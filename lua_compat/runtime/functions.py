"""Python's functions that a Lua state can call, by name.

A function is found when Lua first asks for it. PyTorch is loaded with the first that needs it: it takes more
than a second, and many a script computes everything in Lua.
"""

from __future__ import annotations

import contextlib
import re
from functools import cached_property

from lua_compat.kernels import find_kernel, is_harmless, kernel_modules, light_kernels, sandboxed_kernels
from lua_compat.kernels.strings import from_lua, to_lua
from lua_compat.kernels.system import new_seed
from lua_compat.printable import printable, printable_lines
from lua_compat.runtime import pytorch
from lua_compat.runtime.pytorch import PyTorch

TYPE_CHECKING = False  # typing is not loaded before a script starts
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from lua_compat.runtime.crew import Crew
    from lua_compat.runtime.threads import NewState
    from lua_compat.runtime.trusted_files import TrustedFiles
    from lua_compat.whole_file import Saves

    Function = Callable[..., Any]

# Functions that an untrusted script may call, besides the kernels that their modules list.
_SANDBOXED = frozenset(
    {
        "exit", "message", "new", "slab", "slab_storage", "release_slab", "first_seed", "empty", "storage_of",
        "storage_resize", "view", "release", "raise_kept", "alive", "has_cuda", "cuda_in_main_memory",
        "cuda_why_not", "cuda_note", "set_num_threads", "signature", "compiled_file",
    }
)  # fmt: skip


class Functions:
    """The functions of one Lua state. They form no reference cycles, so Python frees them
    immediately.

    ``first_seed``: what generators of random numbers begin with; None: with another number each time.
    ``notes``: whether stderr says that the CPU stands in for a GPU. ``gpus``: as in ``Runtime``.
    ``sandboxed``: all but those named as harmless refuse. ``crew``, ``new_state``: the threads of the script,
    and what makes the state of one more; ``in_thread``: this is the state of one. ``trusted``: the files
    whose functions the script may load.
    """

    def __init__(
        self, side: PyTorch, crew: Crew, new_state: NewState, trusted: TrustedFiles, *,
        first_seed: int | None, sandboxed: bool, in_thread: bool, notes: bool, gpus: Mapping[int, int] | None,
    ) -> None:  # fmt: skip
        self._pytorch, self._sandboxed = side, sandboxed
        self._crew, self._new_state, self._trusted = crew, new_state, trusted
        self._notes, self._gpus = notes, gpus
        self._light: dict[str, Function | None] = {
            "exit": crew.threads.exit_from_thread if in_thread else _exit,
            "compiled_file": None if sandboxed else crew.compiled.get,
            "keep_compiled_file": crew.compiled.keep,
            "message": _message,
            "slab": side.slabs.request,
            "release_slab": side.slabs.release,
            "first_seed": new_seed if first_seed is None else lambda: first_seed,
            "alive": side.alive,
            "has_cuda": lambda: side.place is not None,
            "cuda_in_main_memory": lambda: side.in_main_memory,
            "set_num_threads": side.set_num_threads,
            "work_instead_of_pytorch": pytorch.address_of_work_instead,
        }
        # The state keeps these functions for its whole life: objects that came and went would hit a defect of
        # lupa's (an object handed out again while its dead wrapper awaits collection loses a reference).
        self._found: dict[str, Function | None] = {}

    def find(self, name: str) -> tuple[Function | None, bool]:
        """Returns the function of a name, None if there is none, and whether PyTorch is loaded."""
        if name not in self._found:
            with self._pytorch.loading():
                self._found[name] = self._find(name)
                self._pytorch.meet()
        return self._found[name], pytorch.is_loaded()

    def names(self) -> list[str]:
        """Returns the names of all functions. Loads PyTorch and every kernel."""
        return [*{**self._light, **self._of_process, **self._outside, **self._heavy, **kernel_modules()}]

    def _find(self, name: str) -> Function | None:
        if self._sandboxed and not (name in _SANDBOXED or name in self._harmless_kernels):
            called = {"storage_map": "mapping a file", **dict.fromkeys(self._for_threads, "threads")}
            return _refused(called.get(name, name))
        if name in self._light:
            return self._light[name]
        is_light = name in light_kernels()
        if not is_light and name in self._of_process:
            return self._of_process[name]
        if is_light or name in kernel_modules():
            kernel = find_kernel(name)
            adapted = _plain(kernel, name) if _takes_no_tensors(kernel) else self._adapted(kernel, name)
            return adapted if is_harmless(name) else self._after_figures(adapted, name)
        if name in self._outside:
            return _plain(self._outside[name], name)
        return self._heavy.get(name)

    def _adapted(self, kernel: Function, name: str) -> Function:
        from lua_compat.runtime.bridge import for_lua

        return for_lua(kernel, self._pytorch.handles, name)

    def _after_figures(self, function: Function, name: str) -> Function:
        """Returns a function that reaches files as one that first waits for figures in those it names."""
        settle_named, settle_all = self._crew.settle_named, self._crew.settle_all

        def call(*values: Any) -> Any:
            settle_named(values)
            return function(*values)

        def call_after_all(*values: Any) -> Any:
            settle_all()
            return function(*values)

        return call_after_all if name == "list_folder" else call

    @cached_property
    def _harmless_kernels(self) -> frozenset[str]:
        return sandboxed_kernels()

    @cached_property
    def _for_threads(self) -> dict[str, Function]:
        side = self._pytorch
        return self._crew.threads.functions(lambda: side.handles, side.slabs, self._new_state)

    @cached_property
    def _of_process(self) -> dict[str, Function]:
        """Returns the functions of devices, threads, figures and saved files."""
        from lua_compat.runtime.cuda import Cuda
        from lua_compat.whole_file import Saves

        saves = Saves()
        return {
            **Cuda(self._pytorch.place, self._notes, self._gpus).functions(),
            "note_written": self._trusted.note_written,
            "save_begin": _save_begin(saves),
            "save_end": saves.end,
            "why_no_functions": self._trusted.why_not,
            **self._for_threads,
            **self._crew.artist.functions(),
        }

    @cached_property
    def _outside(self) -> dict[str, Function]:
        """Returns the functions of what this state has open outside: HDF5 files, connections, databases."""
        from lua_compat.kernels.packages.databases import Databases
        from lua_compat.kernels.packages.hdf5_files import OpenFiles
        from lua_compat.kernels.packages.sockets import Connections

        return {**OpenFiles().kernels(), **Connections().kernels(), **Databases().kernels()}

    @cached_property
    def _heavy(self) -> dict[str, Function]:
        """Returns the functions that need PyTorch, apart from the kernels that modules name."""
        from lua_compat.runtime.bridge import kernel_signature

        handles = self._pytorch.handles

        def signature(name: str) -> str | None:
            return kernel_signature(find_kernel(name)) if name in kernel_modules() else None

        return {
            "new": handles.new,
            "slab_storage": handles.slab_storage,
            "empty": handles.empty,
            "storage_of": handles.storage_of,
            "storage_resize": handles.storage_resize,
            "storage_map": handles.storage_map,
            "view": handles.view,
            "release": handles.release,
            "raise_kept": handles.raise_kept,
            "signature": signature,
        }


def _save_begin(saves: Saves) -> Function:
    return lambda path: saves.begin(from_lua(path))


def _exit(code: int) -> None:
    raise SystemExit(code)


def _text(error: Exception) -> str:
    """Returns what went wrong in words that are neither Python's nor PyTorch's."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    text = str(error) or type(error).__name__
    if asked := re.search(r"allocate (\d+) bytes", text):
        return f"$ Torch: not enough memory: you tried to allocate {int(asked[1]) >> 30}GB. Buy new RAM!"
    if out := re.match(r"CUDA (error: )?out of memory", text):  # programs look for cutorch's words
        return f"cuda runtime error (2) : out of memory{text[out.end() :]}"
    if isinstance(error, ZeroDivisionError) or text == "ZeroDivisionError":
        return "division by zero"
    text = re.sub(r" at 0x[0-9a-f]+", "", text)  # where a Python object lies is nothing to a script
    return re.sub(r"^\"\w+\" not implemented for '(\w+)'$", r"not implemented for tensors of type \1", text)


def _message(error: object) -> tuple[str, bool]:
    """Returns what Lua gets of a Python exception: its text, and whether it must not be caught."""
    if isinstance(error, Exception):
        text = _text(error)
        if text.isascii() and text.isprintable():
            return text, False
        with contextlib.suppress(UnicodeError):  # most texts hold bytes of Lua's, others are text already
            text = text.encode("latin-1").decode("utf-8")
        # PyTorch's RuntimeErrors have lines; in others a line break is one of a file's names
        return to_lua((printable_lines if isinstance(error, RuntimeError) else printable)(text)), False
    return type(error).__name__, True


def _refused(name: str) -> Function:
    def refuse(*_: object) -> Any:
        raise PermissionError(f"{name} is not available in the sandbox")

    return refuse


def _takes_no_tensors(kernel: Function) -> bool:
    """Returns whether a kernel takes single values alone: it needs no handles."""
    annotations = getattr(kernel, "__annotations__", {})
    return all(kind in (str, float, int, bool) for name, kind in annotations.items() if name != "return")


def _plain(kernel: Function, name: str) -> Function:
    def call(*values: Any) -> Any:
        try:
            return kernel(*values)
        except (TypeError, AttributeError) as error:
            raise ValueError(f"{name.replace('_', ' ')}: invalid arguments") from error

    return call
