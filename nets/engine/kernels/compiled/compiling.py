"""C code that the machine's own C compiler turns into a library when it is first needed.

What PyTorch's operators cannot do in one pass over memory is written in C. The library is compiled for the
processor it runs on and kept in the user's cache folder. Without a compiler the engine does the same work
with PyTorch's operators. Nothing here needs PyTorch, so that a compiler may run while PyTorch is being
loaded.
"""

import contextlib
import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
import threading
from functools import cache
from pathlib import Path

from convnet_benchmarks.nets.user_cache import read_own, replace_whole, user_cache

_VECTORS = Path(__file__).with_name("vectors.h")
_COMPILERS = ("cc", "gcc", "clang")
MOST, LESS = "-O3", "-O2"  # how much is optimised; code whose loops are unrolled by hand is as fast with less
_FLAGS = ("-march=native", "-std=gnu11", "-shared", "-fPIC")
_LINKED = ("-lm",)  # after the source on the command line
_SECONDS = 60
_MOST_BYTES = 64 << 20  # largest library that is loaded from the cache
_SEAL = hashlib.sha256().digest_size


class NotCompiled(RuntimeError):
    """There is no library; the message says why."""


@cache
def vector_source(file: Path, real: str, bfloat16: bool = False, constants: str = "") -> str:
    """Returns the text of a C file that is written with vectors.h. ``real``: the type in which it computes,
    "float" or "double"; ``constants``: definitions that it needs."""
    elements = "#define BFLOAT16\n" if bfloat16 else ""
    return f"#define REAL {real}\n{elements}{_VECTORS.read_text()}\n{constants}{file.read_text()}"


def library(source: str, level: str = MOST) -> ctypes.CDLL:
    """Returns the library of C ``source``, compiled now or earlier. ``level``: MOST or LESS. Raises
    :class:`NotCompiled`."""
    wanted = os.environ.get("CC", "")
    with _starting:
        place = _place(source, level, wanted)
    if place.found is None:
        with place.making:
            if place.found is None:
                place.found = _library(source, level, wanted)
    if isinstance(place.found, str):
        raise NotCompiled(place.found)
    return place.found


class _Place:
    """Holds a library, or the reason why there is none: a failure is cached, since retrying cannot succeed.
    Callers wait during the build."""

    def __init__(self) -> None:
        self.making = threading.Lock()
        self.found: ctypes.CDLL | str | None = None


_starting = threading.Lock()


@cache
def _place(source: str, level: str, wanted: str) -> _Place:
    return _Place()


def _library(source: str, level: str, wanted: str) -> ctypes.CDLL | str:
    try:
        compiler, version = _compiler(wanted)
        command = (*compiler, level, *_FLAGS)
        told = "\0".join((source, *command, *_LINKED, version, _processor()))
        kept = user_cache() / "compiled" / f"{hashlib.sha256(told.encode()).hexdigest()[:32]}.so"
        return _load(kept) or _make(source, command, kept)
    except NotCompiled as error:
        return str(error)


def _load(kept: Path) -> ctypes.CDLL | None:
    """Loads a kept library; None if it is missing, damaged, or somebody else could have written it."""
    content = read_own(kept, _MOST_BYTES)
    if content is None or content != _sealed(content[:-_SEAL]):
        return None
    try:
        return ctypes.CDLL(str(kept))
    except OSError:
        return None


def _sealed(library: bytes) -> bytes:
    """Appends a digest, which loaders ignore: without it a damaged library might load, and lack functions or
    crash."""
    return library + hashlib.sha256(library).digest()


def _make(source: str, command: tuple[str, ...], kept: Path) -> ctypes.CDLL:
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / kept.name
        _run((*command, "-x", "c", "-", "-o", str(made), *_LINKED), source)
        with contextlib.suppress(OSError):  # a folder that cannot be written to
            replace_whole(kept, _sealed(made.read_bytes()))
        try:
            return ctypes.CDLL(str(made))
        except OSError as error:
            raise NotCompiled(str(error)) from error


def compiler() -> str:
    """Returns the first line of the C compiler's ``--version``. Raises :class:`NotCompiled` where there is
    none."""
    return _compiler(os.environ.get("CC", ""))[1]


@cache
def _compiler(wanted: str) -> tuple[tuple[str, ...], str]:
    """Returns its command and version line; tries ``wanted`` instead of the usual ones, if given."""
    commands = [tuple(shlex.split(wanted))] if wanted.strip() else [(name,) for name in _COMPILERS]
    for command in commands:
        if shutil.which(command[0]):
            return command, _run((*command, "--version")).partition("\n")[0]
    tried = ", ".join(command[0] for command in commands)
    raise NotCompiled(f"no C compiler found (tried {tried})")


def _run(command: tuple[str, ...], text: str = "") -> str:
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=_SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        raise NotCompiled(f"{command[0]}: {error}") from error
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        told = next((line for line in lines if "error" in line), lines[0])
        raise NotCompiled(f"{command[0]} failed: {told}")
    return done.stdout


@cache
def _processor() -> str:
    """Identifies all that ``-march=native`` depends on: machines may share a home folder."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    told = {
        line for line in lines if line.startswith(("vendor_id", "cpu family", "model", "flags", "Features"))
    }
    return f"{platform.machine()} {sorted(told)}"
