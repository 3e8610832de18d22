"""Input sizes: which layer refuses one, and the smallest that is accepted."""

import pytest
import torch
from torch import nn

from convnet_benchmarks.nets import registry
from convnet_benchmarks.nets.input_size import smallest_accepted, trial
from convnet_benchmarks.nets.modules.torch7 import View

NET = nn.Sequential(nn.Conv2d(3, 4, 5), nn.MaxPool2d(2), nn.Conv2d(4, 2, 3)).to("meta")


def test_the_failing_layer_and_what_it_got() -> None:
    assert trial(NET, (1, 3, 10, 10)).refused is None
    assert trial(NET, (1, 3, 9, 8)).refused == ("2", (1, 4, 2, 2))
    assert trial(NET, (3, 4, 20)).refused == ("0", (3, 4, 20))


@pytest.mark.parametrize("dimension", [2, 3])
def test_the_smallest_size_is_accepted_and_one_less_is_not(dimension: int) -> None:
    shape = (1, 3, 12, 12)
    smallest = smallest_accepted(NET, shape, dimension, 12)
    assert smallest == 10
    assert smallest_accepted(NET, shape, dimension, 9) is None


def test_activations_are_counted_per_sample() -> None:
    one, two = (trial(NET, (batch, 3, 12, 12)).kept for batch in (1, 2))
    assert one == 3 * 12 * 12 + 4 * 8 * 8 + 4 * 4 * 4 + 2 * 2 * 2
    assert two == 2 * one


@pytest.mark.parametrize("name", registry.NETS)
def test_every_nets_own_size_is_accepted(name: str) -> None:
    """The scripts rely on it: they check only other sizes."""
    net = registry.find(name)
    module = registry.on_meta(net)
    dtype = torch.int64 if net.tokens else torch.float32
    assert trial(module, (2, *net.input_size), dtype).refused is None
    if net.unbatched:
        assert trial(module, net.input_size).refused is None


@pytest.mark.parametrize(
    ("sizes", "dims", "shape", "result"),
    [
        ((12,), None, (12,), (12,)),
        ((12,), None, (3, 2, 2), (12,)),
        ((12,), None, (1, 3, 2, 2), (12,)),  # Torch7: one sample keeps no batch dimension
        ((12,), None, (5, 3, 2, 2), (5, 12)),
        ((12,), 3, (1, 3, 2, 2), (1, 12)),
        ((-1, 4), 2, (5, 3, 4), (5, 3, 4)),
        ((3, 4), None, (24,), (2, 3, 4)),
    ],
)
def test_view_is_torch7s(
    sizes: tuple[int, ...], dims: int | None, shape: tuple[int, ...], result: tuple[int, ...]
) -> None:
    input = torch.arange(torch.Size(shape).numel())
    output = View(*sizes, num_input_dims=dims)(input.reshape(shape))
    assert output.shape == result
    assert torch.equal(output.reshape(-1), input)


def test_view_refuses_what_does_not_divide() -> None:
    with pytest.raises(ValueError, match=r"input view \(2x5\) and desired view \(3\) do not match"):
        View(3)(torch.zeros(2, 5))
