"""Which package the name ``nets`` stands for, where a folder of the user's has that name, too.

This project installs a top-level package called ``nets``, and people keep nets of their own in folders
called nets. Python imports whichever comes first on its path: with ``python -m`` the working directory's.
Here a finder ahead of Python's own decides: ``nets`` is this project's package (``reserve``), whose
``__init__.py`` adds the other folders of that name. While code of the user's is imported and called, ``nets``
is the one in the working directory (``working_directory_first``).
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType

NAME = "nets"
OURS = Path(__file__).resolve().parents[1] / NAME


class _Finder(MetaPathFinder):
    """Finds ``nets`` in one place: a folder, with or without ``__init__.py``, or a .py file."""

    def __init__(self, place: Path) -> None:
        self._place = place

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != NAME:
            return None
        if self._place.suffix == ".py":
            return spec_from_file_location(NAME, self._place)
        folders = [str(self._place)]
        code = self._place / "__init__.py"
        if code.is_file():
            return spec_from_file_location(NAME, code, submodule_search_locations=folders)
        spec = ModuleSpec(NAME, None, is_package=True)
        spec.submodule_search_locations = folders
        return spec


def reserve() -> None:
    """Makes ``import nets`` this project's package from now on, in this process.

    Of a package of that name that was imported before, the modules that this project does not have stay.
    """
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    sys.meta_path.insert(0, _Finder(OURS))
    loaded = sys.modules.get(NAME)
    if loaded is not None and str(OURS) not in map(str, getattr(loaded, "__path__", ())):
        _put_back(_set_aside(), {})


@contextmanager
def working_directory_first(theirs: dict[str, ModuleType]) -> Iterator[None]:
    """Imports look into the working directory first, for ``nets`` too, until the block ends.

    ``theirs`` keeps the modules of the user's own ``nets`` from one block to the next; at first it is empty.
    """
    folder = Path.cwd()
    place = next((p for p in (folder / NAME, folder / f"{NAME}.py") if p.exists()), OURS)
    sys.path.insert(0, str(folder))
    finder = None if place.resolve() == OURS else _Finder(place)
    ours = {}
    if finder:
        sys.meta_path.insert(0, finder)
        ours = _set_aside()
        sys.modules.update(theirs)
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        if str(folder) not in sys.path:
            sys.path.append(str(folder))  # stays: the user's code may import its neighbours when it runs
        if finder:
            sys.meta_path.remove(finder)
            theirs.update(_set_aside())
            _put_back(theirs, ours)


def _set_aside() -> dict[str, ModuleType]:
    """Takes ``nets`` and its modules out of what is imported, and returns them."""
    names = [name for name in sys.modules if name == NAME or name.startswith(f"{NAME}.")]
    return {name: sys.modules.pop(name) for name in names}


def _put_back(theirs: dict[str, ModuleType], ours: dict[str, ModuleType]) -> None:
    """Restores this project's modules, and those of the user's under names that are free."""
    sys.modules.update({name: module for name, module in theirs.items() if not _is_ours(name)})
    sys.modules.update(ours)


def _is_ours(name: str) -> bool:
    """Whether this project has a module of that name, imported or not."""
    place = OURS.parent.joinpath(*name.split("."))
    return place.is_dir() or place.with_suffix(".py").is_file()
