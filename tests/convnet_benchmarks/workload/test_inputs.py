"""Inputs: one seed gives one input, whatever command draws it; sizes of any rank."""

import pytest
import torch
from torch import nn

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.legacy.options import BenchmarkOptions
from convnet_benchmarks.legacy.request import resolve
from convnet_benchmarks.legacy.workload import prepare
from convnet_benchmarks.nets import registry
from convnet_benchmarks.nets.net import Net
from convnet_benchmarks.options.nets import find_net
from convnet_benchmarks.options.types import input_size
from convnet_benchmarks.points.point import Point
from convnet_benchmarks.points.workload import open_point
from convnet_benchmarks.workload.inputs import meta_batch, sample_batch


def images() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU())


def words() -> nn.Module:
    return nn.Sequential(nn.Embedding(50, 8), nn.Linear(8, 4))


@pytest.fixture(autouse=True)
def two_nets(monkeypatch: pytest.MonkeyPatch) -> None:
    for net in (Net("images", images, (3, 8, 8), "this test"), Net("words", words, (2, 6), "", tokens=50)):
        monkeypatch.setitem(registry.NETS, net.name, net)


@pytest.mark.parametrize("name", ["images", "words"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("seed", [1, 7, 2**32 - 1])
def test_one_seed_gives_one_input_in_both_halves(name: str, dtype: str, seed: int) -> None:
    legacy = prepare(resolve(BenchmarkOptions(net=name, batch_size=3, seed=seed, dtype=dtype))).input
    with open_point(Point(name, 3, dtype=dtype, seed=seed, mode="training")) as workload:
        assert torch.equal(workload.input, legacy) and workload.input.dtype == legacy.dtype
    net = registry.NETS[name]
    assert torch.equal(sample_batch(net, 3, seed).to(legacy.dtype), legacy)
    assert meta_batch(net, 3, registry.on_meta(net)).shape == legacy.shape


def test_another_seed_gives_another_input() -> None:
    net = registry.NETS["images"]
    assert not torch.equal(sample_batch(net, 2, 1), sample_batch(net, 2, 2))


@pytest.mark.parametrize(
    ("text", "size"),
    [("3x224x224", (3, 224, 224)), ("2x20", (2, 20)), ("100", (100,)), ("1X2x3x4", (1, 2, 3, 4))],
)
def test_an_input_size_has_any_rank(text: str, size: tuple[int, ...]) -> None:
    assert input_size(text) == size


@pytest.mark.parametrize(
    ("name", "size", "message"),
    [
        ("words", (3, 20), "option --input-size: an input of words is 2x6, not 3x20"),
        ("words", (3, 8, 8), "option --input-size: an input of words is 2x6, not 3x8x8"),
        ("images", (4, 8, 8), "option --input-size: images takes 3 input planes, not 4"),
        ("images", (3, 8), "option --input-size: an input of images is 3x8x8, not 3x8"),
    ],
)
def test_a_size_of_the_wrong_rank_is_refused_everywhere(
    name: str, size: tuple[int, ...], message: str
) -> None:
    with pytest.raises(UserError) as of_legacy:
        prepare(resolve(BenchmarkOptions(net=name, input_size=size)))
    with pytest.raises(UserError) as of_study:
        find_net({"net": name, "input_size": size})
    assert str(of_legacy.value) == str(of_study.value) == message


def test_sentences_of_any_length_are_accepted() -> None:
    assert find_net({"net": "words", "input_size": (2, 20)}).input_size == (2, 20)
