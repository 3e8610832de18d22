"""The plan of the house: no import circles, small folders, names that differ, imports at the top.

``python -m tests.test_layout`` prints the files of each folder and the import circles. The floors that the
arrows must keep to are import-linter's contracts in pyproject.toml.
"""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from itertools import combinations
from pathlib import Path

import pytest

from tests.helpers.places import ROOT

PACKAGES = ("convnet_benchmarks", "lua_compat", "nets")
LUA = ROOT / "lua_compat" / "lua"
MOST_FILES = 20
MOST_FILES_AT_THE_ROOT = 9

# They take long to load, or are extras that need not be installed: a function that uses them imports them.
HEAVY = {
    "PIL",
    "bokeh",
    "distributed",
    "h5py",
    "ipykernel",
    "jupyter_client",
    "lupa",
    "matplotlib",
    "nbclient",
    "nbformat",
    "numpy",
    "onnxruntime",
    "openvino",
    "pandas",
    "prompt_toolkit",
    "pynvml",
    "rich",
    "safetensors",
    "sklearn",
    "torch",
    "triton",
}

# Missing on some systems, or loaded ahead of the time when nothing more can be.
PLATFORM = {"fcntl", "grp", "pwd", "readline", "traceback"}

# Each takes a twentieth and more of the time in which th answers, and few runs of it need them.
SLOW = {
    "convnet_benchmarks.nets.version",
    "difflib",
    "convnet_benchmarks.nets.memory.heap",
    "lua_compat.cli.prompt",
    "lua_compat.drawing.artist",
    "lua_compat.drawing.connection",
    "lua_compat.kernels.packages.databases",
    "lua_compat.kernels.packages.sockets",
    "lua_compat.optional_packages",
    "lua_compat.runtime.cuda",
    "lua_compat.runtime.hash_seed",
    "lua_compat.runtime.threads",
    "lua_compat.sandbox",
    "lua_compat.whole_file",
    "pathlib",
    "platformdirs",
    "shutil",
    "tempfile",
}


def sources(*folders: str) -> list[Path]:
    found = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    return [path for path in found if "golden" not in path.parts]


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = ("convnet_benchmarks", *parts) if parts[0] == "nets" else parts  # by the link there
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> dict[str, Path]:
    return {module_name(path): path for path in sources(*PACKAGES)}


