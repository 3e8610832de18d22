-- Run with the packages stn, libunsup and librnn: arg[1] gets what their layers and functions compute. layers.t7 was
-- recorded with the originals on Torch7.
require 'nn'
require 'stn'
require 'libunsup'
require 'librnn'
torch.manualSeed(11)
local cases = {}
local function case(name, ...) cases[#cases + 1] = { name = name, values = { ... } } end

local function copy(value)
   if type(value) ~= 'table' then return value:clone() end
   local list = {}
   for i, each in ipairs(value) do list[i] = each:clone() end
   return list
end

local function layer(name, module, input, grad)
   local output = copy(module:forward(input))
   case(name, output, copy(module:backward(input, grad(output))))
end
local function random_like(output) return torch.rand(output:size()) end

local images, grids = torch.rand(2, 5, 6, 3), torch.rand(2, 4, 3, 2):mul(2.6):add(-1.3)
grids[1][1][1]:fill(-1)
grids[1][1][2]:fill(1)
layer('sampler', nn.BilinearSamplerBHWD(), { images, grids }, random_like)
layer('sampler of one', nn.BilinearSamplerBHWD(), { images[1], grids[2] }, random_like)
for _, kind in ipairs{ { true, true, true, 4 }, { true, false, true, 3 }, { false, true, false, 1 }, { true, false, false, 1 },
   { false, false, true, 2 }, { false, false, false, 6 } } do
   local module = nn.AffineTransformMatrixGenerator(kind[1], kind[2], kind[3])
   layer('matrix', module, torch.rand(3, kind[4]):mul(3), random_like)
   layer('matrix of one', module, torch.rand(kind[4]):mul(3), random_like)
end
layer('grid', nn.AffineGridGeneratorBHWD(3, 4), torch.rand(2, 2, 3), random_like)
layer('grid of one', nn.AffineGridGeneratorBHWD(3, 4), torch.rand(2, 3), random_like)

local shrunk, same = torch.linspace(-2, 2, 9), torch.linspace(-2, 2, 9):float()
case('shrinkage', shrunk, same, shrunk:shrinkage(0.7), same:shrinkage(0), (pcall(same.shrinkage, same, -1)))

for _, lengths in ipairs{ { 3 }, { 3, 5, 1, 5 }, { 2, 2, 2, 7, 1, 4, 4 }, { 1, 1, 1, 3 } } do
   local samples = {}
   for i, length in ipairs(lengths) do samples[i] = torch.rand(length, 2) end
   local whole, mask = torch.DoubleTensor(), torch.ByteTensor()
   local functions = whole.nn
   local rows, row_lengths = functions.VariableLength_FromSamples(samples, whole, mask)
   whole:cmul((1 - mask:double()):view(mask:size(1), mask:size(2), 1):expandAs(whole)) -- what lies between is not set
   local last, back = torch.DoubleTensor(), torch.DoubleTensor()
   functions.VariableLength_ToFinal(rows, row_lengths, whole, last)
   functions.VariableLength_FromFinal(rows, row_lengths, last, back)
   case('lengths', rows, row_lengths, whole, mask, copy(functions.VariableLength_ToSamples(rows, row_lengths, whole)),
      last, back)
end

torch.save(arg[1], cases)
