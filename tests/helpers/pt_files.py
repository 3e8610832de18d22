"""Tests that read .pt files need a PyTorch that reads them safely."""

import re

import pytest
import torch

from convnet_benchmarks.workload.pt_files import SAFE_SINCE

_RELEASE = tuple(int(part) for part in re.findall(r"\d+", torch.__version__)[:2])
needs_safe_pt = pytest.mark.skipif(
    _RELEASE < SAFE_SINCE, reason="this PyTorch does not read .pt files safely"
)
PT = pytest.param(".pt", marks=needs_safe_pt)