def imported_by(node: ast.AST) -> Iterator[str]:
    """Yields the modules that an import statement names: of ``from x import y`` x.y, if it is one."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        for alias in node.names:
            whole = f"{node.module}.{alias.name}"
            yield whole if whole in modules() else node.module


def imports(path: Path) -> set[str]:
    """Returns every module that a file imports, wherever in it, for types alone too."""
    return {name for node in ast.walk(ast.parse(path.read_text())) for name in imported_by(node)}


def at_the_top(path: Path) -> set[str]:
    """Returns the modules that are loaded with a file: its imports outside functions and type checking."""

    def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
        for node in body:
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                continue
            yield node
            for inner in (getattr(node, name, []) for name in ("body", "orelse", "finalbody")):
                if not isinstance(node, ast.FunctionDef):
                    yield from statements(inner)

    return {name for node in statements(ast.parse(path.read_text()).body) for name in imported_by(node)}


@cache
def loads_heavy(name: str) -> bool:
    """Whether importing a module loads a heavy one."""
    if name.partition(".")[0] in HEAVY:
        return True
    return name in modules() and any(loads_heavy(inner) for inner in at_the_top(modules()[name]) - {name})


def in_functions(path: Path) -> Iterator[tuple[int, str]]:
    tree = ast.parse(path.read_text())
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Import | ast.ImportFrom):
                    yield from ((node.lineno, name) for name in imported_by(node))


def circle() -> list[str]:
    """Returns the modules of an import circle; empty if there is none."""
    graph = {name: imports(path) & modules().keys() - {name} for name, path in modules().items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return [str(name) for name in error.args[1]]
    return []


def files_per_folder(*folders: str) -> Counter[str]:
    return Counter(str(path.parent.relative_to(ROOT)) for path in sources(*folders))


def test_no_import_circle() -> None:
    assert circle() == []


def test_the_name_nets_is_left_to_users() -> None:
    """Our own folder is imported as convnet_benchmarks.nets."""
    files = sources(*PACKAGES, "tests", "benchmarks", "docs", "scripts")
    taken = [path for path in files if any(name.split(".")[0] == "nets" for name in imports(path))]
    assert taken == []


def test_no_large_folder() -> None:
    counts = files_per_folder(*PACKAGES, "tests", "benchmarks")
    assert not [folder for folder, count in counts.items() if count > MOST_FILES]
    assert files_per_folder("convnet_benchmarks")["convnet_benchmarks"] <= MOST_FILES_AT_THE_ROOT
    lua = Counter(path.parent for path in LUA.rglob("*.lua"))
    assert lua and not [folder for folder, count in lua.items() if count > MOST_FILES]


def test_lua_takes_at_most_eight_arguments() -> None:
    """Kernels' entry points take what the kernels' signatures say; everything else takes records."""
    written = re.compile(r"function\s*([\w.:]*)\s*\(([^()]*)\)")
    files = list(LUA.rglob("*.lua"))
    long = []
    for path in files:
        text = path.read_text(encoding="utf-8")
        entries = set(re.findall(r"[\w.]+", " ".join(re.findall(r"^luajit\..*= (.*)", text, re.MULTILINE))))
        for name, parameters in written.findall(text):
            if parameters.count(",") >= 8 and not name.startswith("luajit.") and name not in entries:
                long.append(f"{path.name}: {name}({parameters})")
    assert files
    assert long == []


@pytest.mark.parametrize("package", PACKAGES)
def test_only_heavy_modules_are_imported_inside_functions(package: str) -> None:
    others = [
        f"{path.relative_to(ROOT)}:{line} {name}"
        for path in sources(package)
        for line, name in sorted(set(in_functions(path)))
        if not loads_heavy(name) and name not in PLATFORM | SLOW
    ]
    assert others == []


def test_names_in_a_folder_differ_by_more_than_an_ending() -> None:
    for folder in {path.parent for path in sources(*PACKAGES)}:
        names = {path.stem for path in folder.iterdir() if path.suffix == ".py" or path.is_dir()}
        alike = [(a, b) for a, b in combinations(sorted(names), 2) if b in (f"{a}s", f"{a}es")]
        assert not alike, folder


def test_no_prefix_is_shared_by_three_files() -> None:
    """Three files with a prefix are a folder of that name."""
    for folder in {path.parent for path in sources(*PACKAGES)}:
        prefixes = Counter(path.stem.partition("_")[0] for path in folder.glob("[a-z]*_*.py"))
        assert not [prefix for prefix, count in prefixes.items() if count >= 3], folder


def documented(*kinds: type[ast.AST]) -> Iterator[tuple[str, str, str]]:
    """Gives place, name and docstring of the documented nodes of ``kinds``."""
    for path in sources(*PACKAGES):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, kinds) and (text := ast.get_docstring(node)):  # type: ignore[arg-type]
                place = f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}"
                yield place, getattr(node, "name", ""), text


def test_no_docstring_opens_with_what() -> None:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    assert [place for place, _, text in documented(*kinds) if text.startswith("What ")] == []


def test_docstrings_of_public_functions_begin_with_a_verb() -> None:
    """In the third person: Returns, Reads, Computes."""
    verb = re.compile(r"[A-Z][a-z]+s\b")
    other = [
        place
        for place, name, text in documented(ast.FunctionDef)
        if not name.startswith("_") and (not verb.match(text) or text.split()[0] in ("This", "As", "Its"))
    ]
    assert other == []


if __name__ == "__main__":
    for name, count in sorted(files_per_folder(*PACKAGES, "tests").items()):
        print(f"{count:4d} {name}")
    print("import circle:", " -> ".join(circle()) or "none")
    sys.exit(bool(circle()))
