"""What the engine's tests vary around a run: the C compiler and the number of threads."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import pytest
import torch

from convnet_benchmarks.nets.engine.kernels.compiled import products as compiled_products

NO_COMPILER = "no-such-compiler"
WITH_AND_WITHOUT = ("", NO_COMPILER)

needs_compiler = pytest.mark.skipif(
    bool(compiled_products.why_not(torch.float32)), reason="there is no C compiler"
)


@contextmanager
def c_compiler(command: str) -> Iterator[None]:
    """``command`` as the machine's C compiler; whichever these tests run with if empty."""
    with mock.patch.dict(os.environ, {"CC": command} if command else {}):
        yield


@contextmanager
def threads(count: int) -> Iterator[None]:
    """``count`` of PyTorch's threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
