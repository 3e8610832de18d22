"""A Lua state with CUDA: on the GPU, or in main memory under PyTorch's rules for one where there is none."""

from collections.abc import Iterator
from contextlib import nullcontext

import pytest
import torch

from lua_compat.runtime.pytorch import PyTorch
from lua_compat.runtime.state import Runtime
from tests.helpers.fake_gpu.placement import fake_cuda


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    """A Lua state whose CUDA tensors are on the GPU, or on a fake one."""
    there = torch.cuda.is_available()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PyTorch, "in_main_memory", False)  # a GPU's memory is not Lua's to read
        opened = Runtime(cpu_as_cuda=not there)
    opened.handles.cuda = "cuda"
    with nullcontext() if there else fake_cuda():
        opened.run_string("require 'cunn' require 'cudnn' require 'ccn2'")
        yield opened
