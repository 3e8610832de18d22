"""Every kernel and phase of the CPU engine against autograd in float64, on small odd shapes."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor

from convnet_benchmarks.nets.engine.choice.algorithms import candidates, is_bilinear, linear_candidates
from convnet_benchmarks.nets.engine.kernels.bilinear import BilinearConvolution
from convnet_benchmarks.nets.engine.kernels.compiled import products as compiled_products
from convnet_benchmarks.nets.engine.kernels.compiled import windows
from convnet_benchmarks.nets.engine.kernels.fft_convolution import fft
from convnet_benchmarks.nets.engine.kernels.kernel import Kernel
from convnet_benchmarks.nets.engine.kernels.tile_transforms import Pair, TileMap, TileTransforms
from convnet_benchmarks.nets.engine.kernels.winograd import LINE_TILES, OUTPUT_TILES, output_tiles, winograd
from convnet_benchmarks.nets.engine.memory import Memory
from convnet_benchmarks.nets.engine.shapes import ConvolutionShape, pieces
from convnet_benchmarks.nets.engine.weights import StaleWeightError
from convnet_benchmarks.nets.phases import FORWARD, INPUT_GRADIENT, PHASES, WEIGHT_GRADIENT
from tests.helpers.engine_conditions import WITH_AND_WITHOUT, c_compiler, needs_compiler, threads

# Largest error over the largest value, for the sizes drawn here.
TOLERANCE = {torch.float64: 1e-12, torch.float32: 3e-5, torch.bfloat16: 2e-2}


def error(found: Tensor, exact: Tensor) -> float:
    """Over the largest value, or 1 if that is less: a single sum may cancel."""
    return float((found.double() - exact).abs().max() / exact.abs().max().clamp_min(1))


class Reference:
    """Random operands of a convolution and its exact results, activations channels last."""

    def __init__(self, shape: ConvolutionShape, seed: int) -> None:
        self.shape = shape
        generator = torch.Generator().manual_seed(seed)

        def draw(*size: int) -> Tensor:
            return torch.randn(*size, generator=generator, dtype=torch.float64).to(shape.dtype)

        self.x, self.grad_out = draw(*shape.input_shape), draw(*shape.output_shape)
        self.weight = draw(shape.out_channels, shape.in_channels, *shape.kernel)
        self.bias = draw(shape.out_channels)
        x = self.x.double().permute(0, 3, 1, 2).requires_grad_()
        weight = self.weight.double().requires_grad_()
        out = F.conv2d(x, weight, self.bias.double(), shape.stride, shape.padding)
        grads = torch.autograd.grad(out, [x, weight], self.grad_out.double().permute(0, 3, 1, 2))
        self.out = out.detach().permute(0, 2, 3, 1)
        self.grad_in, self.grad_weight = grads[0].permute(0, 2, 3, 1), grads[1]

    @torch.no_grad()
    def check(self, kernel: Kernel, phase: str, relu: bool = False, tolerance: float | None = None) -> None:
        """Runs ``phase`` on buffers full of other numbers; the weight gradient must add to what is there."""
        tolerance = tolerance or TOLERANCE[self.shape.dtype]
        if phase == FORWARD:
            out = torch.full_like(self.grad_out, 7)
            kernel.forward(self.x, self.weight, self.bias, out, relu)
            assert error(out, self.out.clamp_min(0) if relu else self.out) < tolerance
        elif phase == INPUT_GRADIENT:
            grad_in = torch.full_like(self.x, 7)
            kernel.input_gradient(self.grad_out, self.weight, grad_in)
            assert error(grad_in, self.grad_in) < tolerance
        else:
            total = torch.ones_like(self.weight)
            kernel.weight_gradient(self.x, self.grad_out, total)
            assert error(total, self.grad_weight + 1) < tolerance


@st.composite
def shapes(draw: st.DrawFn) -> ConvolutionShape:
    kernel = draw(
        st.sampled_from([(1, 1), (2, 2), (3, 3), (5, 5), (7, 7), (3, 2), (1, 4), (1, 7), (3, 1), (5, 1)])
    )
    stride = draw(st.sampled_from([(1, 1), (1, 1), (2, 2), (4, 4), (2, 1), (3, 2)]))
    padding: Any = tuple(draw(st.integers(0, size // 2 + 1)) for size in kernel)
    size: Any = tuple(draw(st.integers(max(1, k - 2 * p), 13)) for k, p in zip(kernel, padding, strict=True))
    covering = draw(st.booleans()) and draw(st.booleans())
    return ConvolutionShape(
        batch=draw(st.sampled_from([1, 5])),
        in_channels=draw(st.integers(1, 9)),
        out_channels=draw(st.integers(1, 9)),
        in_size=kernel if covering else size,
        kernel=kernel,
        stride=stride,
        padding=(0, 0) if covering else padding,
        dtype=draw(st.sampled_from([torch.float64, torch.float32])),
    )


@settings(max_examples=120, deadline=None)
@given(shapes(), st.integers(0, 1000), st.booleans(), st.sampled_from(WITH_AND_WITHOUT))
def test_every_candidate_of_any_shape(shape: ConvolutionShape, seed: int, relu: bool, compiler: str) -> None:
    reference = Reference(shape, seed)
    with c_compiler(compiler):
        for phase in PHASES:
            for make in candidates(shape, phase).values():
                reference.check(make(Memory()), phase, relu)


@needs_compiler
def test_rows_that_no_window_reaches_leave_others_alone() -> None:
    """By one thread, from the first row to the last: zeros in front of a row would undo those before it."""
    shape = ConvolutionShape(1, 4, 4, (9, 1), (7, 7), (4, 4), (0, 4), torch.float64)
    reference = Reference(shape, 0)
    with threads(1):
        for make in candidates(shape, INPUT_GRADIENT).values():
            reference.check(make(Memory()), INPUT_GRADIENT)


@needs_compiler
@settings(max_examples=40, deadline=None)
@given(shapes(), st.integers(0, 1000), st.integers(1, 3))
def test_windows_are_added_up_a_piece_at_a_time(shape: ConvolutionShape, seed: int, count: int) -> None:
    """By any number of threads, into a part of a larger image."""
    assume(windows.fits(shape))
    reference = Reference(shape, seed)
    by_tap = reference.weight.permute(0, 2, 3, 1).reshape(shape.out_channels, -1)
    found = reference.grad_out @ by_tap
    beside = torch.zeros(*shape.input_shape[:3], shape.in_channels + 2, dtype=shape.dtype)
    grad_in = beside[..., : shape.in_channels]
    cut = seed % (shape.out_size[0] + 1)
    with threads(count):
        for part in (slice(0, cut), slice(cut, shape.out_size[0])):
            if part.start < part.stop:
                windows.add_windows(found[:, part].contiguous(), shape, part.start, grad_in)
    assert error(grad_in, reference.grad_in) < TOLERANCE[shape.dtype]
    assert not bool(beside[..., shape.in_channels :].any())


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("piece_bytes", [1, 3000])
@pytest.mark.parametrize("batch", [1, 5])
@pytest.mark.parametrize("compiler", WITH_AND_WITHOUT)
def test_work_cut_into_small_pieces(
    phase: str, piece_bytes: int, batch: int, compiler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if compiler:
        monkeypatch.setenv("CC", compiler)
    for module in (
        "shapes._COLUMN_BYTES",
        "shapes._FRESH_COLUMN_BYTES",
        "kernels.onednn._RESULT_BYTES",
        "kernels.onednn._ADDED_BYTES",
    ):
        monkeypatch.setattr(f"convnet_benchmarks.nets.engine.{module}", piece_bytes)
    monkeypatch.setattr("convnet_benchmarks.nets.engine.shapes._POSITIONS", 1)
    monkeypatch.setattr("convnet_benchmarks.nets.engine.kernels.bilinear.TILES_PER_PIECE", 4)
    monkeypatch.setattr("convnet_benchmarks.nets.engine.kernels.bilinear.PIECE_BYTES", 1)
    monkeypatch.setattr("convnet_benchmarks.nets.engine.kernels.operator_tiles.STEP_BYTES", 50 * piece_bytes)
    for stride in ((1, 1), (2, 2)):
        shape = ConvolutionShape(batch, 3, 4, (11, 10), (3, 3), stride, (1, 0), torch.float64)
        reference = Reference(shape, seed=1)
        for make in candidates(shape, phase).values():
            reference.check(make(Memory()), phase)
        single = replace(shape, dtype=torch.float32)  # oneDNN's products have no double precision
        reference = Reference(single, seed=1)
        for name, make in candidates(single, phase).items():
            if name.startswith("mm("):
                reference.check(make(Memory()), phase, tolerance=3e-5)


@pytest.mark.parametrize("packs", [True, False])
def test_products_by_onednn_are_offered_for_many_channels(
    packs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape = ConvolutionShape(1, 130, 128, (6, 6), (3, 3), (1, 1), (1, 1), torch.float32)
    reference = Reference(shape, seed=6)
    if not packs:
        monkeypatch.setattr(
            "convnet_benchmarks.nets.engine.kernels.onednn.has_packed_linear", lambda dtype: False
        )
    library = "packed" if packs else "onednn"
    for phase in (FORWARD, INPUT_GRADIENT):
        made = {name: make for name, make in candidates(shape, phase).items() if "onednn" in name}
        made |= {name: make for name, make in candidates(shape, phase).items() if "packed" in name}
        assert f"winograd(3, {library})" in made
        for make in made.values():
            reference.check(make(Memory()), phase, tolerance=3e-5)


def test_packed_weights_follow_the_weight_and_can_be_checked() -> None:
    shape = ConvolutionShape(2, 5, 6, (7, 6), (3, 3), (1, 1), (1, 1), torch.float32)
    reference = Reference(shape, seed=7)
    kernel = BilinearConvolution(shape, Memory(), winograd(3, 3), "packed")
    for kept in (kernel._packed_forward, kernel._packed_backward):
        kept.checked = True
    for phase in (FORWARD, INPUT_GRADIENT):
        reference.check(kernel, phase)
        reference.check(kernel, phase)  # from the kept copy
    other = Reference(shape, seed=8)
    with torch.no_grad():
        reference.weight.copy_(other.weight)  # counted by PyTorch
    reference.out = F.conv2d(
        reference.x.double().permute(0, 3, 1, 2), other.weight.double(), reference.bias.double(), 1, 1
    ).permute(0, 2, 3, 1)
    reference.check(kernel, FORWARD)
    kernel.input_gradient(reference.grad_out, reference.weight, torch.empty_like(reference.x))
    reference.weight.numpy()[:] = 0
    for step in (
        lambda: kernel.forward(reference.x, reference.weight, None, reference.out.float(), False),
        lambda: kernel.input_gradient(reference.grad_out, reference.weight, torch.empty_like(reference.x)),
    ):
        with pytest.raises(StaleWeightError):
            step()
    kernel.invalidate()
    out = torch.ones_like(reference.grad_out)
    kernel.forward(reference.x, reference.weight, None, out, False)
    assert out.abs().max() == 0


@pytest.mark.parametrize(("few_tiles", "product_bytes"), [(0, 1), (0, 1 << 20), (100, 1)])
def test_the_weight_gradient_in_blocks_and_whole(
    few_tiles: float, product_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("convnet_benchmarks.nets.engine.kernels.bilinear.FEW_TILES", few_tiles)
    monkeypatch.setattr("convnet_benchmarks.nets.engine.kernels.bilinear.PRODUCT_BYTES", product_bytes)
    monkeypatch.setattr("convnet_benchmarks.nets.engine.kernels.bilinear.BLOCK_BYTES", 1)
    monkeypatch.setattr("convnet_benchmarks.nets.engine.kernels.operator_tiles.WEIGHT_BYTES", 1)
    shape = ConvolutionShape(2, 37, 20, (11, 10), (3, 3), (1, 1), (1, 0), torch.float64)
    reference = Reference(shape, seed=5)
    for transforms in (winograd(3), winograd(5), fft(4, 3)):
        for pieces_of in (4, 1000):
            for compiler in WITH_AND_WITHOUT:
                with c_compiler(compiler):
                    kernel = BilinearConvolution(shape, Memory(), transforms, tiles_per_piece=pieces_of)
                    reference.check(kernel, WEIGHT_GRADIENT)


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("kernel", [(3, 3), (1, 7), (7, 1)])
@pytest.mark.parametrize("batch", [1, 2])
def test_input_gradients_of_overlapping_tiles(batch: int, kernel: Pair, count: int) -> None:
    """In one piece and in several, with more channels than one thread takes."""
    padding = (kernel[0] // 2, kernel[1] // 2 + 1)
    shape = ConvolutionShape(batch, 37, 5, (14, 15), kernel, (1, 1), padding, torch.float32)
    reference = Reference(shape, seed=6)
    for pieces_of in (4, 1000):
        for compiler in WITH_AND_WITHOUT:
            with threads(count), c_compiler(compiler):
                made = BilinearConvolution(shape, Memory(), winograd(4, kernel), tiles_per_piece=pieces_of)
                reference.check(made, INPUT_GRADIENT)


@pytest.mark.parametrize("rows", [1, 5, 33])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_linear(rows: int, dtype: torch.dtype) -> None:
    shape = ConvolutionShape(rows, 1024, 256, (1, 1), (1, 1), (1, 1), (0, 0), dtype)
    reference = Reference(shape, seed=2)
    operands = (reference.x.flatten(1), reference.weight.flatten(1), reference.grad_out.flatten(1))
    x, weight, grad_out = operands
    for phase in PHASES:
        made = linear_candidates(rows, 1024, 256, dtype, phase)
        made |= linear_candidates(rows, 1024, 256, dtype, phase, keeps_copies=True)
        if phase == FORWARD:
            made |= linear_candidates(rows, 1024, 256, dtype, phase, for_inference=True)
        assert rows != 5 or phase == WEIGHT_GRADIENT or "mm(sliced 8)" in made
        for make in made.values():
            kernel = make(Memory())
            with torch.no_grad():
                if phase == FORWARD:
                    out = torch.empty_like(grad_out)
                    kernel.forward(x, weight, reference.bias, out, False)
                    found, exact = out, reference.out
                elif phase == INPUT_GRADIENT:
                    found, exact = torch.empty_like(x), reference.grad_in
                    kernel.input_gradient(grad_out, weight, found)
                else:
                    found, exact = torch.zeros_like(weight), reference.grad_weight
                    kernel.weight_gradient(x, grad_out, found)
            assert error(found, exact.reshape(found.shape)) < TOLERANCE[dtype]


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize(
    "geometry", [((3, 3), (1, 1), (1, 1)), ((7, 7), (2, 2), (0, 0)), ((1, 1), (1, 1), (0, 0))]
)
def test_bfloat16(phase: str, geometry: tuple[tuple[int, int], tuple[int, int], tuple[int, int]]) -> None:
    kernel, stride, padding = geometry
    shape = ConvolutionShape(5, 16, 24, (9, 11), kernel, stride, padding, torch.bfloat16)
    reference = Reference(shape, seed=3)
    for compiler in WITH_AND_WITHOUT:
        with c_compiler(compiler):
            made = candidates(shape, phase)
            assert not any(name.startswith("fft") for name in made)
            assert not compiled_products.why_not(torch.float32) or not any(map(is_bilinear, made))
            for name, make in made.items():
                tolerance = 5e-2 if is_bilinear(name) else None
                reference.check(make(Memory()), phase, tolerance=tolerance)


def matrix(tile_map: TileMap, size: Pair) -> Tensor:
    """The (R, rows * columns) matrix of a map of tiles of that size, from what it does to the unit tiles."""
    numbers = math.prod(size)
    found = torch.empty(tile_map.values, numbers, dtype=torch.float64)
    tile_map.apply(torch.eye(numbers, dtype=torch.float64), found, scratch_of(tile_map, numbers))
    return found


def scratch_of(tile_map: TileMap, count: int) -> Tensor:
    return torch.empty(tile_map.between * count, dtype=torch.float64)


TRANSFORMS = [
    *(winograd(tile, kernel) for kernel, tiles in OUTPUT_TILES.items() for tile in tiles),
    *(winograd(tile, (1, kernel)) for kernel, tiles in LINE_TILES.items() for tile in tiles),
    *(winograd(tile, (kernel, 1)) for kernel, tiles in LINE_TILES.items() for tile in tiles),
    *(fft(tile, kernel) for tile, kernel in ((2, 3), (3, 3), (5, 4), (6, 7), (10, 7), (9, 5))),
]


@pytest.mark.parametrize("transforms", TRANSFORMS, ids=lambda transforms: transforms.name)
def test_the_transforms_are_exact_algorithms(transforms: TileTransforms) -> None:
    """Their three maps compute the correlation of any tile with any weight."""
    generator = torch.Generator().manual_seed(0)
    size, kernel, m = transforms.input_tile, transforms.kernel, transforms.output_tile
    tile = torch.randn(*size, generator=generator, dtype=torch.float64)
    weight = torch.randn(*kernel, generator=generator, dtype=torch.float64)
    of_weight = matrix(transforms.weight, kernel) @ weight.flatten()
    product = of_weight * (matrix(transforms.input, size) @ tile.flatten())
    exact = F.conv2d(tile[None, None], weight[None, None]).view(m)
    assert error((matrix(transforms.output_adjoint, m).t() @ product).view(m), exact) < 1e-12
    assert transforms.products == transforms.input.values == transforms.output_adjoint.values


@pytest.mark.parametrize("transforms", TRANSFORMS, ids=lambda transforms: transforms.name)
def test_the_adjoint_of_a_map_is_its_transpose(transforms: TileTransforms) -> None:
    sizes = (transforms.output_tile, transforms.kernel, transforms.input_tile)
    maps = (transforms.output_adjoint, transforms.weight, transforms.input)
    for tile_map, size in zip(maps, sizes, strict=True):
        found = torch.empty(math.prod(size), tile_map.values, dtype=torch.float64)
        scratch = scratch_of(tile_map, tile_map.values)
        tile_map.apply_adjoint(torch.eye(tile_map.values, dtype=torch.float64), found, scratch)
        assert error(found, matrix(tile_map, size).t()) < 1e-12


@pytest.mark.parametrize("transforms", TRANSFORMS, ids=lambda transforms: transforms.name)
def test_the_parts_of_a_map_are_the_map(transforms: TileTransforms) -> None:
    parts = transforms.weight.parts()
    assert len(parts) > 1 or transforms.products <= 8
    found = torch.cat([matrix(part, transforms.kernel) for part in parts])
    assert error(found, matrix(transforms.weight, transforms.kernel)) < 1e-12


def test_a_real_fourier_transform_multiplies_three_times_per_pair_of_frequencies() -> None:
    for tile, kernel in ((2, 3), (3, 3), (6, 7), (5, 4)):
        size = tile + kernel - 1
        own = 1 if size % 2 else 4
        assert fft(tile, kernel).products == own + 3 * (size**2 - own) // 2


@pytest.mark.slow
@pytest.mark.parametrize("compiler", WITH_AND_WITHOUT)
@pytest.mark.parametrize(("kernel", "channels"), [((3, 3), 512), ((5, 5), 128), ((1, 7), 192), ((7, 1), 192)])
def test_winograd_keeps_1e4_at_full_size(kernel: Pair, channels: int, compiler: str) -> None:
    padding = (kernel[0] // 2, kernel[1] // 2)
    shape = ConvolutionShape(8, channels, channels, (17, 17), kernel, (1, 1), padding, torch.float32)
    reference = Reference(shape, seed=4)
    with c_compiler(compiler):
        for tile in output_tiles(kernel):
            for phase in PHASES:
                made = BilinearConvolution(shape, Memory(), winograd(tile, kernel))
                reference.check(made, phase, tolerance=3e-5)


@given(st.integers(1, 9), st.integers(1, 40), st.integers(1, 200))
def test_pieces_cover_every_row_once(batch: int, rows: int, rows_per_piece: int) -> None:
    seen = torch.zeros(batch, rows)
    for images, part in pieces(batch, rows, rows_per_piece):
        seen[images, part] += 1
        assert (images.stop - images.start) * (part.stop - part.start) <= rows_per_piece
    assert bool((seen == 1).all())


def test_a_kernel_refuses_what_it_cannot_do() -> None:
    shape = ConvolutionShape(1, 3, 4, (9, 9), (3, 3), (2, 2), (0, 0), torch.float32)
    with pytest.raises(ValueError, match="needs stride 1"):
        BilinearConvolution(shape, Memory(), winograd(2))
