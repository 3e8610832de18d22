"""Which package the name ``nets`` stands for, where a folder of the user's has that name, too.

This project installs a top-level package called ``nets``, and people keep nets of their own in folders
called nets. Python imports whichever comes first on its path: with ``python -m`` the working directory's.
Here a finder ahead of Python's own decides: ``nets`` is this project's package (``reserve``), whose
``__init__.py`` adds the other folders of that name. While code of the user's is imported and called, ``nets``
is the one in the working directory (``WorkingDirectoryFirst``).
"""

import os
import sys
from importlib.machinery import ModuleSpec, PathFinder

# Whatever else is imported here is imported before a command can take over Ctrl-C (nets/ctrl_c.py).
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

NAME = "nets"
OURS = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), NAME)


class _Finder:
    """Finds ``nets`` in one place: a folder, with or without ``__init__.py``, or a .py file."""

    def __init__(self, place: str) -> None:
        self._place = place

    def find_spec(
        self, fullname: str, path: "Sequence[str] | None" = None, target: "ModuleType | None" = None
    ) -> ModuleSpec | None:
        if fullname != NAME:
            return None
        return PathFinder.find_spec(NAME, [os.path.dirname(self._place)])


def reserve() -> None:
    """Makes ``import nets`` this project's package from now on, in this process.

    Of a package of that name that was imported before, the modules that this project does not have stay.
    """
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    sys.meta_path.insert(0, _Finder(OURS))
    loaded = sys.modules.get(NAME)
    if loaded is not None and OURS not in map(str, getattr(loaded, "__path__", ())):
        _put_back(_set_aside(), {})


class WorkingDirectoryFirst:
    """A context in which imports look into the working directory first, for ``nets`` too.

    ``theirs`` keeps the modules of the user's own ``nets`` from one context to the next; it begins empty.
    """

    def __init__(self, theirs: "dict[str, ModuleType]") -> None:
        self._theirs = theirs
        self._ours: dict[str, ModuleType] = {}
        self._folder = os.getcwd()
        here = os.path.join(self._folder, NAME)
        is_ours = os.path.realpath(here) == OURS
        has_one = os.path.exists(here) or os.path.exists(f"{here}.py")
        self._finder = _Finder(here) if has_one and not is_ours else None

    def __enter__(self) -> None:
        sys.path.insert(0, self._folder)
        if self._finder:
            sys.meta_path.insert(0, self._finder)
            self._ours = _set_aside()
            sys.modules.update(self._theirs)

    def __exit__(self, *_: object) -> None:
        sys.path.remove(self._folder)
        if self._folder not in sys.path:
            sys.path.append(self._folder)  # stays: the user's code may import its neighbours when it runs
        if self._finder:
            sys.meta_path.remove(self._finder)
            self._theirs.update(_set_aside())
            _put_back(self._theirs, self._ours)


def _set_aside() -> "dict[str, ModuleType]":
    """Takes ``nets`` and its modules out of what is imported, and returns them."""
    names = [name for name in sys.modules if name == NAME or name.startswith(f"{NAME}.")]
    return {name: sys.modules.pop(name) for name in names}


def _put_back(theirs: "dict[str, ModuleType]", ours: "dict[str, ModuleType]") -> None:
    """Restores this project's modules, and those of the user's under names that are free."""
    sys.modules.update({name: module for name, module in theirs.items() if not _is_ours(name)})
    sys.modules.update(ours)


def _is_ours(name: str) -> bool:
    """Whether this project has a module of that name, imported or not."""
    place = os.path.join(os.path.dirname(OURS), *name.split("."))
    return os.path.isdir(place) or os.path.isfile(f"{place}.py")
