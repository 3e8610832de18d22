-- Run with the package nnx: arg[1] gets what its modules compute. nnx.t7 was recorded with the original on Torch7.
require 'nnx'
torch.manualSeed(5)
local cases = {}
local function case(name, ...) cases[#cases + 1] = { name = name, values = { ... } } end

local function copy(value)
   if type(value) ~= 'table' then return value:clone() end
   local list = {}
   for i, each in ipairs(value) do list[i] = each:clone() end
   return list
end
local function random_like(output)
   if torch.isTensor(output) then return torch.rand(output:size()) end
   local list = {}
   for i, each in ipairs(output) do list[i] = torch.rand(each:size()) end
   return list
end
local function layer(name, module, input)
   local output = copy(module:forward(input))
   case(name, output, copy(module:updateGradInput(input, random_like(output))))
end
local function criterion(name, module, input, target)
   case(name, module:forward(input, target), copy(module:backward(input, target)))
end

layer('resampling', nn.SpatialReSampling{ owidth = 7, oheight = 5 }, torch.rand(2, 4, 6))
layer('resampling', nn.SpatialReSampling{ rwidth = 0.5, rheight = 0.5 }, torch.rand(2, 2, 8, 6))
layer('upsampling', nn.SpatialUpSampling(2, 3), torch.rand(2, 3, 4))
layer('upsampling', nn.SpatialUpSampling{ dW = 2, dH = 2, yDim = 3, xDim = 4 }, torch.rand(2, 2, 3, 4))
layer('padding', nn.SpatialPadding(1, -1, 2, 0), torch.rand(2, 4, 5))
layer('padding', nn.SpatialPadding(-1, 2, -1, -1, 3, 4), torch.rand(2, 2, 4, 5))
layer('minus', nn.Minus(), torch.rand(3))
layer('multi', nn.MultiSoftMax(), torch.rand(2, 3, 4))

local push = nn.PushTable(3)
local pulls = { push:pull(1), push:pull(3) }
local net = nn.Sequential():add(push):add(pulls[1]):add(pulls[2]):add(nn.CAddTable())
layer('push', net, { torch.rand(3), torch.rand(3), torch.rand(3) })
local few = nn.PushTable(2)
local one = few:pull(1)
local short = nn.Sequential():add(few):add(nn.SelectTable(1)):add(one):add(nn.JoinTable(1))
layer('push', short, { torch.rand(2), torch.rand(3) })

local balance = nn.Balance(2)
for _ = 1, 3 do layer('balance', balance, torch.rand(4, 3)) end
balance:evaluate()

local super = nn.SuperCriterion()
super:add(nn.MSECriterion())
super:add(nn.AbsCriterion(), 0.5)
criterion('super', super, { torch.rand(3), torch.rand(4) }, { torch.rand(3), torch.rand(4) })
for _, opts in ipairs{ {}, { targetIsProbability = false }, { inputIsProbability = true }, { inputIsADistance = true },
   { inputIsLogProbability = true } } do
   criterion('distribution', nn.DistNLLCriterion(opts), torch.rand(4), torch.rand(4):div(2))
end

local hierarchy = { torch.IntTensor{ 2, 3, 4 }, torch.IntTensor{ 5, 6 }, torch.IntTensor{ 7, 8, 9 }, torch.IntTensor{ 10, 11 } }
for _, static in ipairs{ true, false } do
   local tree = nn.SoftMaxTree(4, hierarchy, 1, false, static)
   tree:zeroGradParameters()
   local input = { torch.rand(3, 4), torch.IntTensor{ 6, 8, 9 } }
   local output = tree:forward(input):clone()
   local loss = nn.TreeNLLCriterion()
   local cost, gradient = loss:forward(output), loss:backward(output):clone()
   local grad_input = tree:backward(input, gradient)
   local parameters, gradients = tree:parameters()
   local sizes, sums = {}, {}
   for key, parameter in pairs(parameters) do
      sizes[key], sums[key] = parameter:nElement(), gradients[key]:sum()
   end
   case('tree', output, cost, gradient, grad_input[1]:clone(), tree.gradWeight:clone(), tree.gradBias:clone(), sizes, sums)
   tree:updateParameters(0.1)
   case('tree', tree.weight:clone(), tree.bias:clone())
   tree:zeroGradParameters()
   case('tree', tree.gradWeight:clone(), tree:float():forward{ input[1]:float(), input[2] }:double())
end
torch.save(arg[1], cases)
