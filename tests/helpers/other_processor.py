"""Compiled code of the CPU engine on another processor: made by a cross-compiler, run by an emulator.

A call's job and the memory around everything that it points to go to a program of that processor, and what
the program has changed comes back: whoever called sees no difference.
"""

import ctypes
import re
import shutil
import struct
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from convnet_benchmarks.nets.engine.kernels.compiled import library
from convnet_benchmarks.nets.engine.kernels.compiled.compiling import NotCompiled

COMPILER, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64"
AVAILABLE = bool(shutil.which(COMPILER) and shutil.which(EMULATOR))

_PAGE = 4096
_BEHIND = 1 << 21  # bytes sent from where a job points on
_FUNCTION = re.compile(r"^(?:void|long) (\w+)\(", re.MULTILINE)
_MAIN = """
#include <stdio.h>
#include <stdlib.h>

typedef long function(void *);
static function *const functions[] = {FUNCTIONS};

static void transfer(size_t moved, size_t bytes) { if (moved != bytes) exit(3); }

/* Reads: which function, bytes of the job, job, count of windows, and for each its address there, bytes,
   content. Numbers of the job that are addresses within a window become addresses here. */
int main(void) {
    long which, bytes, count, at[64], size[64];
    char *here[64];
    transfer(fread(&which, sizeof which, 1, stdin), 1);
    transfer(fread(&bytes, sizeof bytes, 1, stdin), 1);
    long *job = aligned_alloc(64, (bytes + 63) / 64 * 64);
    transfer(fread(job, 1, bytes, stdin), bytes);
    transfer(fread(&count, sizeof count, 1, stdin), 1);
    for (long i = 0; i < count; i++) {
        transfer(fread(&at[i], sizeof at[i], 1, stdin), 1);
        transfer(fread(&size[i], sizeof size[i], 1, stdin), 1);
        here[i] = aligned_alloc(4096, size[i]);
        transfer(fread(here[i], 1, size[i], stdin), size[i]);
    }
    for (long word = 0; word < bytes / 8; word++)
        for (long i = 0; i < count; i++)
            if (job[word] >= at[i] && job[word] < at[i] + size[i]) {
                job[word] += (long)here[i] - at[i];
                break;
            }
    const long result = functions[which](job);
    transfer(fwrite(&result, sizeof result, 1, stdout), 1);
    for (long i = 0; i < count; i++) transfer(fwrite(here[i], 1, size[i], stdout), size[i]);
    return 0;
}
"""


@dataclass(frozen=True)
class _Function:
    program: Path
    place: int

    def __call__(self, job: Any = None) -> int:
        """Calls a function that takes nothing, or a reference to a job, from one thread."""
        return self.run(b"" if job is None else bytes(job._obj))

    def run(self, job: bytes) -> int:
        windows = _windows(job)
        message = [struct.pack("qq", self.place, len(job)), job, struct.pack("q", len(windows))]
        for start, content in windows:
            message += [struct.pack("qq", start, len(content)), content]
        done = subprocess.run(
            [EMULATOR, str(self.program)], input=b"".join(message), capture_output=True, check=True
        ).stdout
        (result,) = struct.unpack_from("q", done)
        place = 8
        for start, before in windows:
            old = np.frombuffer(before, np.uint8)
            new = np.frombuffer(done, np.uint8, len(before), place)
            here = np.ctypeslib.as_array((ctypes.c_uint8 * len(before)).from_address(start))
            changed = old != new
            here[changed] = new[changed]
            place += len(before)
        return int(result)


class Compiled:
    """Takes the place of a library that ``vector_library`` (``compiled/library.py``) gives."""

    def __init__(self, source: str, folder: Path) -> None:
        names = _FUNCTION.findall(source)
        table = ", ".join(f"(function *){name}" for name in names)
        program = folder / f"{abs(hash(source))}"
        if not program.exists():
            subprocess.run(
                [COMPILER, "-O2", "-std=gnu11", "-static", "-x", "c", "-", "-o", str(program), "-lm"],
                input=source + _MAIN.replace("FUNCTIONS", table),
                text=True,
                check=True,
            )
        for place, name in enumerate(names):
            setattr(self, name, _Function(program, place))


def use(patch: Any, folder: Path) -> None:
    """Has the engine's compiled code run there; ``patch`` undoes it. Programs are kept in ``folder``."""

    def vector_library(file: Path, dtype: torch.dtype, constants: str = "", _level: str = "") -> Compiled:
        if dtype not in library.ARITHMETIC:
            raise NotCompiled(f"no compiled code in {dtype}")
        return Compiled(library.source_of(file, dtype, constants), folder)

    def run_on_all_threads(function: _Function, job: ctypes.Structure) -> None:
        function.run(bytes(job))

    patch.setattr(library, "vector_library", vector_library)
    patch.setattr(library, "run_on_all_threads", run_on_all_threads)


def _windows(job: bytes) -> list[tuple[int, bytes]]:
    """Returns the memory around what the words of ``job`` point to: address and content."""
    maps = re.findall(r"^(\w+)-(\w+) rw", Path("/proc/self/maps").read_text(), re.MULTILINE)
    # A tensor may lie across several maps: neighbours that the kernel keeps apart, as of different pages.
    writable = _merged((int(first, 16), int(last, 16)) for first, last in maps)
    wanted: list[tuple[int, int]] = []
    for (word,) in struct.iter_unpack("q", job):
        for first, last in writable:
            if first <= word < last:
                wanted.append((word // _PAGE * _PAGE, min(last, word // _PAGE * _PAGE + _BEHIND)))
    return [(start, ctypes.string_at(start, end - start)) for start, end in _merged(wanted)]


def _merged(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Joins ranges of addresses that touch or overlap."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
