"""Measures single calls of torch and nn on small tensors in Lua, also under real Torch7.

    python -m benchmarks.lua_calls [--torch7 COMMAND] [--before COMMAND] [--rounds 9]

The commands run a Lua script under real Torch7 ('th', or 'luajit' with its paths set) and an older th, which
take turns with th. Each call runs in a loop of its own on one thread; the output shows the medians over the
rounds, in microseconds of processor time (the collector's included), and the ratios of the medians.
"""

from benchmarks import performance
from benchmarks.helpers.lua_in_turns import in_turns, medians, options

SCRIPT = """
require 'torch'
require 'nn'
torch.setnumthreads(1)
torch.manualSeed(1)

-- what: a label; f(n): does it n times
local function measure(what, n, f)
    f(math.ceil(n / 5)) -- warm-up
    collectgarbage()
    local start = os.clock()
    f(n)
    print(('%s\\t%.4f'):format(what, (os.clock() - start) / n * 1e6))
end

local x = torch.randn(20, 64)
local weights, square = torch.rand(20, 64), torch.randn(64, 64)
local rows = torch.LongTensor(20):random(20)
local small, other = torch.randn(3, 4), torch.randn(3, 4)

measure('small:add(1)', 2e5, function(n) for i = 1, n do small:add(1) end end)
measure('small:add(other)', 2e5, function(n) for i = 1, n do small:add(other) end end)
measure('small + other', 1e5, function(n) for i = 1, n do local t = small + other end end)
measure('small * other:t()', 5e4, function(n) for i = 1, n do local t = small * other:t() end end)
measure('x:narrow(1, 2, 3)', 1e5, function(n) for i = 1, n do local t = x:narrow(1, 2, 3) end end)
measure('x:select(1, 2)', 1e5, function(n) for i = 1, n do local t = x:select(1, 2) end end)
measure('torch.Tensor(20, 64)', 2e4, function(n)
    for i = 1, n do local t = torch.Tensor(20, 64) end
end)
measure('x * square', 1e4, function(n) for i = 1, n do local t = x * square end end)
local batch, columns, sums = torch.randn(16, 20, 32), torch.randn(16, 32, 1), torch.zeros(16, 20, 1)
measure('16 x (20x32 * 32x1): bmm', 1e4, function(n) for i = 1, n do torch.bmm(sums, batch, columns) end end)
measure('16 x (20x32 * 32x1): baddbmm', 1e4, function(n)
    for i = 1, n do sums:baddbmm(0.5, 1, batch, columns) end
end)
for _, name in ipairs{ 'sum', 'mean', 'prod', 'max', 'min' } do
    for d = 1, 2 do
        local what = ('x:%s(%d)'):format(name, d)
        measure(what, 1e4, function(n)
            for i = 1, n do local t = x[name](x, d) end
        end)
    end
end
-- Other numbers each time: a processor learns which way the branches go where the same ones are sorted again.
local function measure_ordering(what, name, make, ...)
    local samples, given = {}, { ... }
    for i = 1, 500 do samples[i] = make() end
    measure(what, 2000, function(n)
        for i = 1, n do
            local sample = samples[i % 500 + 1]
            local t = sample[name](sample, unpack(given))
        end
    end)
end
local function different() return torch.randn(20, 64) end
measure_ordering('x:sort(1)', 'sort', different, 1)
measure_ordering('x:sort(2)', 'sort', different, 2)
measure_ordering('x:median(2)', 'median', different, 2)
measure_ordering('x:topk(5, 2, true, true)', 'topk', different, 5, 2, true, true)
measure_ordering('whole numbers sort(2)', 'sort', function()
    return torch.randperm(1280):long():view(20, 64)
end, 2)
measure_ordering('equal numbers sort(2)', 'sort', function()
    return torch.rand(20, 64):mul(10):floor()
end, 2)
local y = torch.randn(20, 64)
measure('x:add(1)', 2e4, function(n) for i = 1, n do x:add(1) end end)
measure('x:add(y)', 2e4, function(n) for i = 1, n do x:add(y) end end)
measure('x:add(0.1, y)', 2e4, function(n) for i = 1, n do x:add(0.1, y) end end)
measure('x:mul(1.0001)', 2e4, function(n) for i = 1, n do x:mul(1.0001) end end)
x = torch.randn(20, 64)
measure('x:sum()', 2e4, function(n) for i = 1, n do local s = x:sum() end end)
measure('x:max()', 2e4, function(n) for i = 1, n do local s = x:max() end end)
measure('x:index(1, rows)', 1e4, function(n) for i = 1, n do local t = x:index(1, rows) end end)
measure('x:index(2, rows)', 1e4, function(n) for i = 1, n do local t = x:index(2, rows) end end)
local mask, places, two = x:gt(0), torch.LongTensor(20, 5):random(64), torch.LongTensor{ 1, 2 }
local result = torch.zeros(20, 64)
local function measure_call(what, f) measure(what, 5e3, function(n) for i = 1, n do f() end end) end
measure_call('x:std(2)', function() return x:std(2) end)
measure_call('x:cumsum(2)', function() return x:cumsum(2) end)
measure_call('x:clamp(-1, 1)', function() return torch.clamp(result, x, -1, 1) end)
measure_call('x:cmul(y)', function() return torch.cmul(result, x, y) end)
measure_call('x:gt(0)', function() return x:gt(0) end)
measure_call('x[mask]', function() return x[mask] end)
measure_call('x:gather(2, places)', function() return x:gather(2, places) end)
measure_call('result:indexAdd(1, two, x)', function() result:indexAdd(1, two, x:narrow(1, 1, 2)) end)
measure_call('result:indexFill(1, two, 1)', function() result:indexFill(1, two, 1) end)
measure_call('result:indexCopy(2, two, x)', function() result:indexCopy(2, two, x:narrow(2, 1, 2)) end)
measure_call('result:maskedFill(mask, 1)', function() result:maskedFill(mask, 1) end)
measure_call('result:maskedCopy(mask, x)', function() result:maskedCopy(mask, x) end)
measure_call('mask:all()', function() return mask:all() end)
measure_call('torch.diag(square)', function() return torch.diag(square) end)
measure_call('x:histc(10)', function() return x:histc(10) end)
measure_call('torch.remainder(x, 3)', function() return torch.remainder(result, x, 3) end)
measure_call('torch.round(x)', function() return torch.round(result, x) end)
measure_call('x:dist(y)', function() return x:dist(y) end)
measure('weights:multinomial(1)', 5e3, function(n) for i = 1, n do torch.multinomial(weights, 1) end end)
measure('weights[1]:multinomial(1)', 1e4, function(n)
    local row = weights[1]
    for i = 1, n do torch.multinomial(row, 1) end
end)

local wholes, bits = torch.LongTensor(20, 64):random(1000), torch.LongTensor(20, 64):random(8)
local kept = torch.LongTensor(20, 64)
measure_call('wholes:lshift(3)', function() wholes.lshift(kept, wholes, 3) end)
measure_call('wholes:bitand(255)', function() wholes.bitand(kept, wholes, 255) end)
measure_call('wholes:cbitxor(bits)', function() wholes.cbitxor(kept, wholes, bits) end)
measure_call('wholes:crshift(bits)', function() wholes.crshift(kept, wholes, bits) end)
for _, name in ipairs{ 'sum', 'prod', 'max', 'cumsum' } do
    measure_call(('wholes:%s(2)'):format(name), function() return wholes[name](wholes, 2) end)
end
measure_call('mask:sum(1)', function() return mask:sum(1) end)
measure_call('x:sub(1, 3, 2, 4)', function() return x:sub(1, 3, 2, 4) end)
measure_call('x:match(y)', function() return torch.match(x, y) end)
measure_call('logspace(-1, 1, 64)', function() return torch.logspace(-1, 1, 64) end)
local turned, part = torch.randn(64, 20):t(), torch.zeros(20, 80):narrow(2, 5, 64)
local columns_of = torch.LongTensor(5, 64):random(20)
local ints = wholes:int()
measure_call('wholes:gt(500)', function() return wholes:gt(500) end)
measure_call('wholes:eq(bits)', function() return wholes:eq(bits) end)
measure_call('ints:lt(500)', function() return ints:lt(500) end)
measure_call('transposed:gt(0)', function() return turned:gt(0) end)
measure_call('transposed:cmax(y)', function() return torch.cmax(result, turned, y) end)
measure_call('part:fill(1)', function() part:fill(1) end)
measure_call('x:gather(1, places)', function() return x:gather(1, columns_of) end)
measure_call('result:scatter(2, places, x)', function() result:scatter(2, places, x) end)
measure_call('wholes:scatter(2, places, 1)', function() kept:scatter(2, places, 1) end)
local plane, filter = torch.randn(8, 8), torch.randn(3, 3)
measure_call('conv2 of 8x8 by 3x3', function() return torch.conv2(plane, filter) end)
measure_call('conv2 of parts, 8x8 by 3x3', function()
    return torch.conv2(x:narrow(1, 1, 8):narrow(2, 1, 8), y:narrow(1, 1, 3):narrow(2, 1, 3))
end)
measure_call('xcorr2 of 8x8 by 3x3', function() return torch.xcorr2(plane, filter) end)
local volume, filter3 = torch.randn(4, 5, 6), torch.randn(2, 2, 2)
measure_call('conv3 of 4x5x6 by 2x2x2', function() return torch.conv3(volume, filter3) end)
local system, sides = torch.randn(8, 8), torch.randn(8, 2)
local symmetric = system * system:t() + torch.eye(8)
local root = torch.potrf(symmetric)
local function measure_lapack(what, f) measure(what, 1e3, function(n) for i = 1, n do f() end end) end
measure_lapack('gesv of 8x8', function() return torch.gesv(sides, system) end)
measure_lapack('inverse of 8x8', function() return torch.inverse(system) end)
measure_lapack('potrf of 8x8', function() return torch.potrf(symmetric) end)
measure_lapack('potrs of 8x8', function() return torch.potrs(sides, root) end)
measure_lapack('symeig of 8x8', function() return torch.symeig(symmetric, 'V') end)
measure_lapack('svd of 8x8', function() return torch.svd(system) end)
measure_lapack('qr of 8x8', function() return torch.qr(system) end)

local function layer(name, module, input, n)
    local gradient = module:forward(input):clone():fill(0.1)
    measure(name .. ' forward', n, function(k) for i = 1, k do module:updateOutput(input) end end)
    measure(name .. ' gradInput', n, function(k)
        for i = 1, k do module:updateGradInput(input, gradient) end
    end)
    if module.weight then
        measure(name .. ' gradients', n, function(k)
            for i = 1, k do module:accGradParameters(input, gradient) end
        end)
    end
end
local image = torch.randn(4, 32, 8, 8)
layer('Linear 64-64', nn.Linear(64, 64), x, 5000)
layer('LookupTable', nn.LookupTable(100, 64), torch.LongTensor(20):random(100), 5000)
layer('LogSoftMax', nn.LogSoftMax(), x, 5000)
layer('SoftMax', nn.SoftMax(), x, 5000)
layer('Sigmoid', nn.Sigmoid(), x, 5000)
layer('ReLU', nn.ReLU(), x, 5000)
for _, name in ipairs{ 'Tanh', 'ELU', 'HardTanh', 'Abs', 'SoftSign' } do layer(name, nn[name](), x, 5000) end
local many = torch.randn(100, 64)
for _, name in ipairs{ 'Tanh', 'ReLU', 'LogSoftMax' } do
    layer(name .. ' of 100x64', nn[name](), many, 2000)
end
layer('BatchNormalization', nn.BatchNormalization(64), x, 2000)
layer('ReflectionPadding', nn.SpatialReflectionPadding(1, 1, 1, 1), image, 500)
layer('SpatialSoftMax', nn.SpatialSoftMax(), torch.randn(4, 8, 5, 5), 500)
layer('SpatialLogSoftMax', nn.SpatialLogSoftMax(), torch.randn(4, 8, 5, 5), 500)
layer('SpatialSoftMax of 16x16', nn.SpatialSoftMax(), torch.randn(4, 8, 16, 16), 500)
layer('GatedLinearUnit', nn.GatedLinearUnit(), x, 1000)
layer('Euclidean', nn.Euclidean(64, 10), x, 500)
layer('SpatialMaxPooling', nn.SpatialMaxPooling(2, 2), image, 1000)
layer('32-32 3x3 convolution', nn.SpatialConvolution(32, 32, 3, 3, 1, 1, 1, 1), torch.randn(32, 8, 8), 500)
layer('3-8 4x4 /2 convolution', nn.SpatialConvolution(3, 8, 4, 4, 2, 2, 1, 1), torch.randn(4, 3, 16, 16), 500)

local product, factors = nn.MM(), { torch.randn(16, 20, 32), torch.randn(16, 32, 10) }
local of_product = product:forward(factors):clone()
measure('MM of 16 pairs forward', 5000, function(n) for i = 1, n do product:updateOutput(factors) end end)
measure('MM of 16 pairs gradInput', 2000, function(n)
    for i = 1, n do product:updateGradInput(factors, of_product) end
end)

local criterion, scores = nn.ClassNLLCriterion(), nn.LogSoftMax():forward(x)
local targets = torch.LongTensor(20):random(64)
measure('ClassNLL forward', 5000, function(n) for i = 1, n do criterion:updateOutput(scores, targets) end end)
measure('ClassNLL gradInput', 5000, function(n)
    for i = 1, n do criterion:updateGradInput(scores, targets) end
end)
local squares, wanted = nn.MSECriterion(), torch.randn(20, 64)
measure('MSE forward', 5000, function(n) for i = 1, n do squares:updateOutput(x, wanted) end end)
measure('MSE gradInput', 5000, function(n) for i = 1, n do squares:updateGradInput(x, wanted) end end)
local pixels, classes_of_pixels = torch.randn(2, 5, 8, 8), torch.LongTensor(2, 8, 8):random(5)
local of_pixels = nn.SpatialClassNLLCriterion()
measure('SpatialClassNLL forward', 500, function(n)
    for i = 1, n do of_pixels:updateOutput(pixels, classes_of_pixels) end
end)
measure('SpatialClassNLL gradInput', 500, function(n)
    for i = 1, n do of_pixels:updateGradInput(pixels, classes_of_pixels) end
end)
layer('PReLU', nn.PReLU(), x, 2000)
layer('SoftPlus', nn.SoftPlus(), x, 2000)
layer('Normalize(2)', nn.Normalize(2), x, 2000)
layer('Normalize(3)', nn.Normalize(3), x, 2000)
layer('Normalize(math.huge)', nn.Normalize(math.huge), x, 2000)
layer('CMul(64)', nn.CMul(64), x, 2000)
layer('Bilinear 16 by 16 to 8', nn.Bilinear(16, 16, 8), { torch.randn(20, 16), torch.randn(20, 16) }, 1000)
local pictures = torch.randn(4, 8, 16, 16)
layer('CMul(1, 8, 1, 1)', nn.CMul(1, 8, 1, 1), pictures, 1000)
layer('CMul(8, 16, 16)', nn.CMul(8, 16, 16), pictures, 1000)
layer('SpatialSubSampling', nn.SpatialSubSampling(8, 2, 2, 2, 2), pictures, 1000)
layer('SpatialAveragePooling', nn.SpatialAveragePooling(2, 2, 2, 2), pictures, 1000)
layer('AveragePooling with border', nn.SpatialAveragePooling(3, 3, 2, 2, 1, 1), pictures, 1000)
layer('AveragePooling of all', nn.SpatialAveragePooling(16, 16), pictures, 1000)
layer('AdaptiveAveragePooling', nn.SpatialAdaptiveAveragePooling(4, 4), pictures, 1000)
layer('UpSamplingNearest', nn.SpatialUpSamplingNearest(2), torch.randn(4, 8, 8, 8), 1000)
layer('UpSamplingBilinear', nn.SpatialUpSamplingBilinear(2), torch.randn(4, 8, 8, 8), 1000)
local volumes = torch.randn(2, 4, 6, 8, 8)
layer('4-4 3x3x3 convolution', nn.VolumetricConvolution(4, 4, 3, 3, 3), volumes, 500)
local sparse, entries = nn.SparseLinear(100, 10), {}
for k = 1, 20 do
    entries[k] = torch.rand(8, 2)
    entries[k]:select(2, 1):random(100)
end
layer('SparseLinear', sparse, entries, 1000)
local of_sparse = torch.ones(20, 10)
measure('SparseLinear, a step', 1000, function(n)
    for i = 1, n do
        sparse:zeroGradParameters()
        sparse:forward(entries)
        sparse:backward(entries, of_sparse)
        sparse:updateParameters(0.01)
    end
end)
layer('SpatialAdaptiveMaxPooling', nn.SpatialAdaptiveMaxPooling(3, 2), image, 500)
local lists = torch.zeros(20, 64)
for k = 1, 3 do lists:select(2, k):random(64) end
local targets_of = { Margin = wanted, MultiMargin = targets, MultiLabelMargin = lists }
targets_of.MultiLabelSoftMargin = mask:double()
for name, of in pairs(targets_of) do
    name = name .. 'Criterion'
    local margins = nn[name]()
    measure(name .. ' forward', 2000, function(n) for i = 1, n do margins:updateOutput(x, of) end end)
    measure(name .. ' gradInput', 1000, function(n) for i = 1, n do margins:updateGradInput(x, of) end end)
end
local pair, of_pair = { x, wanted }, torch.rand(20)
for _, name in ipairs{ 'DotProduct', 'CosineDistance' } do
    local of_rows = nn[name]()
    measure(name .. ' forward', 2000, function(n) for i = 1, n do of_rows:updateOutput(pair) end end)
    measure(name .. ' gradInput', 1000, function(n)
        for i = 1, n do of_rows:updateGradInput(pair, of_pair) end
    end)
end
"""


def main() -> None:
    given = options("lua_calls", __doc__, rounds=9)
    found = medians(SCRIPT, given)
    performance.report("lua_calls", in_turns("us", found), given)


if __name__ == "__main__":
    main()
