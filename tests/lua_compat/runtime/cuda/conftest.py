"""A Lua state in which CUDA's tensors are in main memory."""

from collections.abc import Iterator

import pytest

from lua_compat.runtime.state import Runtime
from tests.helpers.fake_cuda import fake_cuda


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    """A Lua state whose CUDA tensors are in main memory, under PyTorch's rules for a GPU."""
    opened = Runtime(cpu_as_cuda=True)
    opened.handles.cuda = "cuda"
    with fake_cuda():
        opened.run_string("require 'cunn' require 'cudnn' require 'ccn2'")
        yield opened
