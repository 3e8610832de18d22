"""Which algorithms can run a layer, by name.

The part of a name before the bracket is its family, which ``backend=`` can force; the bracket names a
variant.
"""

import math
import re
from collections.abc import Callable, Collection, Mapping
from functools import partial

import torch

from convnet_benchmarks.nets.channels_last import is_unsafe
from convnet_benchmarks.nets.engine.kernels import onednn
from convnet_benchmarks.nets.engine.kernels.bilinear import BilinearConvolution
from convnet_benchmarks.nets.engine.kernels.compiled import few_rows as compiled_few_rows
from convnet_benchmarks.nets.engine.kernels.compiled import products as compiled_products
from convnet_benchmarks.nets.engine.kernels.fft_convolution import fft
from convnet_benchmarks.nets.engine.kernels.im2col_gemm import Im2colGemm
from convnet_benchmarks.nets.engine.kernels.kernel import Kernel
from convnet_benchmarks.nets.engine.kernels.matrix_product import (
    CoveringConvolution,
    MatrixProduct,
    PointwiseConvolution,
    ProductOfFewRows,
    ProductOfPanels,
    SlicedProduct,
)
from convnet_benchmarks.nets.engine.kernels.strided_input_gradient import StridedInputGradient
from convnet_benchmarks.nets.engine.kernels.tile_transforms import TileTransforms
from convnet_benchmarks.nets.engine.kernels.windowed_product import WindowedProduct
from convnet_benchmarks.nets.engine.kernels.winograd import output_tiles, winograd
from convnet_benchmarks.nets.engine.memory import Memory
from convnet_benchmarks.nets.engine.shapes import ConvolutionShape
from convnet_benchmarks.nets.phases import FORWARD, INPUT_GRADIENT, WEIGHT_GRADIENT

# Winograd cancels large terms. In bfloat16, compiled code transforms in float32, and rounds the
# factors of the products: the errors are 3, 5 and 8 times that of one rounding.
_BFLOAT16_TILES = (2, 3, 4)
_COMPILED_ROWS = 32  # fewer are not worth packing a weight for
_LARGEST_FFT_TILE = 24
_ONEDNN_CHANNELS = 128  # below, the cost of a call per matrix product is too high
_PACKED_COPIES = 6  # times the weight's memory: at most this for packed copies for both directions
_PANEL_COPIES = 8  # the same for panels, which gain more
_PANEL_BYTES = 36 << 20  # for both, a layer may use this much in any case


KernelMaker = Callable[[Memory], Kernel]
ConvolutionMaker = Callable[[ConvolutionShape, Memory], Kernel]


def family(name: str) -> str:
    return name.partition("(")[0]


def is_bilinear(name: str) -> bool:
    return family(name) in ("winograd", "fft")


def linear_candidates(
    rows: int,
    in_features: int,
    out_features: int,
    dtype: torch.dtype,
    phase: str,
    for_inference: bool = False,
    keeps_copies: bool = False,
) -> "dict[str, Callable[[Memory], MatrixProduct]]":
    """Returns ways to run a Linear layer of (rows, in_features) inputs. ``for_inference``: the weight does
    not change, and there is only the forward phase. ``keeps_copies``: in training, too, a copy of the weight
    may be kept for each direction."""
    found: dict[str, Callable[[Memory], MatrixProduct]] = {"mm": lambda memory: MatrixProduct("blas")}
    if not compiled_products.why_not(dtype):
        if rows >= _COMPILED_ROWS:
            found["mm(compiled)"] = lambda memory: MatrixProduct("compiled")
        if phase != WEIGHT_GRADIENT and rows > 1 and (for_inference or keeps_copies):
            found["mm(panels)"] = ProductOfPanels
    if phase == WEIGHT_GRADIENT:
        return found
    if rows in compiled_few_rows.ROWS and not compiled_products.why_not(dtype):
        found["mm(few rows)"] = ProductOfFewRows
    if onednn.has_linear(dtype):
        found["mm(onednn)"] = lambda memory: MatrixProduct("onednn")
    sliced = out_features if phase == FORWARD else in_features
    for slices in (8, 32):
        sliced_well = sliced % slices == 0 and sliced // slices >= 32
        if rows > 1 and rows in compiled_few_rows.ROWS and sliced_well:
            found[f"mm(sliced {slices})"] = partial(SlicedProduct, slices)
    return found


