"""Convolutions that multiply windows where they lie in the images."""

from dataclasses import replace

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from convnet_benchmarks.nets.engine.kernels.windowed_product import WindowedProduct
from convnet_benchmarks.nets.engine.memory import Memory
from convnet_benchmarks.nets.engine.shapes import ConvolutionShape
from tests.helpers.engine_conditions import needs_compiler, threads
from tests.nets.engine.test_compiled_layers import beside, sliced
from tests.nets.engine.test_kernels import TOLERANCE, Reference, error, shapes

pytestmark = needs_compiler


@settings(max_examples=12, deadline=None)
@given(
    shapes().filter(lambda shape: not shape.is_pointwise),
    st.sampled_from(
        [1, 9, 90, 260]
    ),  # a run of neighbours is shorter, and longer, than what is multiplied at once
    st.integers(1, 40),
    st.booleans(),
    st.integers(1, 3),
)
def test_windows_of_images_wherever_they_lie(
    shape: ConvolutionShape, in_channels: int, out_channels: int, relu: bool, count: int
) -> None:
    shape = replace(shape, in_channels=in_channels, out_channels=out_channels)
    reference = Reference(shape, 0)
    kernel = WindowedProduct(shape, Memory())
    with threads(count), torch.no_grad():
        for x in (reference.x, sliced(reference.x), reference.x.clone()):
            out = sliced(torch.ones(shape.output_shape, dtype=shape.dtype))
            kernel.forward(x, reference.weight, reference.bias, out, relu, add=True)
            exact = reference.out + 1
            assert error(out, exact.clamp_min(0) if relu else exact) < TOLERANCE[shape.dtype]
            assert bool((beside(out) == 7).all())
