"""Plans for inference alone, and batch normalisations folded into convolutions, against PyTorch."""

import copy
from collections.abc import Callable

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from convnet_benchmarks.nets.engine import StaleWeightError, compile
from convnet_benchmarks.nets.engine.choice.algorithms import candidates
from convnet_benchmarks.nets.engine.kernels.compiled.depthwise import CompiledDepthwise
from convnet_benchmarks.nets.engine.kernels.depthwise import DepthwiseGeometry, OperatorDepthwise
from convnet_benchmarks.nets.engine.memory import Memory
from convnet_benchmarks.nets.engine.shapes import ConvolutionShape
from convnet_benchmarks.nets.modules.torch7 import Concat
from convnet_benchmarks.nets.phases import FORWARD
from tests.helpers.engine_conditions import WITH_AND_WITHOUT, c_compiler, needs_compiler, threads
from tests.nets.engine.modules import MODULES, Residual, check, largest_error
from tests.nets.engine.test_compiled_layers import beside, sliced
from tests.nets.engine.test_kernels import TOLERANCE, Reference, error, shapes


def draw_statistics(module: nn.Module, seed: int = 0) -> nn.Module:
    """Gives every batch normalisation numbers of its own; in evaluation mode."""
    generator = torch.Generator().manual_seed(seed)
    for part in module.modules():
        if isinstance(part, nn.BatchNorm2d):
            with torch.no_grad():
                for tensor in (part.weight, part.bias, part.running_mean):
                    if tensor is not None:
                        tensor.copy_(torch.randn(tensor.shape, generator=generator))
                assert part.running_var is not None
                part.running_var.copy_(torch.rand(part.num_features, generator=generator) + 0.1)
    return module.eval()


class Sum(nn.Module):
    """The sum of two branches."""

    def __init__(self, *branches: nn.Module) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x: Tensor) -> Tensor:
        first, second = self.branches
        return first(x) + second(x)


