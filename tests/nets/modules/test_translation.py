"""GNMT: what each output may see, and the phases from token ids on."""

from typing import Any

import pytest
import torch
from torch import nn

from convnet_benchmarks.nets import registry
from convnet_benchmarks.nets.families.gnmt import gnmt
from convnet_benchmarks.nets.modules.translation import AdditiveAttention
from convnet_benchmarks.nets.net import Net
from convnet_benchmarks.nets.torch7.initialisation import initialise
from convnet_benchmarks.nets.torch7.random import Generator
from tests.nets.test_nets import check_phases

TOKENS = 40


@pytest.fixture
def small() -> nn.Module:
    module = gnmt(TOKENS, 16, 4)
    initialise(module, Generator(1))
    return module


def ids(batch: int = 3, length: int = 7) -> Any:
    net = Net("small", gnmt, (2, length), "this test", tokens=TOKENS)
    return net.sample((batch, 2, length), torch.Generator().manual_seed(2))


def test_the_phases(small: nn.Module) -> None:
    check_phases(small, ids())


def test_every_layer_is_trained(small: nn.Module) -> None:
    small(ids()).sum().backward()
    assert all(parameter.grad.abs().max() > 0 for parameter in small.parameters())


def test_log_probabilities(small: nn.Module) -> None:
    torch.testing.assert_close(small(ids()).exp().sum(2), torch.ones(3, 7))


def test_the_decoder_sees_earlier_target_tokens_only(small: nn.Module) -> None:
    one = ids()
    other = one.clone()
    other[:, 1, 4] = (other[:, 1, 4] + 1) % TOKENS
    before, after = small(one), small(other)
    torch.testing.assert_close(before[:, :4], after[:, :4])
    assert all((before[:, t] - after[:, t]).abs().max() > 1e-4 for t in range(4, 7))


def test_every_output_sees_the_whole_source(small: nn.Module) -> None:
    one = ids()
    for place in (0, 6):
        other = one.clone()
        other[:, 0, place] = (other[:, 0, place] + 1) % TOKENS
        assert all((small(one)[:, t] - small(other)[:, t]).abs().max() > 1e-6 for t in range(7))


def test_attention_is_a_weighted_mean() -> None:
    attention = AdditiveAttention(5)
    memory = torch.randn(2, 1, 5).expand(2, 4, 5)  # all the same: so is every mean of them
    torch.testing.assert_close(attention(torch.randn(2, 3, 5), memory), memory[:, :3])


@pytest.mark.slow
def test_on_meta_at_full_size() -> None:
    net = registry.find("gnmt")
    output = registry.on_meta(net)(torch.empty((2, *net.input_size), dtype=torch.int64, device="meta"))
    assert output.shape == (2, 50, 32_000)
