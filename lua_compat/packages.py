"""Python packages as lists of their modules."""

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType


def modules_of(package: str) -> Iterator[ModuleType]:
    """Imports and yields every module of a package and of the packages in it, in the order of their names."""
    for found in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
        if not found.ispkg:
            yield import_module(found.name)
