"""Python packages as lists of their modules."""

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType


def modules_of(package: ModuleType) -> Iterator[ModuleType]:
    """Imports and yields every module of a package and of the packages in it, in the order of their names."""
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not found.ispkg:
            yield import_module(found.name)
