"""Layers that came as packages with C code: stn, inn, the compiled parts of unsup and rnn."""

from pathlib import Path

import numpy as np
import pytest
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


@pytest.mark.parametrize("name", ["nnx_planes", "nnx_pyramids"])
def test_what_nnx_printed(name: str) -> None:
    got = run_th(PACKAGES / f"probe_{name}.lua")
    assert (got.returncode, got.stderr) == (0, "")
    expected = (PACKAGES / f"{name}.txt").read_text().split()
    for word, wanted in zip(got.stdout.split(), expected, strict=True):
        assert word == wanted or abs(float(word) - float(wanted)) < 2e-5


def test_a_forest_of_softmaxes_mixes_its_trees(tmp_path: Path) -> None:
    """Torch7's constructor fails; the numbers are those of its parts."""
    run_lua(
        tmp_path,
        """
        require 'nnx'
        local tree = { torch.IntTensor{ 2, 3 }, torch.IntTensor{ 4, 5, 6 }, torch.IntTensor{ 7, 8 } }
        local forest = nn.SoftMaxForest(5, { tree, tree }, { 1, 1 }, { 4 })
        local input = { torch.randn(3, 5), torch.IntTensor{ 4, 7, 8 } }
        local output = forest:forward(input)
        local weights = forest.gater:forward(input)
        local wanted = torch.zeros(3)
        for i, expert in ipairs(forest.smts) do
           wanted:add(torch.cmul(weights:select(2, i), expert:forward(input)))
        end
        assert((output - wanted):abs():max() < 1e-12 and #forest:parameters() > 4)
        forest:zeroGradParameters()
        local gradient = forest:backward(input, torch.ones(3))[1]:clone()
        local x, eps = input[1], 1e-5
        for _, place in ipairs{ 1, 8, 15 } do
           local flat = x:view(-1)
           local value = flat[place]
           flat[place] = value + eps
           local above = forest:forward(input):sum()
           flat[place] = value - eps
           local below = forest:forward(input):sum()
           flat[place] = value
           assert(math.abs((above - below) / (2 * eps) - gradient:view(-1)[place]) < 1e-4)
        end
        """,
    )


