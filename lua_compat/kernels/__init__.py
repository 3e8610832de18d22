"""Torch7's operations as functions of PyTorch tensors, the kernels: usable and tested from Python alone.

Every module in this package with ``__all__`` holds kernels. Beside it, ``SANDBOXED`` names those that an
untrusted script may call: a kernel that is not in it is refused there. It is ``__all__`` where no kernel
reaches files, other processes or the machine around the script.

Conventions: results first, written in place (the caller has given them their size, unless they are annotated
``Out``); dimensions and indices count from 1, as in Torch7; scalars have been cast to the element type.
"""

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from lua_compat.packages import modules_of


def _modules() -> Iterator[ModuleType]:
    return (module for module in modules_of(__name__) if hasattr(module, "__all__"))


def all_kernels() -> dict[str, Callable[..., Any]]:
    """Returns every kernel by its name."""
    kernels: dict[str, Callable[..., Any]] = {}
    for module in _modules():
        for name in module.__all__:
            assert name not in kernels, f"two kernels are called {name}"
            kernels[name] = getattr(module, name)
    return kernels


def sandboxed_kernels() -> frozenset[str]:
    """Returns the names of the kernels that an untrusted script may call."""
    return frozenset(name for module in _modules() for name in getattr(module, "SANDBOXED", ()))
