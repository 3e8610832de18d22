"""Torch7's operations as functions of PyTorch tensors, the kernels: usable and tested from Python alone.

Every module in this package with ``__all__``, a list of names, holds kernels. Its ``SANDBOXED`` lists those
that an untrusted script may call; the others are refused there. It is ``__all__`` if no kernel of the module
reaches files, other processes or the rest of the machine.

Conventions: results first, written in place (the caller has resized them, unless they are annotated ``Out``);
dimensions and indices count from 1, as in Torch7; scalars have been cast to the element type.
"""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module

TYPE_CHECKING = False  # typing is not loaded before a script starts
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType
    from typing import Any

# They load in a millisecond, and small scripts call nothing else.
_LIGHT = ("lua_compat.kernels.openblas", "lua_compat.kernels.system")


@cache
def light_kernels() -> dict[str, str]:
    """Returns ``kernel_modules`` of the modules that load at once; no file is searched for them."""
    return {name: module for module in _LIGHT for name in import_module(module).__all__}


def kernel_modules() -> dict[str, str]:
    """Returns the name of each kernel's module, by the kernel's name.

    It is read from the source text: importing the modules would load PyTorch, which takes more than a second.
    """
    return _read_modules(tuple(__path__))


@cache
def _read_modules(folders: tuple[str, ...]) -> dict[str, str]:
    modules: dict[str, str] = {}
    for module, path in sorted(found for folder in folders for found in _files(folder, __name__)):
        with open(path, encoding="utf-8") as file:
            listed = file.read().partition("\n__all__ = [")[2].partition("]")[0]
        for name in listed.split('"')[1::2]:
            assert name not in modules, f"two kernels are called {name}"
            modules[name] = module
    return modules


def _files(folder: str, package: str) -> Iterator[tuple[str, str]]:
    """Yields the name and the path of every module in a package's folder and below."""
    for entry in os.scandir(folder):
        name, ending = os.path.splitext(entry.name)
        if ending == ".py" and name != "__init__":
            yield f"{package}.{name}", entry.path
        elif entry.is_dir() and os.path.isfile(os.path.join(entry.path, "__init__.py")):
            yield from _files(entry.path, f"{package}.{name}")


def find_kernel(name: str) -> Callable[..., Any]:
    """Returns a kernel by its name; imports its module."""
    kernel: Callable[..., Any] = getattr(_module_of(name), name)
    return kernel


def is_harmless(name: str) -> bool:
    """Returns whether an untrusted script may call a kernel, because it reaches nothing outside the
    script."""
    return name in getattr(_module_of(name), "SANDBOXED", ())


def _module_of(name: str) -> ModuleType:
    return import_module(light_kernels().get(name) or kernel_modules()[name])


def all_kernels() -> dict[str, Callable[..., Any]]:
    """Returns every kernel by its name."""
    return {name: find_kernel(name) for name in kernel_modules()}


def sandboxed_kernels() -> frozenset[str]:
    """Returns the names of the kernels that an untrusted script may call."""
    modules: set[ModuleType] = {import_module(module) for module in kernel_modules().values()}
    return frozenset(name for module in modules for name in getattr(module, "SANDBOXED", ()))