def test_data_sets_of_nnx(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        require 'nnx'
        require 'image'
        function print() end
        function xlua.progress() end
        image.save(arg[1] .. '/1|7|8.png', torch.zeros(1, 4, 6))
        image.save(arg[1] .. '/2|9.png', torch.ones(1, 3, 3))
        local cache = arg[1] .. '/cache'
        local read = nn.DataSet{ dataSetFolder = arg[1], cacheFile = cache, sampleSize = { 1, 5, 5 } }
        assert(read:size() == 2 and read[1][2][2][1] == 8 and read[2][2]:sum() == 9)
        assert(read[2][1]:sum() == 25 and read[1][1]:size(3) == 5)
        local again = nn.DataSet{ dataSetFolder = '/nowhere', cacheFile = cache }
        assert(again:size() == 2 and again[2][2]:sum() == 9)
        local padded = nn.DataSet()
        padded:append{ dataSetFolder = arg[1], channels = 1, sampleSize = { 1, 5, 7 }, padding = true }
        assert(padded[2][1]:sum() == 9 and padded[2][1][1][2][3] == 1 and padded[2][1][1][1][3] == 0)

        local function set(...)
           local made = nn.DataSet()
           for _, number in ipairs{ ... } do
              made:add{ input = torch.Tensor{ number }, output = torch.Tensor{ -number } }
           end
           return made
        end
        local some = set(1, 2, 3, 4)
        local last = some:popSubset{ nElement = 2 }
        assert(some:size() == 2 and last[1][1][1] == 4 and last[2][2][1] == -3)
        some:appendDataSet(last)
        some:apply(function(t) return t * 2 end)
        assert(some:size() == 4 and some[3][1][1] == 8)
        some:emptySet()
        assert(some:size() == 0 and some[1] == nil)

        local list = nn.DataList()
        list:appendDataSet(set(1, 2, 3), 'a')
        list:appendDataSet(set(10), 'b')
        local order = {}
        for i = 1, list:size() do
           local sample = list[i]
           order[i] = ('%d:%s'):format(sample[1][1], table.concat(sample[2]:totable(), ','))
        end
        order = table.concat(order, ' ')
        assert(order == '1:1,-1 10:-1,1 2:1,-1 10:-1,1 3:1,-1 10:-1,1', order)
        assert(list[list:size() + 1] == nil and list.nbClass == 2)
        """,
        str(tmp_path),
    )


def test_segmented_images_of_nnx(tmp_path: Path) -> None:
    """Two images of 5x4 pixels; the right half is of class 2. Tags are a pixel's x, y, image, segment."""
    run_lua(
        tmp_path,
        """
        require 'nnx'
        require 'image'
        local matio = require 'matio'
        function print() end
        function xlua.progress() end
        local mask, segments = torch.zeros(1, 5, 4), torch.zeros(5, 4, 2)
        mask:narrow(3, 3, 2):fill(1)
        segments:select(3, 2):narrow(1, 1, 3):fill(1)
        for _, kind in ipairs{ 'Images', 'Masks', 'Segments' } do
           paths.mkdir(paths.concat(arg[1], kind))
           paths.mkdir(paths.concat(arg[1], kind, 'a'))
        end
        for _, name in ipairs{ '1.png', 'a/2.png' } do
           image.save(arg[1] .. '/Images/' .. name, torch.range(1, 20):view(1, 5, 4) / 255)
           image.save(arg[1] .. '/Masks/' .. name, mask)
           matio.save(arg[1] .. '/Segments/' .. name .. '.mat', { top_masks = segments })
        end
        local function options(more)
           local made = { path = arg[1], nbClasses = 2, classNames = { 'a', 'b' }, patchSize = 2,
              nbPatchPerSample = 3, samplingMode = 'equal' }
           for key, value in pairs(more) do made[key] = value end
           return made
        end
        local function check(set, class, first, wanted)
           local tag, got = set.tags[class], {}
           for i = 1, tag.size do got[i] = tag.data[i] end
           got = table.concat(got, ',')
           assert(tag.size == wanted and got:sub(1, #first) == first, tag.size .. ': ' .. got)
        end

        local set = nn.DataSetLabelMe(options{ cacheFile = 'kept' })
        assert(set:size() == 6 and set.maxX == 4 and set.maxY == 5)
        check(set, 1, '1,1,1,1,2,1,1,3,1,1,4,1,2,1,1,', 48)
        check(set, 2, '3,1,1,3,2,1,3,3,1,3,4,1,3,1,2,', 24)
        local sample = set[4]
        assert((sample[1] * 255):equal(torch.Tensor{ { { 7, 8 }, { 11, 12 } } }))
        assert(sample[2]:equal(torch.Tensor{ -1, 1 }))
        assert(tostring(set):match('[^%c]*$') == '  + 2 categories : a | b')
        mask:fill(1)
        image.save(arg[1] .. '/Masks/1.png', mask)
        check(nn.DataSetLabelMe(options{ cacheFile = 'kept' }), 1, '1,1,1,1,2,1,', 48)
        check(nn.DataSetLabelMe(options{ samplingFilter = { ratio = 0.8, size = 2, step = 1 } }), 1,
           '1,1,2,1,2,2,1,3,2,1,4,2', 12)
        local random = nn.DataSetLabelMe(options{ samplingMode = 'random', labelType = 'pixelwise',
           classToSkip = 2 })
        assert(random.nbRandomPatches == 24 and random[1][2][1][1] == 1 and random.currentIndex == 2)
        set = nn.DataSetLabelMe(options{ rawSampleSize = { w = 8, h = 10 }, preloadSamples = true })
        assert(set.preloaded.samples[2]:size(2) == 10 and set.preloaded.masks[1]:eq(2):all())
        local ok, problem = pcall(nn.DataSetLabelMe, options{ rawMaskRescale = false })
        assert(not ok and problem:find('class 256 in .*1.png; nbClasses is 2'))

        set = nn.DataSetSamplingPascal(options{ nbSegmentsToExtract = 2, labelType = 'pixelwise' })
        check(set, 1, '1,1,1,1,1,3,1,1,3,1,1,1,3,3,1,1,1,1,2,', 40)
        check(set, 2, '1,1,1,2,1,3,1,2,3,1,1,2,3,3,1,2,3,1,2,2,3,3,2,2', 24)
        assert(set[2][2]:eq(2):all() and set.currentSegment == 2)
        """,
        str(tmp_path),
    )


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
