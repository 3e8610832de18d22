"""Layers of the CPU engine that run on compiled code: the same results as PyTorch's operators give."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from convnet_benchmarks.nets.engine import compile
from convnet_benchmarks.nets.engine.kernels.batch_norm import OperatorBatchNorm, Running
from convnet_benchmarks.nets.engine.kernels.compiled.batch_norm import CompiledBatchNorm, batch_norm
from convnet_benchmarks.nets.engine.kernels.compiled.compiling import NotCompiled
from convnet_benchmarks.nets.engine.kernels.compiled.images import (
    add_channel_sums,
    add_images,
    copy_images,
    mask_images,
)
from convnet_benchmarks.nets.engine.kernels.compiled.library import ARITHMETIC
from convnet_benchmarks.nets.engine.kernels.compiled.pooling import CompiledMaxPooling
from convnet_benchmarks.nets.engine.kernels.max_pooling import Window
from convnet_benchmarks.nets.modules.torch7 import Concat
from tests.helpers.engine_conditions import NO_COMPILER, c_compiler, needs_compiler, threads
from tests.nets.engine.modules import check, largest_error

DTYPES = [torch.float32, torch.float64, torch.bfloat16]


def sliced(images: Tensor) -> Tensor:
    """The same images (N, H, W, C) as some channels of wider ones, which are 7."""
    wide = torch.full((*images.shape[:3], images.shape[3] + 5), 7.0, dtype=images.dtype)
    part = wide[..., 2:-3]
    part.copy_(images)
    return part


def beside(part: Tensor) -> Tensor:
    """What is next to the channels of ``sliced`` images."""
    assert part._base is not None
    whole = part._base
    return torch.cat([whole[..., :2], whole[..., -3:]], dim=-1)


@needs_compiler
@settings(max_examples=20, deadline=None)
@given(
    st.tuples(*[st.integers(1, 5)] * 4),
    st.permutations([0, 1, 2, 3]),
    st.sampled_from([1, 2]),
    st.sampled_from(DTYPES),
    st.integers(1, 3),
)
def test_images_are_copied_from_any_strides(
    size: tuple[int, ...], order: list[int], step: int, dtype: torch.dtype, count: int
) -> None:
    lying = torch.randn([size[axis] * step for axis in order], dtype=torch.float64).to(dtype)
    source = lying[tuple([slice(None, None, step)] * 4)].permute([order.index(axis) for axis in range(4)])
    target = sliced(torch.zeros(size, dtype=dtype))
    alone = torch.zeros(size, dtype=dtype)
    with threads(count):
        copy_images(source, target)
        copy_images(source, alone)
    assert torch.equal(target, source)
    assert torch.equal(alone, source)
    assert bool((beside(target) == 7).all())


@needs_compiler
@settings(max_examples=60, deadline=None)
@given(
    st.tuples(st.integers(1, 3), st.integers(1, 9), st.integers(1, 90), st.integers(1, 150)),
    st.sampled_from(DTYPES),
    st.sampled_from([add_images, mask_images, add_channel_sums]),
    st.booleans(),
    st.integers(1, 3),
)
def test_images_of_any_size_are_added_masked_and_summed(
    size: tuple[int, ...],
    dtype: torch.dtype,
    operation: Callable[[Tensor, Tensor], None],
    alone: bool,
    count: int,
) -> None:
    """``alone``: in memory of their own, or parts of larger images."""
    generator = torch.Generator().manual_seed(sum(size))
    source, target = (torch.randn(size, generator=generator).to(dtype) for _ in range(2))
    source[..., ::5] = 0
    source[..., ::7] = torch.nan if operation is mask_images else 1
    if not alone:
        source, target = sliced(source), sliced(target)
    exact, before = (images.to(torch.float64, copy=True) for images in (source, target))
    with threads(count):
        if operation is add_channel_sums:
            total = before.flatten(0, 2)[0].to(dtype, copy=True)
            add_channel_sums(source[0, 0], total)
            wanted = before.flatten(0, 2)[0] + exact[0, 0].sum(0)
            assert largest_error(total, wanted) < {torch.bfloat16: 1e-2}.get(dtype, 1e-5)
            return
        operation(source, target)
    wanted = before + exact if operation is add_images else before.masked_fill(exact <= 0, 0)
    assert torch.equal(target, wanted.to(dtype))
    if not alone:
        assert bool((beside(target) == 7).all())


pairs = st.tuples(st.integers(1, 3), st.integers(1, 3))


@st.composite
def windows(draw: st.DrawFn) -> Window:
    kernel = draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    padding = (draw(st.integers(0, kernel[0] // 2)), draw(st.integers(0, kernel[1] // 2)))
    return Window(
        kernel,
        draw(st.tuples(st.integers(1, 5), st.integers(1, 5))),
        padding,
        draw(pairs),
        draw(st.booleans()),
    )


def pooled(x: Tensor, window: Window) -> tuple[Tensor, Tensor]:
    """By PyTorch: the results and where they were found, (N, H, W, C)."""
    out, places = F.max_pool2d(
        x.permute(0, 3, 1, 2), *window[:4], ceil_mode=window.ceil_mode, return_indices=True
    )
    return out.permute(0, 2, 3, 1), places.permute(0, 2, 3, 1)


@needs_compiler
@settings(max_examples=300, deadline=None)
@given(
    windows(),
    st.tuples(st.integers(1, 3), st.integers(1, 12), st.integers(1, 12), st.integers(1, 90)),
    st.sampled_from(DTYPES),
    st.sampled_from(["random", "ties", "nan", "infinite"]),
    st.booleans(),
    st.integers(1, 3),
    st.integers(0, 1000),
)
def test_max_pooling_of_any_geometry(
    window: Window,
    size: tuple[int, int, int, int],
    dtype: torch.dtype,
    values: str,
    relu: bool,
    count: int,
    seed: int,
) -> None:
    for extent, kernel, padding, dilation in zip(
        size[1:3], window.kernel, window.padding, window.dilation, strict=True
    ):
        assume(extent + 2 * padding >= (kernel - 1) * dilation + 1)
        # PyTorch writes anywhere where nothing of a window lies within the image.
        assume(padding == 0 or extent >= dilation)
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(size, generator=generator).to(dtype)
    if values == "ties":
        x = x.round()
    elif values == "nan":
        x[torch.rand(size, generator=generator) < 0.2] = float("nan")
    elif values == "infinite":
        x[torch.rand(size, generator=generator) < 0.7] = -float("inf")
    leaf = x.to(ARITHMETIC[dtype], copy=True).requires_grad_()
    found, _ = pooled(leaf, window)
    exact = (found.relu() if relu else found).to(dtype)
    grad_out = torch.randn(exact.shape, generator=generator).to(dtype)
    exact.backward(grad_out)
    assert leaf.grad is not None

    pooling = CompiledMaxPooling(window, (size[1], size[2]), (exact.shape[1], exact.shape[2]), dtype)
    out, grad_in = sliced(torch.full_like(exact.detach(), 5)), sliced(torch.full_like(x, 5))
    places = torch.empty(exact.shape, dtype=pooling.places_dtype)
    with threads(count), torch.no_grad():
        pooling.forward(sliced(x), out, places, relu)
        pooling.input_gradient(sliced(grad_out), x, places, grad_in)
    assert torch.equal(out.nan_to_num(99), exact.nan_to_num(99))
    torch.testing.assert_close(grad_in, leaf.grad.to(dtype))
    for written in (out, grad_in):
        assert bool((beside(written) == 7).all())


@needs_compiler
def test_a_window_in_the_padding_has_no_gradient() -> None:
    window = Window((2, 2), (1, 1), (1, 1), (3, 3), False)
    pooling = CompiledMaxPooling(window, (2, 2), (1, 1), torch.float32)
    x, out, grad_in = torch.ones(1, 2, 2, 3), torch.empty(1, 1, 1, 3), torch.full((1, 2, 2, 3), 5.0)
    places = torch.empty(1, 1, 1, 3, dtype=torch.uint8)
    pooling.forward(x, out, places, False)
    assert torch.equal(out, torch.full_like(out, -float("inf")))
    pooling.input_gradient(torch.ones(1, 1, 1, 3), x, places, grad_in)
    assert torch.equal(grad_in, torch.zeros_like(grad_in))


@needs_compiler
@pytest.mark.parametrize("channels", [16, 40, 80])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("count", [1, 3])
def test_gradients_of_max_pooling_that_are_stored_past_the_caches(
    channels: int, dtype: torch.dtype, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = torch.Generator().manual_seed(channels)
    x = torch.randn(2, 9, 10, channels, generator=generator).to(dtype)
    pooling = CompiledMaxPooling(Window((3, 3), (2, 1), (1, 1), (1, 1), False), (9, 10), (5, 10), dtype)
    found = []
    for size in (1 << 40, 0):
        monkeypatch.setattr(
            "convnet_benchmarks.nets.engine.kernels.compiled.caches.second_cache", lambda size=size: size
        )
        out = torch.empty(2, 5, 10, channels, dtype=dtype)
        places = torch.empty(out.shape, dtype=torch.uint8)
        made = torch.full((2, 9, 10, 96), 7.0, dtype=dtype)
        with threads(count):
            pooling.forward(x, out, places, False)
            pooling.input_gradient(out, x, places, made[..., :channels])
        found.append(made)
    assert torch.equal(*found)
    assert bool((found[1][..., channels:] == 7).all())


@needs_compiler
def test_what_pooling_is_not_compiled() -> None:
    with pytest.raises(NotCompiled, match="windows of 16 x 16"):
        CompiledMaxPooling(Window((16, 16), (1, 1), (0, 0), (1, 1), False), (16, 16), (1, 1), torch.float32)
    plain = Window((2, 2), (2, 2), (0, 0), (1, 1), False)
    with pytest.raises(NotCompiled, match="float16"):
        CompiledMaxPooling(plain, (4, 4), (2, 2), torch.float16)
    x = torch.ones(1, 3, 4, 4).permute(0, 2, 3, 1)
    with pytest.raises(ValueError, match="must be contiguous"):
        CompiledMaxPooling(plain, (4, 4), (2, 2), torch.float32).forward(
            x, torch.empty(1, 2, 2, 3), torch.empty(1, 2, 2, 3, dtype=torch.uint8), False
        )


@needs_compiler
@settings(max_examples=200, deadline=None)
@given(
    st.tuples(st.integers(2, 700), st.integers(1, 150)),
    st.sampled_from(DTYPES),
    st.sampled_from([0.0, 1.0, 1e3]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.integers(1, 3),
    st.integers(0, 1000),
)
def test_batch_norm_of_any_size(
    size: tuple[int, int],
    dtype: torch.dtype,
    mean: float,
    relu: bool,
    by_batch: bool,
    adds: bool,
    cumulative: bool,
    count: int,
    seed: int,
) -> None:
    """``adds``: an addend comes before the ReLU, and the input's gradient is added to what there is."""
    rows, channels = size
    generator = torch.Generator().manual_seed(seed)

    def random(*size: int) -> Tensor:
        return torch.randn(size, generator=generator, dtype=torch.float64).to(dtype).double()

    x, grad_out = random(*size) + mean, random(*size)
    x = x.to(dtype)  # what is left of it next to a large mean is exact
    addend = random(*size) if adds else None
    momentum = None if cumulative else 0.1
    norm = nn.BatchNorm1d(channels, momentum=momentum, dtype=torch.float64).train(by_batch)
    with torch.no_grad():
        for tensor in (norm.weight, norm.bias, norm.running_mean, norm.running_var):
            assert tensor is not None
            tensor.copy_(random(channels))
        norm.running_mean.add_(mean)
        norm.running_var.abs_().add_(0.1)
    ours = copy.deepcopy(norm).requires_grad_(False)
    leaf = x.double().requires_grad_()
    exact = norm(leaf) if addend is None else norm(leaf) + addend

    kernel = CompiledBatchNorm(channels, relu, norm.eps, dtype)
    weight, bias = ours.weight.to(dtype), ours.bias.to(dtype)
    out, grad_in = (torch.full((rows, channels + 3), 7.0, dtype=dtype)[:, :channels] for _ in range(2))
    gradients = torch.ones(2, channels, dtype=dtype)
    with threads(count), torch.no_grad():
        assert ours.running_mean is not None and ours.running_var is not None
        statistics = ours.running_mean, ours.running_var
        added = None if addend is None else addend.to(dtype)
        if by_batch:
            running = Running(*statistics, ours.num_batches_tracked, momentum)
            kernel.normalise_batch(x, running, weight, bias, out, added)
        else:
            kernel.normalise(x, *statistics, weight, bias, out, added)
        masked = grad_out.to(dtype)
        kernel.input_gradient(x, masked, weight, grad_in, out if adds else None, adds)
        kernel.add_parameter_gradients(*gradients)

    let_through = grad_out * (out > 0) if relu else grad_out  # one rounding may decide what is positive
    if adds:
        assert torch.equal(masked, let_through.to(dtype))
    wanted = torch.autograd.grad(exact, [leaf, norm.weight, norm.bias], let_through)
    exact = exact.detach()
    wanted = (exact.relu() if relu else exact, wanted[0] + 7 * adds, wanted[1] + 1, wanted[2] + 1)
    tolerance = {torch.float64: 1e-10, torch.float32: 1e-5, torch.bfloat16: 1e-2}[dtype]
    scale = 1 + float(ours.weight.abs().max())
    for have, want in zip((out, grad_in, *gradients), wanted, strict=True):
        assert float((have.double() - want).abs().max()) <= tolerance * (scale + float(want.abs().max()))
    for have, want in zip(ours.buffers(), norm.buffers(), strict=True):
        if have.is_floating_point():
            torch.testing.assert_close(have, want, rtol=tolerance, atol=tolerance)
    for written in (out, grad_in):
        assert written._base is not None
        assert bool((written._base[:, channels:] == 7).all())


