"""Times by layer: they add up to the pass, and every call of a module is a layer."""

import time

import torch
from torch import Tensor, nn

from convnet_benchmarks.timing.layers import Layer, empty_layer_ms, time_layers
from convnet_benchmarks.timing.loops import HostClock
from convnet_benchmarks.timing.phases import PHASES, layer_phases, layers_alone, time_phases


class TickingClock(HostClock):
    """Every reading is one millisecond after the last, so that times are counts of readings."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 0

    def mark(self) -> float:
        self._now += 1
        return self._now / 1e3


def net() -> nn.Module:
    relu = nn.ReLU(inplace=True)
    return nn.Sequential(nn.Conv2d(3, 8, 3), relu, nn.Sequential(nn.Conv2d(8, 4, 3), relu), nn.Flatten())


def test_each_call_of_a_module_is_a_layer_in_the_order_of_the_calls() -> None:
    with torch.inference_mode():
        times = time_layers(net(), torch.randn(2, 3, 8, 8), TickingClock(), 2)
    assert times.layers == (
        Layer("0", "Conv2d"),
        Layer("1", "ReLU"),
        Layer("2.0", "Conv2d"),
        Layer("1#2", "ReLU"),
        Layer("3", "Flatten"),
    )
    assert all(abs(ms - 1) < 1e-9 for ms in times.layer_ms)


def test_layers_and_what_is_around_them_are_the_whole_pass() -> None:
    module = nn.Sequential(*(nn.Linear(30, 30) for _ in range(20)))
    with torch.inference_mode():
        times = time_layers(module, torch.randn(4, 30), TickingClock(), 3)
    assert abs(times.outside_ms - 21) < 1e-9  # a reading at the start, two for each layer, one at the end
    assert abs(sum(times.layer_ms) + times.outside_ms - 41) < 1e-9
    assert times.plain_ms > 0 and times.hooked_ms > 0


def test_a_slow_layer_has_its_own_time() -> None:
    class Sleep(nn.Module):
        def forward(self, input: Tensor) -> Tensor:
            time.sleep(0.02)
            return input

    times = time_layers(nn.Sequential(nn.Identity(), Sleep()), torch.zeros(1), HostClock(), 3)
    assert times.layer_ms[1] >= 20 and times.hooked_ms >= 20 and times.plain_ms >= 20


def test_an_empty_layer_shows_little() -> None:
    assert 0 < empty_layer_ms(HostClock(), torch.zeros(1)) < 0.5


def test_hooks_are_gone_after_the_timing() -> None:
    module = net()
    time_layers(module, torch.randn(1, 3, 8, 8), HostClock(), 1)
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in module.modules())


def test_phases_of_a_layer_without_parameters_and_of_one_with() -> None:
    found = dict(layer_phases(net(), torch.randn(2, 3, 8, 8), HostClock(), 2))
    convolution, relu = found[Layer("0", "Conv2d")], found[Layer("1", "ReLU")]
    assert all(convolution[phase] > 0 for phase in PHASES)
    assert sorted(relu) == ["updateGradInput", "updateOutput"]


def test_a_layer_of_several_tensors_is_listed_without_times() -> None:
    class Sum(nn.Module):
        def forward(self, a: Tensor, b: Tensor) -> Tensor:
            return a + b

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.sum = Sum()

        def forward(self, input: Tensor) -> Tensor:
            return self.sum(input, input)

    found = dict(layer_phases(Net(), torch.randn(2, 3), HostClock(), 1))
    assert found == {Layer("sum", "Sum"): {}}


def test_a_layer_under_autocast_runs_alone_as_it_does_there() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))

        def forward(self, input: Tensor) -> Tensor:
            with torch.autocast("cpu", torch.bfloat16):
                return self.layers(input)

    input = torch.randn(2, 3)
    (_, first, _), (layer, second, between) = layers_alone(Net(), input)
    assert layer == Layer("layers.1", "Linear") and first(input).dtype == torch.bfloat16
    assert between is not None and between.dtype == second(between).dtype == torch.bfloat16
    found = dict(layer_phases(Net(), input, HostClock(), 1))
    assert set(found[layer]) == set(PHASES)


def test_a_layer_that_vmap_runs_is_listed_without_times() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(3, 2)

        def forward(self, input: Tensor) -> Tensor:
            return torch.func.vmap(self.linear)(input)

    assert dict(layer_phases(Net(), torch.randn(2, 3), HostClock(), 1)) == {Layer("linear", "Linear"): {}}


def test_phases_of_the_whole_net() -> None:
    assert all(ms > 0 for ms in time_phases(net(), torch.randn(2, 3, 8, 8), HostClock(), 2).values())
