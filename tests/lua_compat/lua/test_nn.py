"""The package nn under our th: every recorded case of Torch7's nn."""

from pathlib import Path

import pytest
import torch

from lua_compat import run, t7
from lua_compat.kernels import all_kernels
from lua_compat.kernels.workspace import Workspace
from lua_compat.runtime.state import Runtime
from tests.helpers.commands import run_lua, run_th
from tests.helpers.lua_golden import differences
from tests.helpers.places import GOLDEN

CASES = t7.load(GOLDEN / "nn.t7").array()


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[t7.LuaTable]:
    out = tmp_path_factory.mktemp("lua") / "nn.t7"
    assert run(GOLDEN / "probe_nn.lua", [str(GOLDEN / "cases_nn.lua"), str(out)]) == 0
    return t7.load(out).array()


@pytest.mark.parametrize("index", range(len(CASES)), ids=lambda i: CASES[i]["expr"][:60])
def test_case(results: list[t7.LuaTable], index: int) -> None:
    expected, got = CASES[index], results[index]
    assert "error" not in got, got["error"]
    assert not list(differences(expected, got, 1e-9))


def test_printed_modules_are_byte_for_byte() -> None:
    printed = run_th(GOLDEN / "probe_print.lua")
    assert printed.returncode == 0, printed.stderr

    def modules(text: str) -> str:
        return text[text.index("## nn.Linear(10, 5)") :]

    assert modules(printed.stdout) == modules((GOLDEN / "print.txt").read_text())


@pytest.mark.parametrize("name", ["net", "residual", "tied"])
@pytest.mark.parametrize("form", ["bin", "ascii", "long4"])
def test_saved_nets_compute_what_they_computed(name: str, form: str, tmp_path: Path) -> None:
    script = tmp_path / "check.lua"
    script.write_text(
        "require 'nn'\n"
        "local file = torch.DiskFile(arg[1], 'r') file[arg[2]](file)\n"
        "if arg[3] == 'long4' then file:longSize(4) end\n"
        "local saved = file:readObject() file:close()\n"
        "local difference = (saved.net:forward(saved.input) - saved.output):abs():max()\n"
        "assert(difference < 1e-6, difference)\n"
        "local copy = saved.net:clone()\n"
        "assert((copy:forward(saved.input) - saved.output):abs():max() < 1e-6)\n"
    )
    mode = "ascii" if form == "ascii" else "binary"
    assert run(script, [str(GOLDEN / "t7" / f"{name}.{form}.t7"), mode, form]) == 0


MODULE_METHODS = """
require 'nn'
torch.manualSeed(1)
local net = nn.Sequential():add(nn.Linear(4, 3)):add(nn.Tanh()):add(nn.Linear(3, 2)):add(nn.LogSoftMax())
local x, target = torch.randn(5, 4), torch.Tensor{1, 2, 1, 2, 1}
local criterion = nn.ClassNLLCriterion()
local before = net:forward(x):clone()

-- getParameters: one vector, of which the layers' tensors are views
local p, g = net:getParameters()
assert(p:nElement() == 4 * 3 + 3 + 3 * 2 + 2 and g:nElement() == p:nElement())
assert((net:forward(x) - before):abs():max() == 0)
p:mul(2)
assert((net:get(1).weight - p:narrow(1, 1, 12):view(3, 4)):abs():max() == 0)
p:div(2)

-- a clone is independent, a sharing clone is not
local copy, twin = net:clone(), net:clone('weight', 'bias')
net:get(1).weight:zero()
assert((copy:forward(x) - before):abs():max() == 0)
assert(twin:get(1).weight:abs():max() == 0)
net = copy

-- types
local single = net:clone():float()
assert(single:type() == 'torch.FloatTensor' and torch.type(single:get(3).bias) == 'torch.FloatTensor')
assert((single:forward(x:float()):double() - before):abs():max() < 1e-6)

-- finding, replacing, listing, applying
assert(#net:findModules('nn.Linear') == 2 and #net:listModules() == 5)
local count = 0
net:apply(function() count = count + 1 end)
assert(count == 5)
net:replace(function(m) return torch.type(m) == 'nn.Tanh' and nn.Sigmoid() or m end)
assert(torch.type(net:get(2)) == 'nn.Sigmoid')

-- descent lowers the loss
local first, last
for step = 1, 50 do
    local loss = criterion:forward(net:forward(x), target)
    first, last = first or loss, loss
    net:zeroGradParameters()
    net:backward(x, criterion:backward(net.output, target))
    net:updateParameters(0.5)
end
assert(last < first * 0.7, last)

-- training and evaluation; state that can be let go
net:add(nn.Dropout()):evaluate()
assert(net:get(5).train == false and net.train == false)
net:training()
net:clearState()
assert(net:get(1).output:nElement() == 0)

-- an error names the module
local ok, problem = pcall(function() net:forward(torch.randn(5, 7)) end)
assert(not ok and problem:find('In 1 module of nn.Sequential', 1, true))
assert(problem:find('size mismatch', 1, true))
"""


