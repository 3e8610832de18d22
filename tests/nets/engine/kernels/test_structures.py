"""The structures that Python fills are those that the compiled code reads."""

import ctypes
import importlib
import platform
import re
import shutil
from pathlib import Path
from types import ModuleType

import pytest

from convnet_benchmarks.nets.engine.kernels import compiled
from convnet_benchmarks.nets.engine.kernels.compiled import early, products, tiles
from convnet_benchmarks.nets.engine.kernels.winograd import winograd
from tests.helpers.structures import check_structure

FOLDER = Path(compiled.__file__).parent
STRUCTURE = re.compile(r"^typedef struct \{(.*?)^\} (\w+);", re.M | re.S)
# With a matrix unit: only the syntax is looked at.
ARCHITECTURE = "sapphirerapids" if platform.machine() == "x86_64" else "native"


def structures(module: ModuleType) -> list[type[ctypes.Structure]]:
    own = [value for value in vars(module).values() if isinstance(value, type)]
    return [kind for kind in own if issubclass(kind, ctypes.Structure) and kind.__module__ == module.__name__]


def source_of(module: ModuleType) -> str:
    """The C code of a module with all that it is compiled with."""
    assert module.__file__
    file = Path(module.__file__).with_suffix(".c")
    elsewhere = {tiles: tiles._constants(winograd(2, 3)), products: early.CONSTANTS}
    constants = elsewhere.get(module) or getattr(module, "_CONSTANTS", "")
    own = file.read_text() if file.exists() else ""
    vectors = (FOLDER / "vectors.h").read_text()
    return own if file.stem == "sequence" else f"#define REAL float\n{vectors}\n{constants}{own}"


def declared(body: str) -> list[str]:
    """The names of a C structure's fields, in order."""
    statements = re.sub(r"/\*.*?\*/", "", body, flags=re.S).split(";")
    last = re.compile(r"(\w+)\)?(?:\[[^\]]*\])*(?:\([^()]*\))?\s*(?:,|$)")
    return [name for statement in statements for name in last.findall(statement)]


def cases() -> list[tuple[type[ctypes.Structure], ModuleType]]:
    names = [file.stem for file in sorted(FOLDER.glob("*.py")) if file.stem != "__init__"]
    modules = [importlib.import_module(f"{compiled.__name__}.{name}") for name in names]
    return [(kind, module) for module in modules for kind in structures(module)]


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize(("kind", "module"), cases(), ids=lambda value: value.__name__.rpartition(".")[2])
def test_sizes_and_offsets_are_those_of_c(kind: type[ctypes.Structure], module: ModuleType) -> None:
    source = source_of(module)
    names = [field[0] for field in kind._fields_]
    alike = [match[2] for match in STRUCTURE.finditer(source) if declared(match[1]) == names]
    assert len(alike) == 1, f"C has {alike or 'no structure'} with the fields {', '.join(names)}"
    check_structure(kind, alike[0], names, source, f"-march={ARCHITECTURE}")


def test_there_are_structures() -> None:
    assert len(cases()) > 10
