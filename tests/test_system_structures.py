"""Structures of the system that Python fills or reads have the sizes and offsets of the system's headers."""

import ctypes
import shutil
import sys
from pathlib import Path

import pytest

from convnet_benchmarks.nets.memory import heap
from lua_compat.sandbox import landlock, seccomp
from tests.helpers.structures import check_structure

needs_headers = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None, reason="needs Linux and a C compiler"
)


@needs_headers
@pytest.mark.skipif(heap._function("mallinfo2") is None, reason="the C library has no mallinfo2")
def test_the_heap_s_state() -> None:
    names = [field[0] for field in heap._State._fields_]
    check_structure(heap._State, "struct mallinfo2", names, "#include <malloc.h>")


@needs_headers
def test_a_program_of_seccomp() -> None:
    header = "#include <linux/filter.h>"
    check_structure(seccomp._Program, "struct sock_fprog", ["len", "filter"], header)


@needs_headers
def test_landlocks_rules() -> None:
    """The structure grows with the kernel: only the fields that the header knows can be compared."""
    header = Path("/usr/include/linux/landlock.h")
    if not header.exists():
        pytest.skip("the kernel's headers are older than Landlock")
    names = ("handled_access_fs", "handled_access_net", "scoped")
    known = [name for name in names if f"__u64 {name};" in header.read_text(encoding="utf-8")]

    class Known(ctypes.Structure):
        _fields_ = landlock._Ruleset._fields_[: len(known)]

    assert known == list(names[: len(known)])
    check_structure(Known, "struct landlock_ruleset_attr", known, "#include <linux/landlock.h>")


@needs_headers
def test_a_wrong_size_is_noticed() -> None:
    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_int), ("instructions", ctypes.c_void_p))

    with pytest.raises(AssertionError, match="size of length"):
        check_structure(Program, "struct sock_fprog", ["len", "filter"], "#include <linux/filter.h>")