def test_module_methods() -> None:
    assert Runtime().run_string(MODULE_METHODS) == 0


LAYERS_IN_FLOAT = """
require 'nn'
torch.manualSeed(2)
local function check(module, ...)
    local x = torch.randn(...)
    local y = module:forward(x):clone()
    local g = torch.randn(y:size())
    local gradient = module:backward(x, g):clone()
    local single = module:clone():float()
    assert((single:forward(x:float()):double() - y):abs():max() < 1e-4)
    assert((single:backward(x:float(), g:float()):double() - gradient):abs():max() < 1e-4)
end
check(nn.Linear(5, 3), 4, 5)
check(nn.SpatialConvolution(3, 4, 3, 3, 2, 1, 1, 1), 2, 3, 7, 8)
check(nn.SpatialMaxPooling(2, 2), 2, 3, 6, 6)
check(nn.SpatialBatchNormalization(3), 4, 3, 5, 5)
check(nn.Sequential():add(nn.SpatialConvolutionMM(2, 3, 3, 3)):add(nn.ReLU(true)):add(nn.View(-1)), 2, 6, 6)
"""


def test_layers_in_single_precision() -> None:
    assert Runtime().run_string(LAYERS_IN_FLOAT) == 0


def test_kernels_are_usable_from_python_alone() -> None:
    kernels = all_kernels()
    x, weight = torch.randn(2, 3, 5, 5), torch.randn(4, 3, 3, 3)
    out = torch.empty(0)
    kernels["spatial_convolution"](Workspace(), out, x, weight, None, 3, 3, 1, 1, 1, 1)
    assert torch.allclose(out, torch.conv2d(x, weight, padding=1), atol=1e-5)
    values, places = torch.empty(2, 1), torch.empty(2, 1, dtype=torch.int64)
    kernels["max"](values, places, torch.tensor([[1.0, 3.0], [5.0, 2.0]]), 2)
    assert values.tolist() == [[3.0], [5.0]] and places.tolist() == [[2], [1]]


CLASS_TARGETS = """
require 'nn'
local row, rows = torch.Tensor{-1, -2, -3}, torch.Tensor{{-1, -2, -3}, {-4, -5, -6}}
local weights, classes = torch.Tensor{0.5, 2, 4}, torch.LongTensor{2, 9, 0} -- only the first is used
local function check(criterion, loss, weight, gradient)
   local got = criterion:forward(row, classes)
   assert(math.abs(got - loss) < 1e-12, got)
   assert((criterion:backward(row, classes) - torch.Tensor(gradient)):abs():max() < 1e-12)
   assert((criterion.nll or criterion).total_weight_tensor[1] == weight)
end
check(nn.ClassNLLCriterion(), 2, 1, { 0, -1, 0 })
check(nn.ClassNLLCriterion(nil, false), 2, 1, { 0, -1, 0 })
check(nn.ClassNLLCriterion(weights), 2, 2, { 0, -1, 0 })
check(nn.ClassNLLCriterion(weights, false), 4, 2, { 0, -2, 0 })
check(nn.CrossEntropyCriterion(weights, false), 2.8152119288887608, 2,
   { 1.3304819115496398, -1.5105430578904006, 0.1800611463407607 })

local function refused(expected, criterion, input, target)
   local ok, problem = pcall(criterion.forward, criterion, input, target)
   assert(not ok and tostring(problem):find(expected, 1, true), problem)
end
local nll, spatial = nn.ClassNLLCriterion(), nn.SpatialClassNLLCriterion()
refused('multi-target not supported', nll, row, torch.ones(1, 1))
refused('multi-target not supported', nll, rows, torch.ones(2, 1))
refused('input tensor should be 1D or 2D', nll, torch.ones(2, 2, 3), torch.ones(2))
refused("(target, 0) == batch_size' failed", nll, rows, torch.ones(3))
refused("(target, 0) == batch_size' failed", nll, rows, 1)
refused("cur_target < n_classes' failed", nll, row, torch.Tensor{ 4, 1 })
local image = torch.ones(1, 3, 2, 2)
refused('(3D tensors) but got targets of dimension: 2', spatial, image, torch.ones(2, 2))
refused('(4D tensors), but got input of dimension: 3', spatial, image[1], torch.ones(1, 2, 2))
refused('size mismatch (got input: 1x3x2x2, target: 1x3x2)', spatial, image, torch.ones(1, 3, 2))
"""


