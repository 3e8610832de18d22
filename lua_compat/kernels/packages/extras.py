"""Libraries that need not be installed: imported when a package first needs them."""

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def extra(module: str, package: str, project: str) -> Any:
    """Returns a module that a Lua package needs. Raises ValueError, saying how to install its project."""
    try:
        return import_module(module)
    except ImportError:
        raise ValueError(_needs(package, project)) from None


def check_extra(module: str, package: str, project: str) -> None:
    """Raises ValueError, saying how to install it, where a module is missing; does not import it."""
    if module not in sys.modules and find_spec(module) is None:
        raise ValueError(_needs(package, project))


def _needs(package: str, project: str) -> str:
    return f"{package} needs {project}: pip install 'convnet-benchmarks[packages]' (or {project})"
