"""Layers that came as packages with C code: stn, inn, the compiled parts of unsup and rnn."""

from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from lua_compat import run, t7
from tests.helpers.commands import run_lua, run_th
from tests.helpers.lua_golden import differences
from tests.helpers.places import GOLDEN

PACKAGES = GOLDEN / "packages"


def test_what_the_originals_computed(tmp_path: Path) -> None:
    out = tmp_path / "out.t7"
    assert run(PACKAGES / "probe_layers.lua", [str(out)]) == 0
    expected, got = t7.load(PACKAGES / "layers.t7").array(), t7.load(out).array()
    assert len(expected) == len(got) == 21
    for number, (a, b) in enumerate(zip(expected, got, strict=True)):
        assert not list(differences(a, b, 1e-12)), f"{a['name']}, case {number}"


def test_what_nnx_computed(tmp_path: Path) -> None:
    """To 1e-6: the original has places of samples in float32, and an approximate exponential in its tree."""
    out = tmp_path / "out.t7"
    assert run(PACKAGES / "probe_nnx.lua", [str(out)]) == 0
    expected, got = t7.load(PACKAGES / "nnx.t7").array(), t7.load(out).array()
    assert len(expected) == len(got) == 25
    for number, (a, b) in enumerate(zip(expected, got, strict=True)):
        assert not list(differences(a, b, 1e-6)), f"{a['name']}, case {number}"


def test_what_nnx_computed_of_planes() -> None:
    got = run_th(PACKAGES / "probe_nnx_planes.lua")
    assert (got.returncode, got.stderr) == (0, "")
    expected = (PACKAGES / "nnx_planes.txt").read_text().split()
    for word, wanted in zip(got.stdout.split(), expected, strict=True):
        assert word == wanted or abs(float(word) - float(wanted)) < 2e-5


def test_nnx_of_functions_and_what_passes(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        require 'nnx'
        local twice = nn.FunctionWrapper(function(self) self.k = 2 end,
           function(self, x) return x * self.k end, function(self, _, gradient) return gradient * self.k end)
        local x = torch.ones(2)
        assert(twice:forward(x):sum() == 4 and twice:backward(x, x):sum() == 4)
        local printed, real = {}, print
        function print(text) table.insert(printed, text) end
        nn.Probe('here'):forward(torch.Tensor{ { 1, 2 }, { 3, 6 } })
        print = real
        assert(table.concat(printed, '|', 2, 4) == '<here>.output|  + size = 2x2|  + mean = 3', printed[2])
        local ok, problem = pcall(nn.SpatialColorTransform, 'nonsense')
        assert(not ok and problem:find('transform required', 1, true))
        assert(not pcall(nn.SaturatedLU, 'x') and not pcall(nn.SpatialReSamplingEx, { mode = 'none' }))
        local hsl = nn.SpatialColorTransform('rgb2hsl')
        assert(hsl:forward(torch.ones(3, 1, 1)):view(-1):equal(torch.Tensor{ 0, 0, 1 }))
        """,
    )


def test_nnx_where_the_original_fails_or_needs_a_library(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        require 'nnx'
        -- an entry pushed from the front or the middle
        local push = nn.PushTable(1)
        local net = nn.Sequential():add(push):add(nn.SelectTable(1)):add(push:pull(1)):add(nn.JoinTable(1))
        local input = { torch.Tensor{ 1, 2 }, torch.Tensor{ 3 } }
        assert(net:forward(input):equal(torch.Tensor{ 1, 2, 3 }))
        local gradients = net:backward(input, torch.Tensor{ 4, 5, 6 })
        assert(gradients[1]:equal(torch.Tensor{ 4, 5 }) and gradients[2]:equal(torch.Tensor{ 6 }))
        assert(nn.MultiSoftMax():forward(torch.zeros(2, 4)):eq(0.25):all())
        net:float()
        assert(torch.type(push._gradInput) == 'torch.FloatTensor')

        -- CTC: all the ways through two steps of three classes that spell label 1
        local p = torch.Tensor{ { 0.5, 0.3, 0.2 }, { 0.1, 0.6, 0.3 } }
        local cost = -math.log(0.5 * 0.6 + 0.3 * 0.1 + 0.3 * 0.6)
        for _, first in ipairs{ false, true } do
           local criterion = nn.CTCCriterion(first)
           local acts = first and torch.log(p):view(1, 2, 3) or torch.log(p):view(2, 1, 3)
           assert(math.abs(criterion:forward(acts, { { 1 } }, torch.Tensor{ 2 }) - cost) < 1e-9)
           local analytic = criterion:backward(acts, { { 1 } })
           for i = 1, 6 do
              local flat = acts:clone():view(-1)
              flat[i] = flat[i] + 1e-6
              local slope = (criterion:forward(flat:viewAs(acts), { { 1 } }, torch.Tensor{ 2 }) - cost) / 1e-6
              assert(math.abs(slope - analytic:contiguous():view(-1)[i]) < 1e-4)
           end
        end
        assert(nn.CTCCriterion():forward(torch.log(p), { { 1 } }, torch.Tensor{ 2 }) - cost < 1e-9)
        assert(not pcall(function() nn.CTCCriterion():forward(p, { { 1 } }) end))
        """,
    )


