"""The CPU engine on whole modules: its phases against autograd in float64, and its promises about state."""

import contextlib
import copy
import threading
import weakref
from collections.abc import Callable, Collection, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from nets.engine import BACKENDS, CompileError, EnginePhases, StaleWeightError, compile
from nets.engine.choice.tuning import Candidates, Tuner
from nets.modules.torch7 import Concat, View
from nets.net import Net
from nets.registry import NETS, on_meta


@pytest.fixture(autouse=True)
def _tuning_file_of_its_own(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


def largest_error(found: Tensor | None, exact: Tensor | None) -> float:
    """Over the largest value, or 1 if that is less: a bias before a normalisation has gradients of 1e-15."""
    assert found is not None and exact is not None and found.shape == exact.shape
    return float((found.double() - exact.double()).abs().max() / exact.abs().max().clamp_min(1))


def exact_results(module: nn.Module, x: Tensor, grad_out: Tensor | None = None) -> list[Tensor]:
    """Output, input gradient and parameter gradients by autograd; gradOutput is the output unless given."""
    for parameter in module.parameters():
        parameter.grad = None
    buffers = [(buffer, buffer.clone()) for buffer in module.buffers()]
    leaf = x.detach().clone().requires_grad_()
    out = module(leaf.clone())  # a copy: the module may change it in place
    out.backward(out.detach().clone() if grad_out is None else grad_out)
    assert leaf.grad is not None
    found = [out.detach(), leaf.grad]
    found += [parameter.grad for parameter in module.parameters() if parameter.grad is not None]
    for parameter in module.parameters():
        parameter.grad = None
    with torch.no_grad():
        for buffer, before in buffers:
            buffer.copy_(before)
    return found


def run(phases: EnginePhases, x: Tensor, grad_out: Tensor | None = None) -> list[Tensor]:
    """The same by the engine; gradOutput is the very output buffer unless given."""
    phases.zeroGradParameters()
    out = phases.updateOutput(x)
    kept = out.clone()
    grad_out = out if grad_out is None else grad_out
    grad_in = phases.updateGradInput(x, grad_out)
    assert torch.equal(out, kept), "updateGradInput changed the output"
    phases.accGradParameters(x, grad_out)
    gradients = [parameter.grad for parameter in phases.module.parameters() if parameter.requires_grad]
    return [kept, grad_in, *(gradient for gradient in gradients if gradient is not None)]


def check(module: nn.Module, shape: tuple[int, ...], backend: str, seed: int = 0) -> EnginePhases:
    """Two rounds on one plan, so that nothing of the first is left in the second."""
    module = module.double()
    phases = compile(module, shape, backend, dtype=torch.float64)
    random = torch.Generator().manual_seed(seed)
    for _ in range(2):
        x = torch.randn(shape, generator=random).double()
        # Not the output itself: behind a normalisation that gradient is all rounding errors.
        grad_out = torch.randn(phases.updateOutput(x).shape, generator=random).double()
        exact = exact_results(module, x, grad_out)
        found = run(phases, x, grad_out)
        assert len(found) == len(exact)
        for have, want in zip(found, exact, strict=True):
            assert largest_error(have, want) < 1e-10
        for parameter in module.parameters():
            parameter.grad = None
    return phases


class Residual(nn.Module):
    """Two paths, the sum in place, and a value that three layers read."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        out = self.second(self.relu(self.norm(self.first(x))))
        out += x
        return self.relu(out) + F.avg_pool2d(x, 3, 1, 1)


class Tied(nn.Module):
    """One layer used twice, and a weight shared by two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.twice = nn.Conv2d(3, 3, 3, padding=1)
        self.other = nn.Conv2d(3, 3, 3, padding=1)
        self.other.weight = self.twice.weight

    def forward(self, x: Tensor) -> Tensor:
        return self.other(torch.relu(self.twice(torch.tanh(self.twice(x)))))


class DependsOnData(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x if x.sum() > 0 else -x


class NotTraceable(nn.Module):
    """Opaque to tracing, but a single tensor in and out: runs whole, on stock operators."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(3, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        scale = self.scale if float(x.detach().abs().sum()) >= 0 else -self.scale
        return x * scale


MODULES: dict[str, Callable[[], nn.Module]] = {
    "convolutions": lambda: nn.Sequential(
        nn.Conv2d(3, 6, 5, 2, 1), nn.ReLU(inplace=True), nn.Conv2d(6, 4, 3), nn.ReLU(), nn.Conv2d(4, 5, 1)
    ),
    "covering": lambda: nn.Sequential(
        nn.Conv2d(3, 4, 3, 2),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 7, (2, 2)),
        nn.ReLU(),
        nn.Conv2d(7, 5, 1),
        View(5),
    ),
    "concat": lambda: nn.Sequential(
        nn.Conv2d(3, 6, 3),
        nn.ReLU(),
        Concat(
            -3,
            nn.Conv2d(6, 2, 1),
            nn.Sequential(nn.Conv2d(6, 3, 3, padding=1), nn.ReLU(True)),
            nn.Sequential(nn.MaxPool2d(3, 1, 1), Concat(-3, nn.Conv2d(6, 2, 1), nn.AvgPool2d(3, 1, 1))),
            nn.ReLU(),
        ),
        nn.Conv2d(19, 4, 3),
    ),
    "residual": lambda: nn.Sequential(nn.Conv2d(3, 5, 1), Residual(5), Residual(5)),
    "tied": Tied,
    "pooling": lambda: nn.Sequential(
        nn.MaxPool2d(3, 2, 1, ceil_mode=True),
        nn.Conv2d(3, 4, 2),
        nn.AvgPool2d(2, 2, 1, ceil_mode=True, count_include_pad=False),
        nn.ReLU(),
        nn.MaxPool2d(2, 1, dilation=2),
    ),
    "norms": lambda: nn.Sequential(
        nn.BatchNorm2d(3),
        nn.ReLU(),
        nn.LocalResponseNorm(3),
        nn.Conv2d(3, 4, 3),
        nn.BatchNorm2d(4, affine=False),
    ),
    "norms in evaluation": lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()).eval(),
    "classifier": lambda: nn.Sequential(
        nn.Conv2d(3, 4, 3, 3),
        nn.Flatten(-3),
        nn.Linear(36, 8),
        nn.Threshold(0, 1e-6),
        nn.Linear(8, 5),
        nn.LogSoftmax(-1),
    ),
    "global pooling": lambda: nn.Sequential(
        nn.Conv2d(3, 4, 3),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(-3),
        nn.Linear(4, 3),
        nn.Dropout(0.5).eval(),
    ),
    "stock layers": lambda: nn.Sequential(
        nn.Conv2d(3, 6, 3, groups=3),
        nn.PReLU(),
        nn.Conv2d(6, 4, 3, dilation=2),
        nn.Hardtanh(inplace=True),
        NotTraceable4(),
    ),
    "shapes": lambda: nn.Sequential(nn.Conv2d(3, 4, 3), ReadsItsShape()),
    "one layer": lambda: nn.Conv2d(3, 4, 3, padding=2),
    "a ReLU alone": lambda: nn.ReLU(inplace=True),
    "one bias": lambda: _one_bias(
        nn.Sequential(nn.Conv2d(3, 4, 5, padding=2), nn.ReLU(), nn.Conv2d(4, 4, 3, padding=1))
    ),
    "frozen": lambda: _frozen(nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 2, 3))),
}


class ReadsItsShape(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[0], -1) * x.shape[-1]


class Pair(nn.Module):
    """A table of outputs, one of which depends on a shape."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x, x.permute(0, 2, 3, 1).reshape(x.shape[0], -1, 3)


class NotTraceable4(NotTraceable):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.rand(4, 1, 1))


def _one_bias(module: nn.Sequential) -> nn.Module:
    """For two convolutions, one with a large and one with a small weight."""
    module[2].bias = module[0].bias
    return module


def _frozen(module: nn.Sequential) -> nn.Module:
    module[0].weight.requires_grad_(False)
    module[2].bias.requires_grad_(False)
    return module


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", MODULES)
def test_modules_against_autograd(name: str, backend: str) -> None:
    torch.manual_seed(1)
    shape = (5, 3, 11, 11) if name == "covering" else (5, 3, 11, 10)
    check(MODULES[name](), shape if name != "classifier" else (5, 3, 9, 9), backend)


@contextlib.contextmanager
def divided_from(multiply_adds: int, positions: int) -> Iterator[None]:
    """Plans made here leave runs of so much work to two worker threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nets.engine.division._DIVIDED_MULTIPLY_ADDS", multiply_adds)
        patch.setattr("nets.engine.layers.weighted._WORKERS_POSITIONS", positions)
        try:
            yield
        finally:
            torch.set_num_threads(before)


def everything_divided() -> contextlib.AbstractContextManager[None]:
    return divided_from(0, 0)


@pytest.mark.parametrize("backend", ["mm", "direct", "winograd"])
@pytest.mark.parametrize("name", MODULES)
def test_modules_divided_among_workers(name: str, backend: str) -> None:
    torch.manual_seed(1)
    with everything_divided():
        check(MODULES[name](), (5, 3, 9, 9) if name == "classifier" else (5, 3, 11, 11), backend)


@pytest.mark.parametrize("summed_bytes", [0, 4 * 4 * 9 * 8, 1 << 20])
@pytest.mark.parametrize("name", ["convolutions", "concat", "tied", "classifier", "frozen", "one bias"])
def test_weight_gradients_divided_among_workers(
    name: str, summed_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By output channel, by image, and some this and some that way, wherever there is one."""
    torch.manual_seed(1)
    monkeypatch.setattr("nets.engine.choice.algorithms._SUMMED_BYTES", summed_bytes)
    choose = Tuner.choose

    def divided(self: Tuner, key: str, found: Candidates, preferred: Collection[str] = ()) -> str:
        ways = {name: run for name, run in found.items() if name.endswith(("by output)", "sum by image)"))}
        return choose(self, key, ways or found, preferred)

    monkeypatch.setattr(Tuner, "choose", divided)
    made = MODULES[name]()
    shape = (5, 3, 9, 9) if name == "classifier" else (5, 3, 11, 11)
    with everything_divided():
        phases = check(made, shape, "mm")
        picks = [layer.algorithms.get("accGradParameters", "") for layer in phases.report().layers]
        assert any("sum by image" in pick or "by output" in pick for pick in picks)
        if name == "one bias":
            assert len(phases._weight_gradients) == 2, "both would add to the bias at the same time"
        # Gradients that were there before, in an order that kernels cannot add to.
        x = torch.randn(shape, dtype=torch.float64)
        grad_out = torch.randn_like(phases.updateOutput(x))
        exact = exact_results(made, x, grad_out)[2:]
        for parameter in made.parameters():
            grad = torch.ones_like(parameter).movedim(0, -1).contiguous().movedim(-1, 0)
            parameter.grad = grad if parameter.requires_grad else None
        phases.updateGradInput(x, grad_out)
        phases.accGradParameters(x, grad_out)
        found = [parameter.grad for parameter in made.parameters() if parameter.requires_grad]
        for have, want in zip(found, exact, strict=True):
            assert have is not None and largest_error(have - 1, want) < 1e-10


def test_workers_do_not_disturb_each_other() -> None:
    """Gradients share memory: a worker that is ahead must not write where another still reads."""
    torch.manual_seed(0)
    widths = [3, 4, 16, 2, 8]
    blocks = [
        nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(3, 1, 1))
        for a, b in pairwise(widths)
    ]
    shape = (5, 3, 24, 24)
    with everything_divided():
        phases = compile(nn.Sequential(*blocks), shape, "mm")
    picks = [layer.algorithms for layer in phases.report().layers if layer.kind.startswith("Conv")]
    assert all("by image)" in pick["updateGradInput"] for pick in picks)
    x, grad_out = torch.randn(shape), torch.randn(5, 8, 24, 24)
    first = [result.clone() for result in run(phases, x, grad_out)]
    for have, want in zip(first, exact_results(phases.module, x, grad_out), strict=True):
        assert largest_error(have, want) < 1e-5
    for _ in range(30):
        assert all(map(torch.equal, run(phases, x, grad_out), first))