def test_one_row_takes_the_first_of_several_classes_and_other_targets_are_refused() -> None:
    """Values and messages of Torch7."""
    assert Runtime().run_string(CLASS_TARGETS) == 0


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (
            "nn.WeightedEuclidean(1, 4):forward(torch.randn(3, 2))",
            "Wrong size for view. Input size: 3x2. Output size: 3x1x1",
        ),
        (
            "nn.Euclidean(2, 1):forward(torch.randn(3, 2):t())",
            "inconsistent tensor size, expected tensor [2 x 2 x 1] and src [2 x 3] to have the same number"
            " of elements, but got 4 and 6 elements respectively",
        ),
        ("nn.Euclidean(2, 1):forward(torch.randn(3, 2, 2))", "1D or 2D input expected"),
        (
            "local m, x = nn.Euclidean(2, 3), torch.ones(4, 2) m:forward(x) m:backward(x, torch.ones(3))",
            "inconsistent tensor size, expected r_ [3], t [3] and src [4 x 3] to have the same number",
        ),
        (
            "local m, x = nn.Cosine(2, 3), torch.ones(4, 2) m:forward(x) m:backward(x, torch.ones(3))",
            "the number of dimensions provided must equal tensor:dim()",
        ),
        (
            "nn.VolumetricConvolution(1, 2, 2, 2, 2):forward(torch.randn(3, 2, 4, 4, 4))",
            "size mismatch, m1: [2 x 8], m2: [16 x 27]",
        ),
        ("nn.MultiMarginCriterion():forward(torch.randn(4), 5)", "(target out of range"),
        (
            "nn.MultiMarginCriterion():forward(torch.randn(3, 4), torch.Tensor{ 1, 2 })",
            "(inconsistent target size",
        ),
        (
            "nn.MultiLabelMarginCriterion():forward(torch.randn(4), torch.Tensor{ 5, 0, 0, 0 })",
            "(target out of range",
        ),
    ],
)
def test_what_does_not_fit_is_an_error_in_torch7s_words(code: str, expected: str, tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        f"""
        require 'nn'
        local ok, problem = pcall(function() {code} end)
        assert(not ok and problem:find([=[{expected}]=], 1, true), problem)
        """,
    )


@pytest.mark.parametrize(
    ("layer", "input_sizes"),
    [
        ("SpatialDepthWiseConvolution(4, 2, 3, 3)", "4, 5, 5"),
        ("SpatialConvolutionLocal(4, 2, 5, 5, 3, 3)", "4, 5, 5"),
        ("TemporalRowConvolution(4, 2)", "5, 4"),
        ("TemporalSubSampling(4, 2)", "5, 4"),
    ],
)
@pytest.mark.parametrize("name", ["gradWeight", "gradBias"])
def test_gradients_of_other_sizes_than_the_parameters_are_refused(
    layer: str, input_sizes: str, name: str, tmp_path: Path
) -> None:
    """A script may put any tensor in their place; nothing is written behind it."""
    run_lua(
        tmp_path,
        f"""
        require 'nn'
        local module, x = nn.{layer}, torch.ones({input_sizes})
        local y = module:forward(x)
        local behind = torch.zeros(module.{name}:nElement())
        module.{name} = behind:narrow(1, 1, 2)
        assert(not pcall(module.accGradParameters, module, x, y:clone():fill(1)))
        assert(behind:sum() == 0)
        """,
    )


