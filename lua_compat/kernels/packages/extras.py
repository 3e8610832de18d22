"""Optional libraries, imported when a package first needs them."""

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def extra(module: str, package: str, project: str, group: str = "packages") -> Any:
    """Returns a module that a Lua package needs. Raises ValueError, saying how to install its project, or the
    group of our optional dependencies that contains it."""
    try:
        return import_module(module)
    except ImportError:
        raise ValueError(_needs(package, project, group)) from None


def check_extra(module: str, package: str, project: str) -> None:
    """Raises ValueError, saying how to install it, where a module is missing; does not import it."""
    if module not in sys.modules and find_spec(module) is None:
        raise ValueError(_needs(package, project, "packages"))


def _needs(package: str, project: str, group: str) -> str:
    from lua_compat.optional_packages import pip_install

    return f"{package} needs {project}: {pip_install(group)} (or {project})"
