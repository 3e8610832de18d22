"""What Torch7's operations compute, as functions of PyTorch tensors: usable and tested from Python alone.

Conventions: results first, written in place (the caller has given them their size, unless they are annotated
``Out``); dimensions and indices count from 1, as in Torch7; scalars have been cast to the element type.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

_MODULES = (
    "pointwise",
    "reductions",
    "construction",
    "selection",
    "linear_algebra",
    "random",
    "convolution",
    "system",
    "device",
    "nn.transfer",
    "nn.spatial",
    "nn.loss",
    "nn.normalization",
    "nn.layers",
    "nn.convolution_any",
    "nn.pooling",
    "nn.recurrent",
    "nn.similarity",
    "nn.sparse",
    "nn.connection_tables",
    "image.geometry",
    "image.colors",
    "image.files",
    "image.drawing",
)

# Modules whose kernels reach files or the machine around the script; these of them do not.
_OUTSIDE_MODULES = ("system", "image.files")
_HARMLESS = {
    "get_num_cores",
    "get_num_threads",
    "image_compress",
    "image_decompress",
    "is_terminal",
    "process_clock",
    "set_num_threads",
    "sleep",
    "terminal_columns",
    "wall_clock",
}


def all_kernels() -> dict[str, Callable[..., Any]]:
    """Every kernel by its name."""
    kernels: dict[str, Callable[..., Any]] = {}
    for module_name in _MODULES:
        module = import_module(f"lua_compat.kernels.{module_name}")
        for name in module.__all__:
            assert name not in kernels, f"two kernels are called {name}"
            kernels[name] = getattr(module, name)
    return kernels


def kernels_of_a_state() -> dict[str, Callable[..., Any]]:
    """The kernels that remember something, new for each Lua state."""
    from lua_compat.kernels.hdf5_files import OpenFiles

    files = OpenFiles()
    return {name: getattr(files, name) for name in dir(files) if not name.startswith("_")}


def outside_kernels() -> list[str]:
    """The kernels that a script which is not trusted must not call."""
    modules = [import_module(f"lua_compat.kernels.{name}") for name in _OUTSIDE_MODULES]
    names = [kernel for module in modules for kernel in module.__all__ if kernel not in _HARMLESS]
    return [*names, *kernels_of_a_state()]
