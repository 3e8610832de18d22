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
    "nn_transfer",
    "nn_spatial",
    "nn_loss",
    "nn_normalization",
    "nn_layers",
    "nn_convolutions",
    "nn_pooling",
    "nn_similarity",
    "nn_sparse",
    "nn_connection_tables",
)


def all_kernels() -> dict[str, Callable[..., Any]]:
    """Every kernel by its name."""
    kernels: dict[str, Callable[..., Any]] = {}
    for module_name in _MODULES:
        module = import_module(f"lua_compat.kernels.{module_name}")
        for name in module.__all__:
            assert name not in kernels, f"two kernels are called {name}"
            kernels[name] = getattr(module, name)
    return kernels