def test_windows_of_a_fraction_are_refused(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        require 'nn'
        local module = nn.SpatialConvolutionLocal(2, 1, 4, 4, 2, 1)
        module.kW, module.weight, module.bias = 2.5, torch.zeros(40), torch.zeros(8)
        assert(not pcall(module.forward, module, torch.ones(2, 4, 4)))
        """,
    )


def test_ignored_rows_change_nothing(tmp_path: Path) -> None:
    """Not even by rounding: ClassNLLCriterion with a class to ignore, in single precision."""
    run_lua(
        tmp_path,
        """
        require 'nn'
        local criterion = nn.ClassNLLCriterion(nil, nil, -1):float()
        local input, target = torch.randn(300, 400):float(), torch.LongTensor(300):random(1, 400)
        target:sub(1, 7):fill(-1)
        local loss = criterion:forward(input, target)
        assert(loss == criterion:forward(input:sub(8, 300), target:sub(8, 300)) and loss ~= 0)
        assert(criterion:forward(input:sub(1, 7), target:sub(1, 7)) == 0)
        """,
    )


def test_a_flag_in_place_of_leaky_relus_slope_is_dropped(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        require 'nn'
        local module = nn.LeakyReLU(true)
        local x = torch.Tensor{ -1, 2 }
        local y = module:forward(x)
        assert(y[1] == -0.01 and y[2] == 2 and x[1] == -1 and module.negval == 0.01 and not module.inplace)
        assert(not nn.LeakyReLU(-0.5, true).inplace and nn.LeakyReLU(0.5, true).inplace)
        """,
    )


def test_the_slope_of_a_distance_at_0_is_drawn_as_torch7_draws_it(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        require 'nn'
        torch.manualSeed(3)
        local a = torch.Tensor{ { 1, 2, 2 }, { 2, 2, 1 } }
        local b = torch.Tensor{ { 1, 2, 1 }, { 2, 2, 2 } }
        local g = nn.PairwiseDistance(1):backward({ a, b }, torch.Tensor{ 3, 5 })
        assert(table.concat(g[1]:view(-1):totable(), ' ') == '-3 -3 3 5 5 -5')
        assert((g[1] + g[2]):abs():max() == 0 and torch.random() == 1249426360)
        """,
    )


def test_slopes_of_norms_at_0_and_at_equal_maxima_are_torch7s(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        require 'nn'
        local function check(g, ...)
           for i, wanted in ipairs{ ... } do
              local found = ('%.12g'):format(g:view(-1)[i])
              assert(found == wanted, found)
           end
        end
        local a, b = torch.Tensor{ { 0.5, 0, -2, 1 } }, torch.Tensor{ { 1, 0, 2, 0.25 } }
        local function distance(p)
           local module = nn.PairwiseDistance(p)
           module:forward{ a, b }
           return module:backward({ a, b }, torch.Tensor{ 2 })[1]
        end
        check(distance(0.5), '-3.5731323249', '0', '-28.5850585992', '5.35969848736')
        check(distance(1.5), '-0.480695107134', '0', '-3.84556085707', '0.721042660701')
        check(distance(3), '-0.0310732233817', '0', '-1.98868629643', '0.0699147526088')

        local function normalized(p, x, g)
           local module = nn.Normalize(p)
           module:forward(x)
           return module:backward(x, g)
        end
        local x, g = torch.Tensor{ { 0.5, 0, -2, 1e-9 } }, torch.Tensor{ { 1, 2, 3, 4 } }
        check(normalized(0.5, x, g), '1.03699397229', '0.444431193926', '0.259257603135', '15792.8282571')
        check(normalized(1, x, g), '1.27999999823', '0.799999999648', '0.32000000093', '2.39999999801')
        check(normalized(1.5, x, g), '1.02720188742', '0.924481699115', '0.256800472862', '1.84898748825')
        local tied, slopes = torch.Tensor{ { 2, -2, 1, 2 } }, torch.Tensor{ { 1, 2, 3, 4 } }
        local wanted = torch.Tensor{ { -1.75, 1, 1.5, 2 } }
        assert((normalized(math.huge, tied, slopes) - wanted):abs():max() < 1e-9)
        """,
    )


def test_equal_elements_have_slopes_without_a_sign(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        require 'nn'
        for _, p in ipairs{ 2, 3, 2.5 } do
           local module, pair = nn.PairwiseDistance(p), { torch.Tensor{ 1, 2 }, torch.Tensor{ 1, 3 } }
           module:forward(pair)
           local slopes = module:backward(pair, torch.ones(1))
           assert(1 / slopes[1][1] == math.huge and 1 / slopes[2][1] == math.huge, p)
        end
        """,
    )


def test_normalization_over_planes_squares_floats_as_floats(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        require 'nn'
        local layer = nn.SpatialCrossMapLRN(3, 1, 0.75, 1):float()
        assert(layer:forward(torch.FloatTensor(2, 1, 1):fill(1e30)):abs():max() == 0)
        """,
    )