def candidates(shape: ConvolutionShape, phase: str, for_inference: bool = False) -> dict[str, KernelMaker]:
    """Returns the ways to run one phase of a convolution, the simplest first. Raises ValueError for an
    invalid shape."""
    shape.check()
    found = _algorithms(shape, phase, for_inference)
    return {name: partial(make, shape) for name, make in found.items()}


def _algorithms(shape: ConvolutionShape, phase: str, for_inference: bool) -> dict[str, ConvolutionMaker]:
    found: dict[str, ConvolutionMaker] = {}
    if shape.is_pointwise or shape.covers_input:
        for name, make in linear_candidates(
            shape.positions,
            shape.in_channels * shape.taps,
            shape.out_channels,
            shape.dtype,
            phase,
            for_inference,
            keeps_copies=shape.is_pointwise,
        ).items():
            found[name] = partial(_as_product, make)
    else:
        found["mm(tap)"] = partial(Im2colGemm, order="tap")
        found["mm(channel)"] = partial(Im2colGemm, order="channel")
        if not compiled_products.why_not(shape.dtype):
            found["mm(tap, compiled)"] = partial(Im2colGemm, order="tap", library="compiled")
            if phase == FORWARD:
                found["mm(windows)"] = WindowedProduct
            if phase == WEIGHT_GRADIENT:
                found["mm(channel, compiled)"] = partial(Im2colGemm, order="channel", library="compiled")
        if onednn.has_linear(shape.dtype):
            found["mm(tap, onednn)"] = partial(Im2colGemm, order="tap", library="onednn")
            if phase == WEIGHT_GRADIENT:
                found["mm(channel, onednn)"] = partial(Im2colGemm, order="channel", library="onednn")
        if phase == INPUT_GRADIENT and shape.stride != (1, 1):
            found["mm(phases)"] = partial(StridedInputGradient, inner="mm")
    found.update(_direct(shape, phase))
    is_square = shape.kernel[0] == shape.kernel[1] > 1
    if shape.stride == (1, 1) and (is_square or output_tiles(shape.kernel)) and not shape.covers_input:
        found.update(_bilinear(shape, phase, for_inference))
    return found


def _named(name: str, by: str) -> str:
    return f"{name[:-1]}, {by})" if name.endswith(")") else f"{name}({by})"


def is_compiled(name: str) -> bool:
    """Returns whether compiled code does all the work, so that an inference plan needs no Python for it."""
    return re.search(r"\b(compiled|panels|windows|rows)\)$", name) is not None


def _as_product(make: "Callable[[Memory], MatrixProduct]", shape: ConvolutionShape, memory: Memory) -> Kernel:
    if shape.is_pointwise:
        return PointwiseConvolution(make(memory))
    return CoveringConvolution(shape, memory, make(memory))


def _direct(shape: ConvolutionShape, phase: str) -> dict[str, ConvolutionMaker]:
    if is_unsafe(shape.kernel[1], shape.stride[1], shape.padding[1], 1, shape.out_size[1]):
        return {}
    found: dict[str, ConvolutionMaker] = {"direct": onednn.DirectConvolution}
    reversible = all(pad < kernel for pad, kernel in zip(shape.padding, shape.kernel, strict=True))
    # PyTorch 2.13 misreads a packed weight if the result is one pixel of one channel.
    result = shape.out_size if phase == FORWARD else shape.in_size
    packable = result != (1, 1) and (
        phase == FORWARD or (phase == INPUT_GRADIENT and shape.stride == (1, 1) and reversible)
    )
    if packable and onednn.has_packed_weights(shape.dtype):
        found["direct(packed)"] = onednn.PackedDirectConvolution
    if phase == INPUT_GRADIENT and shape.stride != (1, 1):
        found["direct(phases)"] = partial(StridedInputGradient, inner="direct")
    return found