class SumReadTwice(nn.Module):
    """What is added is needed afterwards, and so is the sum."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 3, 1), nn.Conv2d(3, 3, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        made = torch.tanh(self.first(x))
        total = torch.relu(self.second(x) + made)
        return total * made + total


def conv_norm(
    inputs: int, outputs: int, kernel: int, stride: int = 1, padding: int = 0, groups: int = 1
) -> list[nn.Module]:
    convolution = nn.Conv2d(inputs, outputs, kernel, stride, padding, groups=groups, bias=False)
    return [convolution, nn.BatchNorm2d(outputs)]


FUSED: dict[str, Callable[[], nn.Module]] = {
    "bottleneck": lambda: nn.Sequential(
        *conv_norm(3, 8, 1),
        nn.ReLU(),
        Sum(nn.Sequential(*conv_norm(8, 4, 3, 2, 1), nn.ReLU()), nn.Sequential(*conv_norm(8, 4, 1, 2))),
        nn.ReLU(),
        Sum(nn.Sequential(*conv_norm(4, 4, 1), nn.ReLU(), *conv_norm(4, 4, 3, 1, 1)), nn.Identity()),
        nn.ReLU(),
        *conv_norm(4, 5, 1),
    ),
    "adds its input": lambda: nn.Sequential(
        nn.Conv2d(3, 8, 1), Sum(nn.Conv2d(8, 8, 1), nn.Identity()), nn.ReLU(), Residual(8)
    ),
    "sum read twice": SumReadTwice,
    "adds the plan's input": lambda: Sum(nn.Identity(), nn.Conv2d(3, 3, 3, 1, 1)),
    "into a Concat": lambda: nn.Sequential(
        Concat(
            -3, nn.Sequential(*conv_norm(3, 4, 1), nn.ReLU()), Sum(nn.Conv2d(3, 2, 1), nn.Conv2d(3, 2, 1))
        ),
        nn.Conv2d(6, 2, 3),
    ),
    "depthwise": lambda: nn.Sequential(
        *conv_norm(3, 20, 3, 2, 1),
        nn.ReLU(),
        *conv_norm(20, 20, 3, 1, 1, groups=20),
        nn.ReLU(),
        *conv_norm(20, 6, 1),
        nn.Conv2d(6, 6, (5, 3), (2, 1), groups=6, padding=(3, 1), dilation=(1, 2)),
    ),
    "two norms": lambda: nn.Sequential(*conv_norm(3, 4, 3), nn.BatchNorm2d(4, affine=False), nn.ReLU()),
    "the input alone": lambda: nn.Identity(),
}


@pytest.mark.parametrize("name", [*MODULES, *FUSED])
@pytest.mark.parametrize(
    "backend", ["winograd", *(pytest.param(name, marks=pytest.mark.slow) for name in ("auto", "mm", "stock"))]
)
def test_modules_in_inference(name: str, backend: str) -> None:
    torch.manual_seed(1)
    module = draw_statistics({**MODULES, **FUSED}[name]()).double()
    shape = (5, 3, 9, 9) if name == "classifier" else (5, 3, 11, 11)
    phases = compile(module, shape, backend, dtype=torch.float64, inference=True)
    for seed in range(4):  # so that nothing of the first is left in the second; the third is replayed
        x = torch.randn(shape, generator=torch.Generator().manual_seed(seed)).double()
        with torch.no_grad():
            assert largest_error(phases.updateOutput(x), module(x.clone())) < 1e-10


@pytest.mark.parametrize("backend", ["mm", pytest.param("winograd", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", FUSED)
def test_the_three_phases_with_folded_norms(name: str, backend: str) -> None:
    if name == "the input alone":
        return
    torch.manual_seed(1)
    check(draw_statistics(FUSED[name]()), (3, 3, 11, 10), backend)


@settings(max_examples=15, deadline=None)
@given(
    shapes(),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["all", "none", "norm", "convolution"]),
    st.integers(0, 1000),
)
def test_folding_any_convolution(
    shape: ConvolutionShape, bias: bool, affine: bool, relu: bool, trained: str, seed: int
) -> None:
    torch.manual_seed(seed)
    sizes = (shape.in_channels, shape.out_channels, shape.kernel, shape.stride, shape.padding)
    convolution = nn.Conv2d(*sizes, bias=bias)
    norm = nn.BatchNorm2d(shape.out_channels, affine=affine)
    convolution.requires_grad_(trained in ("all", "convolution"))
    norm.requires_grad_(trained in ("all", "norm"))
    module = draw_statistics(nn.Sequential(convolution, norm, *[nn.ReLU()] * relu), seed)
    phases = check(module, (shape.batch, shape.in_channels, *shape.in_size), "mm", seed)
    assert [layer.kind for layer in phases.report().layers] == ["Conv2d+BatchNorm" + "+ReLU" * relu]


def test_what_is_fused_and_what_is_not() -> None:
    module = draw_statistics(FUSED["bottleneck"]())
    shape = (1, 3, 11, 10)

    def kinds(inference: bool = False, fuse_layers: bool = True) -> list[str]:
        phases = compile(module, shape, "mm", inference=inference, fuse_layers=fuse_layers)
        return [layer.kind for layer in phases.report().layers]

    assert kinds(inference=True) == [
        "Conv2d+BatchNorm+ReLU",
        "Conv2d+BatchNorm+ReLU",
        "Conv2d+BatchNorm+add+ReLU",
        "Conv2d+BatchNorm+ReLU",
        "Conv2d+BatchNorm+add+ReLU",
        "Conv2d+BatchNorm",
    ]
    assert "Conv2d+BatchNorm+add+ReLU" not in kinds()
    assert kinds(fuse_layers=False).count("BatchNorm2d") == 6
    module.train()
    assert "Conv2d+BatchNorm" not in kinds()


def test_a_plan_for_inference_has_no_other_phase() -> None:
    module = nn.Conv2d(3, 4, 3).eval()
    phases = compile(module, (1, 3, 8, 8), "mm", inference=True)
    x = torch.ones(1, 3, 8, 8)
    out = phases.updateOutput(x)
    with pytest.raises(RuntimeError, match="for inference: compile the module without inference=True"):
        phases.updateGradInput(x, out)
    assert [set(layer.algorithms) for layer in phases.report().layers] == [{"updateOutput"}]


def test_activations_share_memory() -> None:
    module = nn.Sequential(*(nn.Conv2d(8, 8, 3, padding=1) for _ in range(20))).eval()
    shape = (1, 8, 64, 64)
    one = 8 * 64 * 64 * 4
    whole = compile(module, shape, "direct").report().memory.bytes
    assert whole > 40 * one
    assert compile(module, shape, "direct", inference=True).report().memory.bytes < 8 * one


def test_changed_weights_and_statistics_are_seen() -> None:
    torch.manual_seed(0)
    module = draw_statistics(nn.Sequential(*conv_norm(3, 4, 3), nn.ReLU())).double()
    shape = (2, 3, 8, 8)
    phases = compile(module, shape, "winograd", dtype=torch.float64, inference=True)
    x = torch.randn(shape).double()
    norm = module[1]
    with torch.no_grad():
        for tensor in (module[0].weight, norm.weight, norm.bias, norm.running_mean, norm.running_var):
            tensor.add_(1)
            assert largest_error(phases.updateOutput(x), module(x)) < 1e-10
        norm.running_var = norm.running_var * 2
        assert largest_error(phases.updateOutput(x), module(x)) < 1e-10
        norm.running_mean.data.numpy()[:] += 1  # not counted by PyTorch
        phases.invalidate()
        assert largest_error(phases.updateOutput(x), module(x)) < 1e-10


@pytest.mark.parametrize("groups", [1, 4])
def test_a_statistic_changed_behind_pytorchs_back_can_be_found(groups: int) -> None:
    module = draw_statistics(nn.Sequential(*conv_norm(4, 4, 3, groups=groups)))
    x = torch.randn(1, 4, 8, 8)
    phases = compile(module, (1, 4, 8, 8), "mm", check_weights=True, inference=True)
    phases.updateOutput(x)
    module[1].running_mean.numpy()[:] += 1
    with pytest.raises(StaleWeightError, match="a statistic of a batch normalisation"):
        phases.updateOutput(x)


@settings(max_examples=15, deadline=None)
@given(shapes(), st.integers(0, 1000), st.booleans(), st.sampled_from(WITH_AND_WITHOUT))
def test_kernels_that_add_to_their_output(
    shape: ConvolutionShape, seed: int, relu: bool, compiler: str
) -> None:
    reference = Reference(shape, seed)
    before = torch.randn(shape.output_shape, generator=torch.Generator().manual_seed(seed)).to(shape.dtype)
    exact = reference.out + before.double()
    with c_compiler(compiler), torch.no_grad():
        for make in candidates(shape, FORWARD, for_inference=True).values():
            kernel = make(Memory())
            reference.check(kernel, FORWARD, relu)
            if kernel.adds:
                out = before.clone()
                kernel.forward(reference.x, reference.weight, reference.bias, out, relu, add=True)
                assert error(out, exact.clamp_min(0) if relu else exact) < TOLERANCE[shape.dtype]


@pytest.mark.slow
def test_many_channels_by_packed_products_that_add() -> None:
    """Products by oneDNN are offered from this many channels on."""
    shape = ConvolutionShape(1, 130, 129, (9, 8), (3, 3), (1, 1), (1, 1), torch.float32)
    reference = Reference(shape, 0)
    found = candidates(shape, FORWARD, for_inference=True)
    if not compile_says_no():
        assert {"winograd(3, panels)", "mm(windows)"} <= set(found)
    for name, make in found.items():
        kernel = make(Memory())
        if kernel.adds:
            out = torch.ones_like(reference.grad_out)
            with torch.no_grad():
                kernel.forward(reference.x, reference.weight, None, out, False, add=True)
            exact = reference.out - reference.bias.double() + 1
            assert error(out, exact) < 1e-4, name


def compile_says_no() -> bool:
    return compile(nn.Conv2d(1, 1, 1), (1, 1, 2, 2), "mm").report().compiled.startswith("no compiled")


pairs = st.tuples(st.integers(1, 3), st.integers(1, 3))


@settings(max_examples=40, deadline=None)
@given(
    st.tuples(st.integers(1, 5), st.integers(1, 5)),
    pairs,
    st.tuples(st.integers(0, 4), st.integers(0, 4)),
    pairs,
    st.tuples(st.integers(1, 3), st.integers(1, 14), st.integers(1, 14), st.integers(2, 70)),
    st.sampled_from([torch.float32, torch.float64, torch.bfloat16]),
    st.booleans(),
    st.booleans(),
    st.integers(1, 3),
)
@needs_compiler
def test_depthwise_convolutions_of_any_geometry(
    kernel: tuple[int, int],
    stride: tuple[int, int],
    padding: tuple[int, int],
    dilation: tuple[int, int],
    size: tuple[int, int, int, int],
    dtype: torch.dtype,
    with_bias: bool,
    relu: bool,
    count: int,
) -> None:
    for extent, taps, pad, step in zip(size[1:3], kernel, padding, dilation, strict=True):
        assume(extent + 2 * pad >= (taps - 1) * step + 1)
    generator = torch.Generator().manual_seed(sum(size))

    def draw(*size: int) -> Tensor:
        return torch.randn(size, generator=generator).to(dtype)

    x, weight = draw(*size), draw(size[3], 1, *kernel)
    bias = draw(size[3]) if with_bias else None
    geometry = DepthwiseGeometry(kernel, stride, padding, dilation)
    exact, leaves = exactly(geometry, x, weight, bias)
    grad_out = draw(*exact.shape)
    wanted = [
        exact.detach().relu() if relu else exact.detach(),
        *torch.autograd.grad(exact, leaves, grad_out.double()),
    ]
    compiled = CompiledDepthwise(geometry, (size[1], size[2]), (exact.shape[1], exact.shape[2]), dtype)
    for kernel_of in (compiled, OperatorDepthwise(geometry)):
        out, grad_in = (sliced(torch.full(part.shape, 5.0, dtype=dtype)) for part in wanted[:2])
        with threads(count):
            kernel_of.forward(sliced(x), weight, bias, out, relu)
            kernel_of.input_gradient(sliced(grad_out), weight, grad_in)
            found = torch.ones_like(weight)
            kernel_of.weight_gradient(sliced(x), sliced(grad_out), found)
            found -= 1
        tolerance = 2e-2 if dtype is torch.bfloat16 else 1e-5
        for have, want in zip((out, grad_in, found), wanted, strict=True):
            assert largest_error(have, want) < tolerance
        assert bool((beside(out) == 7).all() and (beside(grad_in) == 7).all())


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 2),
    st.tuples(st.integers(0, 4), st.integers(0, 4)),
    st.tuples(st.integers(1, 3), st.integers(1, 12), st.integers(1, 12), st.sampled_from([3, 16, 37])),
    st.booleans(),
    st.integers(1, 3),
)
@needs_compiler
def test_depthwise_convolutions_in_blocks_of_outputs(
    stride: int, padding: tuple[int, int], size: tuple[int, int, int, int], with_bias: bool, count: int
) -> None:
    """The usual kernel, several rows and columns of outputs at a time, at all edges of an image."""
    assume(all(extent + 2 * pad >= 3 for extent, pad in zip(size[1:3], padding, strict=True)))
    generator = torch.Generator().manual_seed(sum(size))
    x, weight = (torch.randn(of, generator=generator) for of in (size, (size[3], 1, 3, 3)))
    bias = torch.randn(size[3], generator=generator) if with_bias else None
    geometry = DepthwiseGeometry((3, 3), (stride, stride), padding, (1, 1))
    exact = exactly(geometry, x, weight, bias)[0].detach()
    out = sliced(torch.full(exact.shape, 5.0))
    rows_and_columns = (size[1], size[2]), (exact.shape[1], exact.shape[2])
    with threads(count):
        kernel = CompiledDepthwise(geometry, *rows_and_columns, torch.float32)
        kernel.forward(sliced(x), weight, bias, out, False)
    assert largest_error(out, exact) < 1e-5
    assert bool((beside(out) == 7).all())


def exactly(
    geometry: DepthwiseGeometry, x: Tensor, weight: Tensor, bias: Tensor | None
) -> tuple[Tensor, list[Tensor]]:
    """By PyTorch in float64: the output, and the input (N, H, W, C) and weight that it depends on."""
    leaves = [part.to(torch.float64, copy=True).requires_grad_() for part in (x, weight)]
    sizes = (geometry.stride, geometry.padding, geometry.dilation)
    exact_bias = None if bias is None else bias.double()
    out = torch.nn.functional.conv2d(
        leaves[0].permute(0, 3, 1, 2), leaves[1], exact_bias, *sizes, groups=len(weight)
    )
    return out.permute(0, 2, 3, 1), leaves


@needs_compiler
def test_bfloat16_is_rounded_as_pytorch_rounds() -> None:
    """One product is exact in float32, so that a sum of two terms is rounded to float32, then to bfloat16."""
    every = torch.arange(65536, dtype=torch.int32).to(torch.int16).view(torch.bfloat16)
    x = every.view(1, 32, 64, 32)
    weight = torch.tensor([1.0, -0.37, 3e38, 1e-3]).repeat(8).to(torch.bfloat16)
    bias = torch.randn(32, generator=torch.Generator().manual_seed(0)).to(torch.bfloat16)
    geometry = DepthwiseGeometry((1, 1), (1, 1), (0, 0), (1, 1))
    kernel = CompiledDepthwise(geometry, (32, 64), (32, 64), torch.bfloat16)
    out = torch.empty_like(x)
    kernel.forward(x, weight.view(32, 1, 1, 1), bias, out, False)
    exact = (x.float() * weight.float() + bias.float()).to(torch.bfloat16)
    assert torch.equal(out.nan_to_num(99.0), exact.nan_to_num(99.0))
    assert torch.equal(out.isnan(), exact.isnan())


def test_plans_of_a_copy_share_nothing() -> None:
    """Two plans of equal modules in turns: each keeps its folded weights."""
    torch.manual_seed(0)
    first = draw_statistics(nn.Sequential(*conv_norm(3, 4, 3)))
    second = draw_statistics(copy.deepcopy(first), seed=5)
    x = torch.randn(1, 3, 8, 8)
    plans = [compile(module, (1, 3, 8, 8), "mm", inference=True) for module in (first, second)]
    with torch.no_grad():
        for _ in range(2):
            for module, plan in zip((first, second), plans, strict=True):
                assert largest_error(plan.updateOutput(x), module(x)) < 1e-5