def test_normalization_over_more_planes_than_there_are_takes_no_longer(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        require 'nn'
        local layer, x = nn.SpatialCrossMapLRN(2 ^ 40 + 1, 2 ^ 40 + 1, 0.5, 1), torch.ones(3, 2, 2)
        assert((layer:forward(x) - 0.5):abs():max() < 1e-9)
        assert((layer:backward(x, x) - 0.125):abs():max() < 1e-9)
        """,
    )


def test_the_bounds_of_drawn_slopes_are_numbers_of_the_type(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        require 'nn'
        torch.manualSeed(5)
        local layer, x = nn.RReLU(0.1, 0.4):float(), torch.range(-3, 2):float()
        layer:forward(x)
        for i, slope in ipairs{ 0.166597947, 0.116554037, 0.361219704, 0.349398345 } do -- under Torch7
            assert(('%.9g'):format(layer.noise[i]) == tostring(slope))
        end
        """,
    )


def test_squeeze_keeps_a_batch_of_one(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        require 'nn'
        local function sizes(input, ...)
            return table.concat(nn.Squeeze(...):forward(input):size():totable(), 'x')
        end
        assert(sizes(torch.rand(1, 2, 1, 3), nil, 3) == '1x2x3')
        assert(sizes(torch.rand(1, 1, 3), nil, 2) == '1x3')
        assert(sizes(torch.rand(1, 2, 1, 3)) == '2x3' and sizes(torch.rand(1, 2, 1, 3), 2, 3) == '1x2x3')
        """,
    )


def test_a_weight_of_other_dimensions_gives_no_message_of_pythons(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        require 'nn'
        local module = nn.VolumetricConvolution(2, 2, 2, 2, 2)
        module.weight = torch.Tensor(3)
        local ok, problem = pcall(module.forward, module, torch.rand(2, 3, 3, 3))
        assert(not ok and problem:find 'convolution: invalid sizes, .*Double%[3%]', problem)
        """,
    )


def test_convolutions_have_the_same_bits_at_every_address(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        require 'nn'
        for seed = 1, 20 do
            torch.manualSeed(seed)
            for _, name in ipairs{ '', 'Full', 'Dilated' } do
                local module = nn['Spatial' .. name .. 'Convolution'](seed % 4 + 1, 3, 3, 2, 1, 2, 1, 1)
                local x = torch.randn(2, seed % 4 + 1, 7, 5):transpose(3, 4)
                local function phases(x, by_transposing)
                    local y = module:forward(x):clone()
                    local gradient = by_transposing and y:transpose(3, 4):clone():transpose(3, 4) or y
                    module:zeroGradParameters()
                    return y, module:backward(x, gradient):clone(), module.gradWeight:clone()
                end
                local apart, together = { phases(x, true) }, { phases(x:clone():contiguous()) }
                for k = 1, 3 do
                    assert(apart[k]:equal(together[k]), ('%s, seed %d, result %d'):format(name, seed, k))
                end
            end
        end
        """,
    )


@pytest.mark.parametrize("count", [1, 2, 3])
def test_products_of_tables_whose_sizes_differ(count: int) -> None:
    """Gradients have the sizes of their inputs, whatever those of the output's are."""
    Runtime().run_string(f"""
        require 'nn'
        local input, product = {{}}, torch.ones(12)
        for i = 1, {count} do
           input[i] = torch.rand(3, 4) + 1
           if i == 2 then input[i] = input[i]:view(12) end
           product:cmul(input[i]:view(12))
        end
        for _, g in ipairs{{ torch.rand(3, 4), torch.rand(12) }} do
           local layer = nn.CMulTable()
           assert((layer:forward(input) - product:view(3, 4)):abs():max() < 1e-12)
           for i, gradient in ipairs(layer:backward(input, g)) do
              assert(gradient:isSameSizeAs(input[i]))
              local expected = torch.cdiv(torch.cmul(g:view(12), product), input[i]:view(12))
              assert((gradient:view(12) - expected):abs():max() < 1e-12)
           end
        end
    """)


@pytest.mark.parametrize("layer", ["CMul", "CAdd"])
def test_a_result_that_is_not_contiguous_is_refused_as_in_torch7(layer: str, tmp_path: Path) -> None:
    """What is computed in a copy would be lost."""
    code = f"""
        require 'nn'
        local layer = nn.{layer}(5)
        layer.output = torch.zeros(2, 7):narrow(2, 1, 5)
        local ok, message = pcall(layer.forward, layer, torch.ones(2, 5))
        assert(not ok and message:find('expecting a contiguous tensor', 1, true), message)
    """
    run_lua(tmp_path, code)
