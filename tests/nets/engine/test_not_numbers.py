"""Numbers that are not: none is hidden behind what a layer does besides its sums."""

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn

from convnet_benchmarks.nets.engine.choice.algorithms import candidates, family, linear_candidates
from convnet_benchmarks.nets.engine.memory import Memory
from convnet_benchmarks.nets.engine.shapes import ConvolutionShape
from convnet_benchmarks.nets.phases import FORWARD
from tests.helpers.engine_conditions import WITH_AND_WITHOUT, c_compiler

SPREADING = ("winograd", "fft")  # a tile's numbers, or infinite ones as NaN


def signs(tensor: Tensor) -> Tensor:
    """NaN, infinity and minus infinity as such, all else as 0."""
    return tensor.double().masked_fill(tensor.isfinite(), 0)


def some_of(shape: tuple[int, ...]) -> Tensor:
    found = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    flat = found.view(-1)
    flat[::211], flat[50::307], flat[60::401] = float("nan"), float("inf"), -float("inf")
    return found


def outputs(relu: bool, adds: bool, dtype: torch.dtype) -> Iterator[tuple[str, Tensor, Tensor]]:
    """The results of every kernel by name, and PyTorch's."""
    add = torch.randn(2, 140, 9, 8).to(dtype)
    x, weight, bias = (
        some_of((2, 130, 9, 8)).to(dtype),
        torch.randn(140, 130, 3, 3).to(dtype),
        torch.randn(140),
    )
    bias = bias.to(dtype)
    shape = ConvolutionShape(2, 130, 140, (9, 8), (3, 3), (1, 1), (1, 1), dtype)
    wanted = nn.functional.conv2d(x, weight, bias, padding=1) + (add if adds else 0)
    for inference in (False, True):
        for name, make in candidates(shape, FORWARD, inference).items():
            kernel = make(Memory())
            if kernel.adds >= adds:
                out = add.permute(0, 2, 3, 1).contiguous()
                images = x.permute(0, 2, 3, 1).contiguous()
                kernel.forward(images, weight, bias, out, relu, *([True] if adds else []))
                yield name, out.permute(0, 3, 1, 2), wanted.relu() if relu else wanted
    for rows in (1, 3, 40):
        x, weight, bias = some_of((rows, 260)).to(dtype), torch.randn(256, 260).to(dtype), torch.randn(256)
        bias, add = bias.to(dtype), torch.randn(rows, 256).to(dtype)
        wanted = nn.functional.linear(x, weight, bias) + (add if adds else 0)
        for inference in (False, True):
            for name, make_linear in linear_candidates(
                rows, 260, 256, dtype, FORWARD, inference, keeps_copies=True
            ).items():
                product = make_linear(Memory())
                if product.adds >= adds:
                    out = add.clone()
                    product.forward(x, weight, bias, out, relu, *([True] if adds else []))
                    yield name, out, wanted.relu() if relu else wanted


@pytest.mark.parametrize("compiler", WITH_AND_WITHOUT)
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("adds", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_every_kernel_gives_them_where_pytorch_does(
    relu: bool, adds: bool, dtype: torch.dtype, compiler: str
) -> None:
    names = set()
    with c_compiler(compiler), torch.no_grad():
        for name, found, wanted in outputs(relu, adds, dtype):
            names.add(family(name))
            if family(name) in SPREADING:
                assert bool((found.isnan() >= wanted.isnan()).all()), name
                assert not bool((wanted.isinf() & found.isfinite()).any()), name
            else:
                assert torch.equal(signs(found).nan_to_num(5), signs(wanted).nan_to_num(5)), name
    assert adds or names >= {"mm", "direct"}
