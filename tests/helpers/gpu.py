"""Sizes of the tests marked gpu: what takes a GPU no time is too much for a CPU in its place."""

from typing import TypeVar

import torch

from tests.helpers.fake_gpu.device import NAME

Size = TypeVar("Size")


def is_fake() -> bool:
    """Returns whether the GPU is not there (tests/helpers/fake_gpu)."""
    return torch.cuda.is_available() and torch.cuda.get_device_name() == NAME


def sized(real: Size, fake: Size) -> Size:
    """Returns ``real`` on a GPU, ``fake`` where the CPU stands in for one."""
    return fake if is_fake() else real
