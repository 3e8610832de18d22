"""Libraries that need not be installed: imported when a package first needs them."""

from importlib import import_module
from typing import Any


def extra(module: str, package: str, project: str) -> Any:
    """Returns a module that a Lua package needs. Raises ValueError, saying how to install its project."""
    try:
        return import_module(module)
    except ImportError:
        raise ValueError(
            f"{package} needs {project}: pip install 'convnet-benchmarks[packages]' (or {project})"
        ) from None