def test_pooling_of_regions_and_of_random_pixels(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        require 'inn'
        torch.manualSeed(2)
        local images = torch.rand(2, 3, 8, 9)
        local regions = torch.Tensor{ { 1, 1, 1, 13, 17 }, { 2, 3, 5, 19, 17 }, { 2, 17, 15, 19, 17 } }
        local pool = inn.ROIPooling(3, 2):setSpatialScale(0.5)
        local pooled = pool:forward{ images, regions }:clone()
        local grad = torch.rand(pooled:size())
        local of_images, of_regions = unpack(pool:backward({ images, regions }, grad))
        assert(of_regions:isSameSizeAs(regions) and of_regions:abs():max() == 0)
        pool.v2 = false
        local old = pool:forward{ images, regions }:clone()

        -- each output is a pixel of its window, chosen in proportion to its value
        local stochastic = inn.SpatialStochasticPooling(2, 2, 2, 2)
        local input = torch.Tensor{ { { 0, 1, 5 }, { 3, 0, 0 }, { 2, 0, 7 } } }
        local times, n = torch.zeros(4), 2000
        for _ = 1, n do
           local chosen = stochastic:forward(input)
           assert(chosen[1][2][1] == 2 and chosen[1][2][2] == 7 and chosen[1][1][2] == 5)
           local value = chosen[1][1][1]
           times[value + 1] = times[value + 1] + 1
        end
        assert(times[1] == 0 and times[3] == 0 and math.abs(times[4] / n - 0.75) < 0.05)
        local gradient = stochastic:backward(input, torch.ones(1, 2, 2))
        assert(gradient:sum() == 4 and gradient[1][3][3] == 1 and gradient[1][1][3] == 1)
        stochastic:evaluate()
        local mean = stochastic:forward(input)
        assert(math.abs(mean[1][1][1] - 10 / 4) < 1e-6 and mean[1][2][2] == 7)

        -- the others
        local x = torch.rand(2, 3, 4, 4)
        local affine = inn.ConstAffine(3)
        affine.a:copy(torch.Tensor{ 1, 2, 3 })
        affine.b:fill(1)
        assert(((affine:forward(x)[2][3] - x[2][3] * 3 - 1):abs():max() < 1e-12))
        assert((affine:backward(x, x)[1][2] - x[1][2] * 2):abs():max() < 1e-12)
        local subtract = inn.MeanSubtraction(torch.ones(3, 4, 4))
        assert((subtract:forward(x) - x + 1):abs():max() < 1e-12 and subtract:forward(x[1]):dim() == 3)
        assert(inn.SpatialPyramidPooling({ 2, 2 }, { 1, 1 }):forward(x):size(2) == 3 * 5)
        assert(inn.SpatialMaxPooling(3, 3, 2, 2):forward(x):size(3) == 2)
        local same = inn.SpatialSameResponseNormalization(3, 2, 0.5)
        assert((same:forward(torch.ones(1, 1, 5, 5))[1][1][3][3] - 1 / math.sqrt(3)) < 1e-12)
        assert(torch.isTypeOf(inn.SpatialCrossResponseNormalization(5), 'nn.SpatialCrossMapLRN'))
        torch.save(arg[1], { images = images, regions = regions, pooled = pooled, old = old, grad = grad,
           of_images = of_images })
        """,
        str(tmp_path / "out.t7"),
    )
    saved = t7.load(tmp_path / "out.t7")
    numbers = {name: torch.from_numpy(np.array(saved[name].numpy())) for name in saved}
    images = numbers["images"].requires_grad_()
    # a region: pixels (x1 - 1) / 2 to (x2 - 1) / 2, the last only in the old kind, whose cells overlap
    first = images[0, :, 0:8, 0:6]
    expected = F.max_pool2d(first, (4, 2))
    assert numbers["pooled"][0].equal(expected.detach())
    grads = torch.autograd.grad(expected, images, numbers["grad"][0])[0][0]
    assert numbers["of_images"][0].equal(grads)
    old = F.adaptive_max_pool2d(F.pad(images[0, :, 0:8, 0:7], (0, 0, 0, 1), value=-1.0), (2, 3))
    assert numbers["old"][0].equal(old.detach())
    assert numbers["pooled"][2].shape == (3, 2, 3)
