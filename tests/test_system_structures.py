"""Structures of the system that Python fills or reads have the sizes and offsets of the system's headers."""

import ctypes
import shutil
import sys

import pytest

from convnet_benchmarks.nets.memory import heap
from lua_compat.sandbox import seccomp
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
def test_a_wrong_size_is_noticed() -> None:
    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_int), ("instructions", ctypes.c_void_p))

    with pytest.raises(AssertionError, match="size of length"):
        check_structure(Program, "struct sock_fprog", ["len", "filter"], "#include <linux/filter.h>")
