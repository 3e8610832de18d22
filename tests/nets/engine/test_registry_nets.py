"""The engine on the registry's nets: their geometry, at small widths by default."""

import pytest
import torch

from convnet_benchmarks.nets.net import Net
from tests.nets.engine.modules import _narrowed, check
from tests.nets.engine.test_engine import TORCH7_NETS


@pytest.mark.slow
@pytest.mark.parametrize("net", TORCH7_NETS, ids=lambda net: net.name)
def test_registry_nets_at_full_size(net: Net) -> None:
    torch.manual_seed(0)
    check(net.define(), net.input_size, "auto")


@pytest.mark.parametrize("net", TORCH7_NETS, ids=lambda net: net.name)
def test_registry_nets_at_small_width(net: Net) -> None:
    """Each of them with an eighth of its channels, at its own image size."""
    torch.manual_seed(0)
    module = _narrowed(net)
    check(module, net.input_size, "mm")
