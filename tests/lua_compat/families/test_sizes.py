"""Sizes that do not fit: PyTorch would repeat what is too small; Torch7 and th refuse it."""

from pathlib import Path

import pytest

from tests.helpers.commands import run_lua

# Layers of one input, with its sizes
LAYERS = {
    "transfer": [
        ("Tanh()", "5, 4"), ("Sigmoid()", "5, 4"), ("ReLU()", "5, 4"), ("ELU()", "5, 4"),
        ("PReLU(4)", "5, 4"), ("PReLU()", "5, 4"), ("SoftMax()", "5, 4"),
        ("LogSigmoid()", "5, 4"), ("GatedLinearUnit()", "5, 4"),
    ],
    "normalization": [
        ("Normalize(2)", "5, 4"), ("Normalize(1)", "5, 4"), ("SpatialCrossMapLRN(3)", "2, 4, 3, 3"),
        ("BatchNormalization(4)", "5, 4"),
    ],
    "upsampling": [
        ("SpatialUpSamplingNearest(2)", "2, 2, 3, 3"), ("SpatialUpSamplingBilinear(2)", "2, 2, 3, 3"),
        ("PixelShuffle(2)", "2, 8, 3, 3"),
    ],
    "padding": [
        ("SpatialZeroPadding(1, 2, 1, 1)", "2, 2, 3, 3"),
        ("SpatialReflectionPadding(1, 1, 1, 1)", "2, 2, 3, 3"),
        ("SpatialReplicationPadding(1, 1, 1, 1)", "2, 2, 3, 3"),
    ],
    "similarity": [("Cosine(4, 3)", "5, 4"), ("Euclidean(4, 3)", "5, 4")],
    "convolution": [("TemporalConvolution(4, 3, 2)", "6, 4"), ("TemporalSubSampling(4, 2, 2)", "6, 4")],
    "shape": [("Replicate(3)", "5, 4"), ("Replicate(3, 2)", "5, 4")],
}  # fmt: skip


@pytest.mark.parametrize("family", LAYERS)
def test_a_gradient_that_is_too_small_is_refused(tmp_path: Path, family: str) -> None:
    """The first slice of a gradOutput along any dimension, and its first element."""
    cases = ", ".join(f"{{ '{layer}', {sizes} }}" for layer, sizes in LAYERS[family])
    run_lua(
        tmp_path,
        f"""
        require 'nn'
        for _, case in ipairs{{ {cases} }} do
           local layer = loadstring('return nn.' .. case[1])()
           local x = torch.rand(unpack(case, 2)):add(0.1)
           local y = layer:forward(x):clone()
           local wrong = {{ y:view(-1):narrow(1, 1, 1) }}
           for d = 1, y:dim() do
              if y:size(d) > 1 then wrong[#wrong + 1] = y:narrow(d, 1, 1):clone() end
           end
           for _, gradient in ipairs(wrong) do
              local what = case[1] .. ' takes ' .. table.concat(gradient:size():totable(), 'x')
              assert(not pcall(layer.updateGradInput, layer, x, gradient), what)
              if layer.gradWeight then
                 local before = layer.gradWeight:clone()
                 assert(not pcall(layer.accGradParameters, layer, x, gradient, 1), what)
                 assert(layer.gradWeight:equal(before), what)
              end
           end
           layer:forward(x)
           assert(layer:backward(x, y):isSameSizeAs(x))
        end
        """,
    )


@pytest.mark.parametrize("elements", [4, 20000])
def test_a_gradient_of_other_sizes_is_read_element_by_element(tmp_path: Path, elements: int) -> None:
    run_lua(
        tmp_path,
        """
        require 'nn'
        local n = tonumber(arg[1])
        for _, kind in ipairs{ 'torch.FloatTensor', 'torch.DoubleTensor' } do
           for _, name in ipairs{ 'Sigmoid', 'ReLU', 'ELU', 'SoftPlus', 'HardTanh', 'LeakyReLU', 'Abs', 'Exp',
              'Log', 'HardShrink', 'SoftShrink', 'LogSigmoid', 'SoftSign', 'PReLU', 'RReLU' } do
              local layer = nn[name]():type(kind)
              layer:evaluate()
              local x, g = torch.rand(n, 1):type(kind), torch.rand(n):type(kind)
              layer:forward(x)
              local same = layer:backward(x, g:view(n, 1)):clone()
              local other = layer:backward(x, g)
              assert(other:isSameSizeAs(x) and other:equal(same), name)
              assert(not pcall(layer.backward, layer, x, g:narrow(1, 1, n / 2)), name)
           end
           for _, name in ipairs{ 'Tanh', 'Sqrt', 'Square' } do
              local layer = nn[name]():type(kind)
              local x = torch.rand(n, 1):type(kind)
              layer:forward(x)
              local ok, problem = pcall(layer.backward, layer, x, torch.rand(n):type(kind))
              assert(not ok and problem:find 'gradOutput shapes do not match', problem)
           end
           for _, name in ipairs{ 'MSE', 'Abs', 'SmoothL1', 'SoftMargin', 'Margin', 'BCE',
              'HingeEmbedding' } do
              local criterion = nn[name .. 'Criterion']():type(kind)
              local x, y = torch.rand(n):type(kind), torch.rand(n, 1):type(kind)
              local loss, gradient = criterion:forward(x, y:view(n)), criterion:backward(x, y:view(n)):clone()
              assert(criterion:forward(x, y) == loss and criterion:backward(x, y):equal(gradient), name)
              assert(not pcall(criterion.forward, criterion, x, y:narrow(1, 1, n / 2)), name)
           end
        end
        """,
        str(elements),
    )


def test_two_inputs_have_as_many_elements(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        require 'nn'
        for _, layer in ipairs{ nn.PairwiseDistance(2), nn.DotProduct(), nn.CosineDistance() } do
           local a, b = torch.rand(5, 4), torch.rand(5, 4)
           for _, small in ipairs{ b:narrow(1, 1, 1), b:narrow(2, 1, 1), b[1], torch.rand(1) } do
              assert(not pcall(layer.forward, layer, { a, small }), torch.type(layer))
              assert(not pcall(layer.forward, layer, { small, a }), torch.type(layer))
           end
        end
        local criterion = nn.CosineEmbeddingCriterion()
        local a, b = torch.rand(3, 2), torch.rand(3, 2)
        for _, y in ipairs{ torch.ones(1), torch.ones(4), 1 } do
           local ok, problem = pcall(criterion.forward, criterion, { a, b }, y)
           assert(not ok and problem:find 'one element expected for each row', problem)
        end
        assert(not pcall(criterion.forward, criterion, { a, b[1] }, torch.ones(3)))
        """,
    )


def test_the_gradient_of_hinge_embedding_is_its_target(tmp_path: Path) -> None:
    """Whatever the target is; 0 where it is -1 and the input exceeds the margin. Torch7 printed these."""
    run_lua(
        tmp_path,
        """
        require 'nn'
        for _, kind in ipairs{ 'torch.FloatTensor', 'torch.DoubleTensor' } do
           local criterion = nn.HingeEmbeddingCriterion(0.5):type(kind)
           criterion.sizeAverage = false
           local x = torch.Tensor{ 0.25, 0.5, 0.75, 0.25, 0.75, 0.25 }:type(kind)
           local y = torch.Tensor{ -1, -1, -1, 1, 1, 0.5 }:type(kind)
           assert(criterion:backward(x, y):equal(torch.Tensor{ -1, -1, 0, 1, 1, 0.5 }:type(kind)))
        end
        """,
    )
