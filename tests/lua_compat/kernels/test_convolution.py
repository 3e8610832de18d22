"""Convolution and pooling of images under our th: every algorithm, and modules whose circumstances change."""

from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from convnet_benchmarks.nets.engine import shapes
from convnet_benchmarks.nets.engine.shapes import ConvolutionShape
from convnet_benchmarks.nets.phases import FORWARD, INPUT_GRADIENT, PHASES
from lua_compat.kernels import all_kernels
from lua_compat.kernels.nn.convolution import im2col
from lua_compat.kernels.workspace import Workspace
from lua_compat.runtime.state import Runtime

TOLERANCE = {torch.float32: 2e-5, torch.float64: 1e-12}

sizes = st.tuples(st.integers(1, 9), st.integers(1, 9))
small = st.tuples(st.integers(1, 6), st.integers(1, 6))
steps = st.tuples(st.integers(1, 3), st.integers(1, 3))
paddings = st.tuples(st.integers(0, 3), st.integers(0, 3))


def close(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Equal within the rounding of a's type, b being double."""
    return bool((a.double() - b).abs().max() <= TOLERANCE[a.dtype] * max(1.0, float(b.abs().max())))


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 4), st.integers(1, 4), st.integers(1, 5), sizes, small, steps, paddings,
    st.sampled_from([torch.float32, torch.float64]), st.sampled_from([100, 2000, 1 << 20]),
    st.sampled_from([1, 20, 768]), st.booleans(),
)  # fmt: skip
def test_every_algorithm_is_the_convolution(
    batch: int,
    planes: int,
    outputs: int,
    size: tuple[int, int],
    kernel: tuple[int, int],
    step: tuple[int, int],
    padding: tuple[int, int],
    dtype: torch.dtype,
    piece_bytes: int,
    positions: int,
    with_bias: bool,
) -> None:
    shape = ConvolutionShape(batch, planes, outputs, size, kernel, step, padding, dtype)
    if min(shape.out_size) < 1:
        return
    torch.manual_seed(0)
    x, weight = torch.randn(batch, planes, *size), torch.randn(outputs, planes, *kernel)
    bias = torch.randn(outputs) if with_bias else None
    wide_bias = None if bias is None else bias.double()
    expected = torch.conv2d(x.double(), weight.double(), wide_bias, step, padding)
    grad = torch.randn(expected.shape)
    grad_x, grad_weight, _ = torch.ops.aten.convolution_backward(
        grad.double(), x.double(), weight.double(), None, step, padding, (1, 1), False, (0, 0), 1,
        [True, True, False],
    )  # fmt: skip
    x, weight, grad = x.to(dtype), weight.to(dtype).flatten(1), grad.to(dtype)
    bias = None if bias is None else bias.to(dtype)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shapes, "_COLUMN_BYTES", piece_bytes)
        patch.setattr(shapes, "_POSITIONS", positions)
        patch.setattr(im2col, "_COPIED_BYTES", piece_bytes)
        for phase in PHASES:
            for name, make in im2col.candidates(shape, phase).items():
                algorithm = make(Workspace())
                if phase == FORWARD:
                    out = torch.full(expected.shape, 7, dtype=dtype)
                    algorithm.forward(x, weight, bias, out)
                    assert close(out, expected), name
                elif phase == INPUT_GRADIENT:
                    out = torch.full(x.shape, 7, dtype=dtype)
                    algorithm.input_gradient(grad, weight, out)
                    assert close(out, grad_x), name
                else:
                    out = torch.ones_like(weight)
                    algorithm.weight_gradient(x, grad, out)
                    assert close(out, grad_weight.flatten(1) + 1), name


@pytest.mark.parametrize(("planes", "size"), [(3, 9), (16, 60), (20, 45)])
@pytest.mark.parametrize("ceil", [False, True])
def test_max_pooling_finds_maxima_and_their_places(planes: int, size: int, ceil: bool) -> None:
    x = torch.randn(3, planes, size, size)
    out, places = torch.empty(0), torch.empty(0, dtype=torch.int64)
    all_kernels()["spatial_max_pooling"](Workspace(), out, places, x, 3, 2, 2, 2, 1, 1, ceil, 1, 1)
    values, indices = torch.nn.functional.max_pool2d(x, (2, 3), 2, 1, ceil_mode=ceil, return_indices=True)
    assert torch.equal(out, values) and torch.equal(places, indices + 1)
    assert out.is_contiguous() and places.is_contiguous()


