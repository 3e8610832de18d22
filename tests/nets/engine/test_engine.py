"""The CPU engine on whole modules: its phases against autograd in float64."""

import copy

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from convnet_benchmarks.nets.engine import BACKENDS, compile
from convnet_benchmarks.nets.modules.torch7 import Concat
from convnet_benchmarks.nets.registry import NETS
from tests.nets.engine.modules import MODULES, Residual, check, exact_results, largest_error, run


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", MODULES)
def test_modules_against_autograd(name: str, backend: str) -> None:
    torch.manual_seed(1)
    shape = (5, 3, 11, 11) if name == "covering" else (5, 3, 11, 10)
    check(MODULES[name](), shape if name != "classifier" else (5, 3, 9, 9), backend)


@pytest.mark.parametrize(
    "name", sorted(set(MODULES) - {"norms", "norms in evaluation", "residual", "stock layers"})
)
def test_an_unbatched_input(name: str) -> None:
    torch.manual_seed(1)
    size = {"covering": (11, 11), "classifier": (9, 9)}.get(name, (11, 10))
    for shape in ((3, *size), (1, 3, *size)):
        check(MODULES[name](), shape, "mm")


@pytest.mark.parametrize("name", ["convolutions", "concat", "tied", "classifier", "frozen", "one bias"])
def test_gradients_that_are_there_in_an_order_that_kernels_cannot_add_to(name: str) -> None:
    torch.manual_seed(1)
    module = MODULES[name]().double()
    shape = (5, 3, 9, 9) if name == "classifier" else (5, 3, 11, 11)
    phases = compile(module, shape, "mm")
    x = torch.randn(shape, dtype=torch.float64)
    grad_out = torch.randn_like(phases.updateOutput(x))
    exact = exact_results(module, x, grad_out)[2:]
    for parameter in module.parameters():
        grad = torch.ones_like(parameter).movedim(0, -1).contiguous().movedim(-1, 0)
        parameter.grad = grad if parameter.requires_grad else None
    phases.updateGradInput(x, grad_out)
    phases.accGradParameters(x, grad_out)
    found = [parameter.grad for parameter in module.parameters() if parameter.requires_grad]
    for have, want in zip(found, exact, strict=True):
        assert have is not None and largest_error(have - 1, want) < 1e-10


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
    check(module, shape, data.draw(st.sampled_from(["mm", "direct", "winograd", "fft"])))


# The nets of soumith/convnet-benchmarks at their own sizes but one image: the geometry is the net's own.
TORCH7_NETS = [NETS[n] for n in ("overfeat_accurate", "overfeat_fast", "alexnet_owt", "vgg_a", "googlenet")]


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
            phases = compile(module, tuple(x.shape), backend, tuning="quick")
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
    monkeypatch.setattr("convnet_benchmarks.nets.engine.kernels.batch_norm._CACHED_BYTES", 1)
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