def test_a_long_run_of_layers_is_divided_and_a_short_one_not() -> None:
    module = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1))
    for batch, divided in ((1, False), (2, False), (800, True)):
        with divided_from(200_000_000, 1024):
            report = compile(module, (batch, 3, 20, 20), "mm").report()
        assert [("by image" in layer.algorithms["updateOutput"]) for layer in report.layers] == [divided] * 2


@pytest.mark.parametrize(
    "name", sorted(set(MODULES) - {"norms", "norms in evaluation", "residual", "stock layers"})
)
def test_an_unbatched_input(name: str) -> None:
    torch.manual_seed(1)
    size = {"covering": (11, 11), "classifier": (9, 9)}.get(name, (11, 10))
    for shape in ((3, *size), (1, 3, *size)):
        check(MODULES[name](), shape, "mm")


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_random_nets(data: st.DataObject) -> None:
    """Chains of layers drawn at random, on a random size: batch 1 and 5."""
    channels = 3
    layers: list[nn.Module] = []
    size = data.draw(st.integers(12, 17))
    shape = (data.draw(st.sampled_from([1, 5])), 3, size, size + data.draw(st.integers(0, 2)))
    for _ in range(data.draw(st.integers(1, 5))):
        kind = data.draw(st.sampled_from(["conv", "conv", "pool", "norm", "relu", "concat", "residual"]))
        if kind == "conv":
            width, kernel = data.draw(st.integers(1, 7)), data.draw(st.sampled_from([1, 2, 3, 5]))
            layers.append(nn.Conv2d(channels, width, kernel, data.draw(st.integers(1, 2)), kernel // 2))
            channels = width
        elif kind == "pool":
            layers.append(
                data.draw(st.sampled_from([nn.MaxPool2d, nn.AvgPool2d]))(3, data.draw(st.integers(1, 2)), 1)
            )
        elif kind == "norm":
            layers.append(nn.BatchNorm2d(channels))
        elif kind == "relu":
            layers.append(nn.ReLU(inplace=data.draw(st.booleans())))
        elif kind == "concat":
            layers.append(Concat(-3, nn.Conv2d(channels, 3, 1), nn.Conv2d(channels, 2, 3, 1, 1)))
            channels = 5
        else:
            layers.append(Residual(channels))
    torch.manual_seed(data.draw(st.integers(0, 99)))
    # A convolution in front, for a gradient to arrive at parameters.
    module = nn.Sequential(nn.Conv2d(3, 3, 1), *layers)
    try:
        exact_results(module.double(), torch.randn(shape).double())
    except (
        RuntimeError,
        ValueError,
    ):  # too small for its next layer, or changed in place what autograd needs
        return
    with everything_divided() if data.draw(st.booleans()) else contextlib.nullcontext():
        check(module, shape, data.draw(st.sampled_from(["mm", "direct", "winograd", "fft"])))


# The nets of soumith/convnet-benchmarks at their own sizes but one image: the geometry is the net's own.
TORCH7_NETS = [NETS[n] for n in ("overfeat_accurate", "overfeat_fast", "alexnet_owt", "vgg_a", "googlenet")]


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


def test_branches_divided_among_workers() -> None:
    torch.manual_seed(0)
    net = NETS["googlenet"]
    with everything_divided():
        check(_narrowed(net), (2, *net.input_size), "mm")


def _narrowed(net: Net) -> nn.Module:
    module = on_meta(net)

    def narrow(parent: nn.Module) -> None:
        for name, child in parent.named_children():
            if isinstance(child, nn.Conv2d):
                width = child.in_channels if child.in_channels == 3 else child.in_channels // 8
                geometry: Any = (child.kernel_size, child.stride, child.padding)
                new: nn.Module = nn.Conv2d(width, child.out_channels // 8, *geometry)
            elif isinstance(child, nn.Linear):
                new = nn.Linear(child.in_features // 8, child.out_features // 8)
            elif isinstance(child, View):
                new = View(*(size // 8 for size in child.sizes), num_input_dims=child.num_input_dims)
            else:
                narrow(child)
                continue
            setattr(parent, name, new)

    narrow(module)
    return module


@pytest.mark.parametrize("backend", ["mm", "direct", "winograd", "fft"])
def test_weights_changed_between_phases_are_seen(backend: str) -> None:
    torch.manual_seed(0)
    module, other = (
        nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 5, 3, 2)).double()
        for _ in range(2)
    )
    phases = compile(module, (2, 3, 9, 9), backend)
    x = torch.randn(2, 3, 9, 9).double()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)

    def scale() -> None:
        with torch.no_grad():
            module[0].weight.mul_(3)

    def replace() -> None:
        weight = module.get_parameter("2.weight")
        weight.data = torch.randn_like(weight)

    def load() -> None:
        module.load_state_dict(other.state_dict())

    for change in (optimizer.step, load, scale, replace):
        before = run(phases, x)
        change()
        exact = exact_results(module, x)
        assert largest_error(before[0], exact[0]) > 1e-3
        for have, want in zip(run(phases, x), exact, strict=True):
            assert largest_error(have, want) < 1e-10


def test_gradients_add_up_in_grad() -> None:
    module = nn.Conv2d(3, 4, 3).double()
    phases = compile(module, (2, 3, 8, 8), "winograd")
    x = torch.randn(2, 3, 8, 8).double()
    once = run(phases, x)[2].clone()
    given = module.weight.grad
    phases.accGradParameters(x, x)
    assert module.weight.grad is given
    assert largest_error(given, 2 * once) < 1e-12
    module.zero_grad(set_to_none=True)
    phases.accGradParameters(x, x)
    assert largest_error(module.weight.grad, once) < 1e-12


@pytest.mark.parametrize("name", ["convolutions", "concat", "pooling", "one layer", "a ReLU alone"])
def test_gradOutput_may_be_the_output_buffer(name: str) -> None:
    torch.manual_seed(0)
    module = MODULES[name]().double()
    phases = compile(module, (5, 3, 12, 12), "mm", dtype=torch.float64)
    x = torch.randn(5, 3, 12, 12).double()
    for have, want in zip(run(phases, x), exact_results(module, x), strict=True):
        assert largest_error(have, want) < 1e-10


def test_updateGradInput_leaves_parameter_gradients_alone() -> None:
    module = MODULES["residual"]().double()
    phases = compile(module, (2, 3, 8, 8), "auto")
    x = torch.randn(2, 3, 8, 8).double()
    phases.zeroGradParameters()
    phases.updateGradInput(x, phases.updateOutput(x))
    assert all(not parameter.grad.any() for parameter in module.parameters())


def test_a_write_behind_pytorchs_back_needs_invalidate() -> None:
    module = nn.Conv2d(3, 4, 3).double()
    x = torch.randn(2, 3, 8, 8).double()
    phases = compile(module, (2, 3, 8, 8), "winograd", check_weights=True)
    phases.updateOutput(x)
    module.weight.detach().numpy()[:] *= 2
    with pytest.raises(StaleWeightError, match="invalidate"):
        phases.updateOutput(x)
    phases.invalidate()
    assert largest_error(phases.updateOutput(x), exact_results(module, x)[0]) < 1e-12


def test_two_plans_of_one_module_and_of_two_are_independent() -> None:
    torch.manual_seed(0)
    one, two = (nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 5, 3)).double() for _ in range(2))
    made = [
        compile(one, (2, 3, 9, 9), "winograd"),
        compile(one, (5, 3, 9, 9), "mm"),
        compile(two, (2, 3, 9, 9), "fft"),
    ]
    inputs = [torch.randn(size, 3, 9, 9).double() for size in (2, 5, 2)]
    outputs = [phases.updateOutput(x) for phases, x in zip(made, inputs, strict=True)]
    grads = [phases.updateGradInput(x, out) for phases, x, out in zip(made, inputs, outputs, strict=True)]
    for phases, x, out, grad in zip(made, inputs, outputs, grads, strict=True):
        exact = exact_results(phases.module, x)
        assert largest_error(out, exact[0]) < 1e-10
        assert largest_error(grad, exact[1]) < 1e-10


def test_plans_in_threads() -> None:
    torch.manual_seed(0)
    modules = [MODULES[name]().double() for name in ("convolutions", "concat", "residual", "convolutions")]
    inputs = [torch.randn(2, 3, 12, 12).double() for _ in modules]
    exact = [exact_results(module, x) for module, x in zip(modules, inputs, strict=True)]
    made = [compile(module, (2, 3, 12, 12), "mm") for module in modules]
    worst: list[float] = []

    def work(index: int) -> None:
        for _ in range(10):
            with torch.no_grad():  # statistics of a normalisation change its own buffers only
                found = run(made[index], inputs[index])
            worst.append(max(map(largest_error, found, exact[index])))

    threads = [threading.Thread(target=work, args=(index,)) for index in range(len(made))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(worst) == 40
    assert max(worst) < 1e-10


@pytest.mark.parametrize("threads", [1, 2])
def test_thread_counts_agree(threads: int) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        torch.manual_seed(0)
        check(MODULES["convolutions"](), (5, 3, 23, 23), "winograd")
    finally:
        torch.set_num_threads(before)


def test_float32_and_bfloat16_stay_close_to_float64() -> None:
    torch.manual_seed(0)
    for dtype, tolerance in ((torch.float32, 1e-5), (torch.bfloat16, 5e-2)):
        module = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.Conv2d(16, 24, 3, 2), nn.Conv2d(24, 8, 1)
        ).to(dtype)
        x = torch.randn(5, 3, 15, 15).to(dtype)
        grad_out = torch.randn(5, 8, 7, 7).to(dtype)
        exact_module = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.Conv2d(16, 24, 3, 2), nn.Conv2d(24, 8, 1)
        ).double()
        exact_module.load_state_dict({name: value.double() for name, value in module.state_dict().items()})
        exact = exact_results(exact_module, x.double(), grad_out.double())
        for backend in BACKENDS:
            phases = compile(module, tuple(x.shape), backend)
            phases.zeroGradParameters()
            found: list[Tensor | None] = [phases.updateOutput(x), phases.updateGradInput(x, grad_out)]
            phases.accGradParameters(x, grad_out)
            found += [parameter.grad for parameter in module.parameters()]
            for have, want in zip(found, exact, strict=True):
                assert have is not None and have.dtype == dtype
                assert largest_error(have, want) < tolerance
            module.zero_grad()