def _bilinear(shape: ConvolutionShape, phase: str, for_inference: bool) -> dict[str, ConvolutionMaker]:
    if shape.dtype is torch.bfloat16:
        with_compiler = shape.kernel == (3, 3) and not compiled_products.why_not(torch.float32)
        return {
            f"winograd({tile})": partial(BilinearConvolution, transforms=winograd(tile))
            for tile in (_BFLOAT16_TILES if with_compiler else ())
        }
    by_compiler = not compiled_products.why_not(shape.dtype)
    # For larger kernels PyTorch's operators are faster at FFT.
    tiles = output_tiles(shape.kernel) if min(shape.kernel) <= 3 or by_compiler else ()
    transforms = [winograd(tile, shape.kernel) for tile in tiles]
    width, is_square = shape.kernel[1], shape.kernel[0] == shape.kernel[1]
    fourier = (fft(tile, width) for tile in range(2, _LARGEST_FFT_TILE - width + 2) if is_square)
    transforms += sorted(fourier, key=lambda one: bilinear_operations(shape, one))[:2]
    found: dict[str, ConvolutionMaker] = {
        one.name: partial(BilinearConvolution, transforms=one) for one in transforms
    }
    if by_compiler:
        for one in transforms:
            found[_named(one.name, "compiled")] = partial(
                BilinearConvolution, transforms=one, library="compiled"
            )
            if for_inference or _worth_panels(shape, one, phase):
                found[_named(one.name, "panels")] = partial(
                    BilinearConvolution, transforms=one, library="panels"
                )
    large = min(shape.in_channels, shape.out_channels) >= _ONEDNN_CHANNELS
    if large and phase != WEIGHT_GRADIENT and onednn.has_linear(shape.dtype):
        packs = onednn.has_packed_linear(shape.dtype)
        library = "packed" if packs else "onednn"
        for one in transforms:
            if packs and 2 * one.products > _PACKED_COPIES * shape.taps:
                continue
            found[_named(one.name, library)] = partial(BilinearConvolution, transforms=one, library=library)
    return found


def _worth_panels(shape: ConvolutionShape, transforms: TileTransforms, phase: str) -> bool:
    """Returns whether a training phase is worth a packed copy of the transformed weight, and one for the
    other direction."""
    copies = 2 * transforms.products
    weight_bytes = shape.in_channels * shape.out_channels * shape.dtype.itemsize
    small = copies <= _PANEL_COPIES * shape.taps or copies * weight_bytes <= _PANEL_BYTES
    return phase != WEIGHT_GRADIENT and small


def bilinear_operations(shape: ConvolutionShape, transforms: TileTransforms) -> int:
    """Counts the multiply-adds of one phase, counting those of the transforms' thin matrix products twice."""
    of_transforms, of_products = _multiply_adds(shape, transforms)
    return _tiles(shape, transforms) * (of_products + 2 * of_transforms)