@needs_compiler
@pytest.mark.parametrize("channels", [16, 40, 80])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("of_images", [False, True])
def test_results_that_are_stored_past_the_caches(
    channels: int, dtype: torch.dtype, count: int, of_images: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are the same; with 40 channels the last vectors of rows are not whole."""
    generator = torch.Generator().manual_seed(channels)

    def shown(rows: Tensor) -> Tensor:
        return rows.unflatten(0, (3, 25, 40)).permute(0, 3, 1, 2) if of_images else rows

    x, grad_out = (shown(torch.randn(3000, channels, generator=generator).to(dtype)) for _ in range(2))
    kernel = CompiledBatchNorm(channels, True, 1e-5, dtype)
    found = []
    for size in (1 << 40, 0):
        monkeypatch.setattr(
            "convnet_benchmarks.nets.engine.kernels.compiled.caches.second_cache", lambda size=size: size
        )
        made = torch.full((2, 3001, 80), 7.0, dtype=dtype)
        out, grad_in = map(shown, made[:, :-1, :channels])
        with threads(count):
            kernel.normalise_batch(x, None, None, None, out)
            assert kernel._job.streams == (size == 0)
            kernel.input_gradient(x, grad_out, None, grad_in)
        found.append(made)
    assert torch.equal(*found)
    assert bool((found[1][:, :-1, :channels] != 7).all() and (found[1][:, -1] == 7).all())


@pytest.mark.parametrize("kind", [OperatorBatchNorm, pytest.param(CompiledBatchNorm, marks=needs_compiler)])
@pytest.mark.parametrize("by_batch", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
def test_an_input_gradient_in_the_place_of_the_outputs(kind: Any, by_batch: bool, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(0)
    x, out, grad_out, grad_in = torch.randn(4, 300, 21, generator=generator).to(dtype)
    weight, bias, mean, variance = torch.rand(4, 21, generator=generator).to(dtype)
    kernel = kind(False, 1e-5, dtype) if kind is OperatorBatchNorm else kind(21, True, 1e-5, dtype)
    if by_batch:
        kernel.normalise_batch(x, None, weight, bias, out)
    else:
        kernel.normalise(x, mean, variance, weight, bias, out)
    kernel.input_gradient(x, grad_out, weight, grad_in)
    kernel.input_gradient(x, grad_out, weight, grad_out)
    assert torch.equal(grad_out, grad_in)


def test_batch_norms_share_the_memory_of_their_gradients() -> None:
    """Except the output's, which a second call reads again, and after a convolution, which needs it later."""
    norm = nn.BatchNorm2d
    module = nn.Sequential(
        norm(3), nn.Conv2d(3, 3, 1), norm(3), norm(3), nn.ReLU(), nn.Conv2d(3, 3, 1), norm(3)
    )
    phases = check(module, (2, 3, 5, 5), "mm")
    first, conv, second, third, last_conv, last = (layer.output.grad.data_ptr() for layer in phases._layers)
    assert conv == second == third
    assert len({first, conv, last_conv, last}) == 4


@needs_compiler
@pytest.mark.parametrize("values", ["large mean", "outlier first", "drift", "constant"])
def test_batch_norm_statistics_of_difficult_numbers(values: str) -> None:
    x = torch.randn(5000, 33, generator=torch.Generator().manual_seed(1))
    if values == "large mean":
        x = x + 1e4
    elif values == "outlier first":
        x[0] = 1e4
    elif values == "drift":
        x = x + torch.arange(5000.0)[:, None] * 10
    else:
        x = torch.full_like(x, 0.1)
    kernel = CompiledBatchNorm(33, False, 1e-5, torch.float32)
    found = []
    for count in (1, 2, 2, 3):
        with threads(count):
            kernel.normalise_batch(x, None, None, None, torch.empty_like(x))
        mean, variance = kernel.mean.clone(), kernel.variance.clone()
        found.append((mean, variance))
        exact = x.double().var(0, correction=0)
        assert bool(((mean - x.double().mean(0)).abs() <= 1e-7 * exact.sqrt() + 1e-9).all())
        torch.testing.assert_close(variance, exact, rtol=1e-5, atol=1e-12)
    assert all(map(torch.equal, found[1], found[2])), "the same threads do not give the same results"


@needs_compiler
def test_what_normalisation_is_compiled() -> None:
    assert isinstance(batch_norm(3, 4, True, 1e-5, torch.float32), CompiledBatchNorm)
    assert isinstance(batch_norm(3, 2, True, 1e-5, torch.float64), CompiledBatchNorm)
    assert isinstance(batch_norm(3, 3, True, 1e-5, torch.float32), OperatorBatchNorm)
    assert isinstance(batch_norm(3, 4, True, 1e-5, torch.bfloat16), CompiledBatchNorm)
    with c_compiler(NO_COMPILER):
        assert isinstance(batch_norm(3, 4, True, 1e-5, torch.float32), OperatorBatchNorm)
    with pytest.raises(ValueError, match="must be contiguous"):
        x = torch.ones(3, 4).t()
        CompiledBatchNorm(3, True, 1e-5, torch.float32).normalise_batch(x, None, None, None, x)


class Sums(nn.Module):
    """Sums of normalised values with what others read, too: before, after, itself, a part of a Concat."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1)
        self.norms = nn.ModuleList(nn.BatchNorm2d(8) for _ in range(5))
        self.convolutions = nn.ModuleList(nn.Conv2d(8, 8, 1) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        x = F.relu(self.norms[0](self.convolutions[0](x)) + x)
        shortcut = self.norms[1](self.convolutions[1](x))
        x = F.relu(shortcut + self.norms[2](self.convolutions[2](x)))
        x = x + self.norms[3](x)
        joined = torch.cat([self.norms[4](x) + x, self.convolutions[3](x)], -3)
        return joined + joined * 2


NETS: dict[str, Callable[[], nn.Module]] = {
    "sums": Sums,
    "pooling": lambda: nn.Sequential(
        nn.Conv2d(3, 20, 3),
        nn.MaxPool2d(3, 2, ceil_mode=True),
        nn.ReLU(),
        Concat(-3, nn.Sequential(nn.MaxPool2d(3, 1, 1), nn.ReLU()), nn.Conv2d(20, 5, 1), nn.MaxPool2d(1)),
        nn.MaxPool2d((2, 3), (2, 1), (1, 0), dilation=(1, 2)),
    ),
    "norms": lambda: nn.Sequential(
        nn.BatchNorm2d(3),
        nn.Conv2d(3, 20, 3, 2, bias=False),
        nn.BatchNorm2d(20, momentum=None),
        nn.ReLU(),
        Concat(-3, nn.BatchNorm2d(20, affine=False), nn.Sequential(nn.BatchNorm2d(20).eval(), nn.ReLU())),
        nn.BatchNorm2d(40, track_running_stats=False),
        nn.Flatten(2),
        nn.BatchNorm1d(40),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(40 * 64, 10),
        nn.BatchNorm1d(10),
        nn.ReLU(),
    ),
}


@needs_compiler
@pytest.mark.parametrize("compiler", [True, False])
@pytest.mark.parametrize(
    ("name", "shape"),
    [
        *((name, (5, 3, 17, 17)) for name in NETS),
        ("pooling", (3, 17, 17)),  # PyTorch normalises batches only
    ],
)
def test_nets_with_and_without_a_compiler(name: str, shape: tuple[int, ...], compiler: bool) -> None:
    torch.manual_seed(1)
    net = NETS[name]().double()
    same = copy.deepcopy(net)
    with threads(2), c_compiler("" if compiler else NO_COMPILER):
        phases = compile(net, shape, "mm")
        for _ in range(5):  # from the third time on what is recorded runs
            x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
            exact = same(x)
            grad_out = torch.randn_like(exact)
            wanted = torch.autograd.grad(exact, [x, *same.parameters()], grad_out)
            input = x.detach()
            torch.testing.assert_close(phases.updateOutput(input), exact.detach())
            phases.zeroGradParameters()
            grad_in = phases.updateGradInput(input, grad_out)
            phases.accGradParameters(input, grad_out)
            found = [grad_in, *(parameter.grad for parameter in net.parameters())]
            torch.testing.assert_close(found, list(wanted))
            torch.testing.assert_close(list(net.buffers()), list(same.buffers()))


def test_sums_are_part_of_the_normalisation() -> None:
    phases = compile(Sums(), (2, 3, 9, 9), "mm")
    kinds = [layer.kind for layer in phases.report().layers]
    assert kinds.count("BatchNorm2d+add+ReLU") == 2
    assert kinds.count("BatchNorm2d+add") == 2
    assert "BatchNorm2d" in kinds  # the shortcut, or what it is added to


class PooledTwice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.before = nn.Conv2d(3, 8, 3, padding=1)
        self.pools = nn.ModuleList([nn.MaxPool2d(2), nn.MaxPool2d(3, 2, 1)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found = torch.relu(self.before(x))
        return self.pools[0](found) + self.pools[1](found)


@needs_compiler
@pytest.mark.parametrize(
    ("make", "passes"),
    [
        (lambda: nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.ReLU()), 0),
        (PooledTwice, 0),
        (lambda: nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AvgPool2d(2)), 1),
        (lambda: nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU()), 1),  # the caller reads its output
    ],
)
def test_a_relu_before_max_pooling_needs_no_pass_for_its_gradient(
    make: Callable[[], nn.Module], passes: int
) -> None:
    torch.manual_seed(0)
    phases = check(make(), (5, 3, 12, 12), "mm")
    masks = [step for step in phases._phases.input_gradient.steps if "_mask_output" in repr(step)]
    assert len(masks) == passes