@pytest.mark.parametrize("compiler", ["", "no-such-compiler"])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.bfloat16, 5e-2)])
def test_batch_norm_far_from_zero(
    dtype: torch.dtype, tolerance: float, training: bool, compiler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Means several deviations large; without compiled code, images normalised one at a time."""
    monkeypatch.setenv("CC", compiler)
    monkeypatch.setattr("nets.engine.kernels.batch_norm._CACHED_BYTES", 1)
    torch.manual_seed(0)
    module = nn.Sequential(nn.BatchNorm2d(6), nn.Conv2d(6, 6, 3, padding=1)).to(dtype)
    with torch.no_grad():
        module[0].weight.uniform_(0.5, 2)
        module[0].bias.uniform_(-1, 1)
    module.train(training)
    exact_module = copy.deepcopy(module).double()
    x = (torch.randn(5, 6, 9, 7) + 8).to(dtype)
    grad_out = torch.randn(5, 6, 9, 7).to(dtype)
    exact = exact_results(exact_module, x.double(), grad_out.double())
    phases = compile(module, tuple(x.shape), "mm")
    phases.zeroGradParameters()
    found: list[Tensor | None] = [phases.updateOutput(x), phases.updateGradInput(x, grad_out)]
    phases.accGradParameters(x, grad_out)
    found += [parameter.grad for parameter in module.parameters()]
    for have, want in zip(found, exact, strict=True):
        assert largest_error(have, want) < tolerance


def test_batch_norm_keeps_its_statistics() -> None:
    torch.manual_seed(0)
    for momentum in (0.1, None):
        ours, theirs = (
            nn.BatchNorm2d(3, momentum=momentum).double(),
            nn.BatchNorm2d(3, momentum=momentum).double(),
        )
        phases = compile(ours, (5, 3, 4, 6), "mm")
        for _ in range(3):
            x = torch.randn(5, 3, 4, 6).double()
            assert largest_error(phases.updateOutput(x), theirs(x).detach()) < 1e-12
        for name, value in theirs.state_dict().items():
            assert torch.allclose(ours.state_dict()[name], value), name


def test_dropout_draws_a_mask_per_forward_and_reuses_it_backward() -> None:
    torch.manual_seed(0)
    phases = compile(nn.Sequential(nn.Identity(), nn.Dropout(0.25)), (8, 1000), "mm", dtype=torch.float64)
    x = torch.ones(8, 1000).double()
    first = phases.updateOutput(x).clone()
    second = phases.updateOutput(x)
    assert not torch.equal(first, second)
    assert abs(float((second == 0).double().mean()) - 0.25) < 0.03
    assert set(second.unique().tolist()) == {0.0, 1 / 0.75}
    assert torch.equal(phases.updateGradInput(x, torch.ones_like(x)), second)


def test_the_module_is_left_as_it_was() -> None:
    module = MODULES["norms"]()
    before = {name: value.clone() for name, value in module.state_dict().items()}
    random = torch.get_rng_state()
    phases = compile(module, (5, 3, 9, 9), "winograd")
    assert torch.equal(torch.get_rng_state(), random)
    phases.close()
    assert module.state_dict().keys() == before.keys()
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())


def test_closing_frees_the_buffers_and_keeps_the_report() -> None:
    phases = compile(nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU()), (2, 3, 9, 9), "winograd")
    x = torch.randn(2, 3, 9, 9)
    output = weakref.ref(phases.updateOutput(x))
    report = phases.report()
    phases.close()
    assert output() is None
    assert phases.report() == report
    with pytest.raises(ValueError, match="this plan is for inputs"):
        phases.updateOutput(x)


def test_the_report_names_what_runs_and_what_falls_back() -> None:
    module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 1), nn.Conv2d(4, 4, 3, groups=2))
    report = compile(module, (2, 3, 9, 9), "winograd").report()
    first, second, third = report.layers
    assert (first.name, first.kind) == ("0", "Conv2d+ReLU")
    assert {pick.partition("(")[0] for pick in first.algorithms.values()} == {"winograd"}
    assert first.fallback == ""
    assert second.fallback == "winograd does not apply"
    assert {pick.partition("(")[0] for pick in second.algorithms.values()} == {"mm"}
    assert set(third.algorithms.values()) == {"stock"}
    assert report.memory.bytes > 0
    assert report.as_dict()["layers"][0]["algorithms"] == first.algorithms
    assert len(report.lines()) == 5  # a title, three layers, the compiler


def test_large_buffers_lie_on_huge_pages_where_offered() -> None:
    report = compile(nn.Conv2d(8, 8, 3), (4, 8, 200, 200), "mm").report()
    if report.memory.huge_pages in ("madvise", "always"):
        assert report.memory.huge_page_bytes > report.memory.bytes // 2
    else:
        assert report.memory.huge_page_bytes == 0


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (
            nn.Sequential(nn.Conv2d(3, 3, 1), nn.AdaptiveMaxPool2d(2, return_indices=True)),
            "1: returns several tensors",
        ),
        (nn.Sequential(nn.Conv2d(4, 3, 1)), "0: Given groups=1"),
        (nn.Sequential(nn.Conv2d(3, 3, 1), Pair()), "its forward returns a tuple, not a tensor"),
        (DependsOnData(), "DependsOnData: its forward cannot be traced"),
        (nn.Conv2d(3, 3, 1).half(), r"weight: a parameter of torch.float16"),
    ],
)
def test_what_cannot_be_compiled_is_named(module: nn.Module, message: str) -> None:
    dtype = torch.float32
    with pytest.raises(CompileError, match=message):
        compile(module, (2, 3, 5, 5), "mm", dtype=dtype)


def test_bad_arguments() -> None:
    module = nn.Conv2d(3, 4, 3)
    with pytest.raises(ValueError, match="unknown backend 'fast'; accepted: auto, mm"):
        compile(module, (2, 3, 5, 5), "fast")
    with pytest.raises(ValueError, match="input shape"):
        compile(module, (3, 0, 5), "mm")
    with pytest.raises(ValueError, match="float16 is not supported"):
        compile(module, (2, 3, 5, 5), "mm", dtype=torch.float16)


def test_phases_out_of_order_or_on_other_inputs() -> None:
    module = nn.Conv2d(3, 4, 3)
    phases = compile(module, (2, 3, 5, 5), "mm")
    x = torch.randn(2, 3, 5, 5)
    with pytest.raises(RuntimeError, match="updateOutput of the same input first"):
        phases.updateGradInput(x, torch.randn(2, 4, 3, 3))
    out = phases.updateOutput(x)
    with pytest.raises(RuntimeError, match="updateGradInput of the same input first"):
        phases.accGradParameters(x, out)
    with pytest.raises(ValueError, match="gradOutput is"):
        phases.updateGradInput(x, out[:1])
    with pytest.raises(ValueError, match=r"inputs of \(2, 3, 5, 5\)"):
        phases.updateOutput(torch.randn(1, 3, 5, 5))
    module.eval()
    with pytest.raises(RuntimeError, match="compile it again"):
        phases.updateOutput(x)


def test_the_tuning_file_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # What is timed on a busy machine is timed once more on a quiet one.
    monkeypatch.setattr("nets.engine.choice.tuning._seconds_waited", lambda: 0.0)
    path = tmp_path / "tuning.json"
    module = nn.Conv2d(3, 4, 3)
    first = compile(module, (2, 3, 9, 9), "auto", tuning_file=path).report()
    text = path.read_text()
    second = compile(module, (2, 3, 9, 9), "auto", tuning_file=path).report()
    assert first.layers == second.layers
    assert path.read_text() == text