def _tiles(shape: ConvolutionShape, transforms: TileTransforms) -> int:
    along_axes = zip(shape.out_size, transforms.output_tile, strict=True)
    return shape.batch * math.prod(-(-size // tile) for size, tile in along_axes)


def _multiply_adds(shape: ConvolutionShape, transforms: TileTransforms) -> tuple[int, int]:
    """Returns a tile's multiply-adds: for its transforms, and for its part of the products."""
    by_input = transforms.input.multiply_adds * shape.in_channels
    by_output = transforms.output_adjoint.multiply_adds * shape.out_channels
    return by_input + by_output, transforms.products * shape.in_channels * shape.out_channels


def of_family(found: Mapping[str, KernelMaker], wanted: str) -> dict[str, KernelMaker]:
    return {name: make for name, make in found.items() if family(name) == wanted}


# Candidates that "auto" does not time if one of those listed is available: it was never slower.
_SURPASSED = {
    "direct": ("direct(packed)",),
    "mm(channel)": ("direct(packed)",),
    "mm(tap, onednn)": ("direct(packed)", "mm(tap, compiled)"),
    "mm(compiled)": ("mm(panels)",),
    "mm(tap, compiled)": ("mm(windows)",),
    "mm(channel, onednn)": ("mm(channel, compiled)",),
    "winograd(2)": ("winograd(3)",),
    "winograd(2, onednn)": ("winograd(3)",),
    "winograd(2, packed)": ("winograd(3)",),
}


# The cost, in multiply-adds, of writing and reading a transformed or copied element of an image; of packing
# and reading one of a weight, which does not fit in the caches; and of reading a packed one.
_OF_IMAGE, _OF_WEIGHT, _OF_PACKED = 20, 32, 14
# The first of these that is available is usually the fastest where Winograd and FFT are not.
_LIKELY = (
    "mm(few rows)",
    "mm(windows)",
    "mm(panels)",
    "direct(packed)",
    "mm(channel, compiled)",
    "mm(tap, compiled)",
    "mm(compiled)",
)
_FEW_CHANNELS = 4  # of images, as a net's input has
_LIKELY_OF_FEW_CHANNELS = {
    WEIGHT_GRADIENT: ("direct", "mm(tap, compiled)"),
    INPUT_GRADIENT: ("mm(tap, compiled)",),
}


def likely_fastest(found: Collection[str], phase: str, shape: ConvolutionShape | None = None) -> str:
    """Returns the candidate of ``found`` that is usually the fastest or close to it, for when none can be
    timed. ``shape``: that of a convolution.

    ``python -m benchmarks.likely_kernels`` measures how close.
    """
    few = shape is not None and shape.in_channels <= _FEW_CHANNELS
    likely = (*(_LIKELY_OF_FEW_CHANNELS.get(phase, ()) if few else ()), *_LIKELY)
    product = next((name for name in likely if name in found), next(iter(found)))
    if shape is not None:
        compiled = (name for name in found if is_bilinear(name) and is_compiled(name))
        costs = {name: _likely_cost(shape, transforms_of(name, shape), _of_weight(name)) for name in compiled}
        if costs and min(costs.values()) < _product_cost(shape, product):
            return min(costs, key=lambda name: costs[name])
    return product


def transforms_of(name: str, shape: ConvolutionShape) -> TileTransforms:
    """Returns the transforms in a candidate's name."""
    found = re.search(r"\((\d+)", name)
    assert found is not None
    tile = int(found[1])
    return winograd(tile, shape.kernel) if family(name) == "winograd" else fft(tile, shape.kernel[1])


def _of_weight(name: str) -> int:
    """Returns what a number of the weight costs a compiled candidate."""
    return _OF_PACKED if re.search(r"\b(panels|windows)\)$", name) else _OF_WEIGHT


def _product_cost(shape: ConvolutionShape, name: str) -> int:
    """Estimates the cost of a phase by matrix products, before which im2col copies all windows."""
    by_columns = name.startswith(("mm(tap", "mm(channel"))
    copied = shape.positions * shape.taps * shape.in_channels if by_columns else 0
    weight = shape.taps * shape.in_channels * shape.out_channels
    return shape.multiply_adds + _OF_IMAGE * copied + _of_weight(name) * weight


def _likely_cost(shape: ConvolutionShape, transforms: TileTransforms, of_weight: int) -> int:
    """Estimates the cost of a phase, in multiply-adds of a matrix product."""
    channels = shape.in_channels + shape.out_channels
    of_tile = sum(_multiply_adds(shape, transforms)) + _OF_IMAGE * transforms.products * channels
    weight = transforms.products * shape.in_channels * shape.out_channels
    return _tiles(shape, transforms) * of_tile + of_weight * weight


def worth_timing(
    found: Mapping[str, KernelMaker], few_rows: bool, for_inference: bool = False
) -> dict[str, KernelMaker]:
    """Returns the candidates among which "auto" chooses. ``few_rows``: a matrix product with one row per
    image, whose weight is so large that it must not be copied."""
    winograd_applies = any(family(name) == "winograd" for name in found)

    def surpassed(name: str) -> bool:
        # Leaving compiled code for it costs more than it may gain with few columns.
        unlikely = for_inference and not few_rows and name in ("mm", "mm(onednn)") and "mm(panels)" in found
        return (
            unlikely
            or any(better in found for better in _SURPASSED.get(name, ()))
            or (is_bilinear(name) and _named(name, "compiled") in found)
            or any(name.removesuffix(by) + ", panels)" in found for by in (", compiled)", ", packed)"))
        )

    return {
        name: make
        for name, make in found.items()
        if not surpassed(name)
        and not (family(name) == "fft" and winograd_applies)
        and not (family(name) == "direct" and few_rows)
    }
