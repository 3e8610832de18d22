"""Layers of the CPU engine that run on compiled code: the same results as PyTorch's operators give."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from nets.engine import compile, compiled_products
from nets.engine.compiled import NotCompiled
from nets.engine.compiled_pooling import CompiledMaxPooling
from nets.engine.max_pooling import Window
from nets.layers import Concat

needs_compiler = pytest.mark.skipif(
    bool(compiled_products.why_not(torch.float32)), reason="there is no C compiler"
)
DTYPES = [torch.float32, torch.float64]


@contextmanager
def threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def without_compiler() -> mock._patch_dict:
    return mock.patch.dict(os.environ, CC="no-such-compiler")


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
    x = torch.randn(size, generator=generator, dtype=dtype)
    if values == "ties":
        x = x.round()
    elif values == "nan":
        x[torch.rand(size, generator=generator) < 0.2] = float("nan")
    elif values == "infinite":
        x[torch.rand(size, generator=generator) < 0.7] = -float("inf")
    leaf = x.clone().requires_grad_()
    exact, _ = pooled(leaf, window)
    exact = exact.relu() if relu else exact
    grad_out = torch.randn(exact.shape, generator=generator, dtype=dtype)
    exact.backward(grad_out)
    assert leaf.grad is not None

    pooling = CompiledMaxPooling(window, dtype)
    out, grad_in = sliced(torch.full_like(exact, 5)), sliced(torch.full_like(x, 5))
    places = torch.empty(exact.shape, dtype=pooling.places_dtype)
    with threads(count), torch.no_grad():
        pooling.forward(sliced(x), out, places, relu)
        pooling.input_gradient(sliced(grad_out), x, places, grad_in)
    assert torch.equal(out.nan_to_num(99), exact.nan_to_num(99))
    torch.testing.assert_close(grad_in, leaf.grad)
    for written in (out, grad_in):
        assert bool((beside(written) == 7).all())


@needs_compiler
def test_a_window_in_the_padding_has_no_gradient() -> None:
    window = Window((2, 2), (1, 1), (1, 1), (3, 3), False)
    pooling = CompiledMaxPooling(window, torch.float32)
    x, out, grad_in = torch.ones(1, 2, 2, 3), torch.empty(1, 1, 1, 3), torch.full((1, 2, 2, 3), 5.0)
    places = torch.empty(1, 1, 1, 3, dtype=torch.uint8)
    pooling.forward(x[:, 2:], out, places, False)
    assert torch.equal(out, torch.full_like(out, -float("inf")))
    pooling.input_gradient(torch.ones(1, 1, 1, 3), x, places, grad_in)
    assert torch.equal(grad_in, torch.zeros_like(grad_in))


@needs_compiler
def test_what_pooling_is_not_compiled() -> None:
    with pytest.raises(NotCompiled, match="windows of 16 x 16"):
        CompiledMaxPooling(Window((16, 16), (1, 1), (0, 0), (1, 1), False), torch.float32)
    plain = Window((2, 2), (2, 2), (0, 0), (1, 1), False)
    with pytest.raises(NotCompiled, match="bfloat16"):
        CompiledMaxPooling(plain, torch.bfloat16)
    x = torch.ones(1, 3, 4, 4).permute(0, 2, 3, 1)
    with pytest.raises(ValueError, match="must be neighbours"):
        CompiledMaxPooling(plain, torch.float32).forward(
            x, torch.empty(1, 2, 2, 3), torch.empty(1, 2, 2, 3, dtype=torch.uint8), False
        )


NETS: dict[str, Callable[[], nn.Module]] = {
    "pooling": lambda: nn.Sequential(
        nn.Conv2d(3, 20, 3),
        nn.MaxPool2d(3, 2, ceil_mode=True),
        nn.ReLU(),
        Concat(-3, nn.Sequential(nn.MaxPool2d(3, 1, 1), nn.ReLU()), nn.Conv2d(20, 5, 1), nn.MaxPool2d(1)),
        nn.MaxPool2d((2, 3), (2, 1), (1, 0), dilation=(1, 2)),
    ),
}


@needs_compiler
@pytest.mark.parametrize("compiler", [True, False])
@pytest.mark.parametrize("divided", [False, True])
@pytest.mark.parametrize("shape", [(5, 3, 17, 17), (3, 17, 17)])
@pytest.mark.parametrize("name", NETS)
def test_nets_with_and_without_a_compiler(
    name: str, shape: tuple[int, ...], divided: bool, compiler: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(1)
    net = NETS[name]().double()
    if divided:
        monkeypatch.setattr("nets.engine.plan._DIVIDED_MULTIPLY_ADDS", 0)
        monkeypatch.setattr("nets.engine.plan._WORKERS_POSITIONS", 0)
    with threads(2), nullcontext() if compiler else without_compiler():
        phases = compile(net, shape, "mm")
        for _ in range(2):
            x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
            exact = net(x)
            grad_out = torch.randn_like(exact)
            wanted = torch.autograd.grad(exact, [x, *net.parameters()], grad_out)
            input = x.detach()
            torch.testing.assert_close(phases.updateOutput(input), exact.detach())
            phases.zeroGradParameters()
            grad_in = phases.updateGradInput(input, grad_out)
            phases.accGradParameters(input, grad_out)
            found = [grad_in, *(parameter.grad for parameter in net.parameters())]
            torch.testing.assert_close(found, list(wanted))