@pytest.fixture
def own_tuning_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Large layers are timed when they are first met: not with the user's own picks."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "convnet-benchmarks" / "engine-tuning.json"


CHANGING = """
require 'nn'
torch.manualSeed(1)
local function check(net, x)
    local wide = net:clone():double()
    local y = net:forward(x)
    local g = y:clone():uniform(-1, 1)
    net:zeroGradParameters()
    local gx = net:backward(x, g)
    wide:zeroGradParameters()
    local expected = wide:forward(x:double())
    local expected_gx = wide:backward(x:double(), g:double())
    local function near(a, b) assert((a:double() - b):abs():max() <= 1e-5 * math.max(1, b:abs():max())) end
    near(y, expected)
    near(gx, expected_gx)
    near(net.gradWeight, wide.gradWeight)
    near(net.gradBias, wide.gradBias)
    assert(y:isContiguous() and gx:isContiguous())
end
for _, name in ipairs{ 'SpatialConvolution', 'SpatialConvolutionMM' } do
    local net, other = nn[name](16, 48, 3, 3, 1, 1, 1, 1):float(), nn[name](16, 48, 3, 3, 2, 2):float()
    local x = torch.FloatTensor(2, 16, 90, 90):uniform()
    check(net, x)                                        -- large enough for candidates to be timed
    check(other, x)
    check(net, x[1])                                     -- one image
    check(net, x[{ {}, {}, { 1, 40 }, { 11, 25 } }])     -- another size, not contiguous
    check(net, torch.FloatTensor(5, 16, 91, 90):uniform())
    local p = net.weight:data()
    for i = 0, net.weight:nElement() - 1 do p[i] = i % 7 - 3 end  -- behind PyTorch's back
    check(net, x)
    net.weight:apply(function(w) return w / 2 end)
    check(net, x)
    check(net:clone(), x)
    net:clearState()
    check(net, x)
    net:float():getParameters():mul(0.5)
    check(net, x)
end
"""


def test_modules_follow_their_weights_and_inputs(own_tuning_file: Path) -> None:
    assert Runtime().run_string(CHANGING) == 0
    assert "planes first" in own_tuning_file.read_text()


def test_memory_is_freed_with_the_modules(own_tuning_file: Path) -> None:
    """Only one block of scratch memory remains, whatever the number and size of the layers."""
    runtime = Runtime()
    before = runtime.collect()
    runtime.run_string(
        "require 'nn'\n"
        "for planes = 8, 32, 8 do\n"
        "    local net = nn.SpatialConvolutionMM(planes, planes, 5, 5):float()\n"
        "    local y = net:forward(torch.FloatTensor(4, planes, 40, 40):zero())\n"
        "    net:backward(torch.FloatTensor(4, planes, 40, 40):zero(), y)\n"
        "end"
    )
    assert runtime.collect() == before
    assert runtime.handles.workspace.memory.report().bytes < 4 * shapes.PIECE_BYTES


def test_sizes_that_do_not_fit_are_named() -> None:
    convolve = all_kernels()["spatial_convolution"]
    weight, out = torch.zeros(4, 3 * 5 * 5), torch.empty(0)
    with pytest.raises(ValueError, match=r"Calculated output size: \(4 x 0 x 2\). Output size is too small"):
        convolve(Workspace(), out, torch.zeros(3, 4, 6), weight, None, 5, 5, 1, 1, 0, 0)
    with pytest.raises(ValueError, match=r"\(4 x \d{19} x \d{19}\). Output size is too large"):
        convolve(Workspace(), out, torch.zeros(3, 4, 6), weight, None, 5, 5, 1, 1, 2**61, 2**61)
    with pytest.raises(ValueError, match=r"input.size\[0\] == 3"):
        convolve(Workspace(), out, torch.zeros(2, 9, 9), weight, None, 5, 5, 1, 1, 0, 0)
    gradient = all_kernels()["spatial_convolution_grad_input"]
    with pytest.raises(ValueError, match="Need gradOutput of dimension 3"):
        gradient(Workspace(), out, torch.zeros(3, 9, 9), torch.zeros(4, 5, 6), weight, 5, 5, 1, 1, 0, 0)
