-- Trains a small convolutional net to read digits of seven segments, and saves it: th examples/digits.lua [FILE]
require 'torch'
require 'nn'
require 'optim'

torch.manualSeed(1)

-- Which segments of a digit are lit: top, top left, top right, middle, bottom left, bottom right, bottom
local SEGMENTS = { '1110111', '0010010', '1011101', '1011011', '0111010', '1101011', '1101111', '1010010', '1111111',
   '1111011' }
local PLACES = { { 2, 2, 3, 6 }, { 3, 7, 2, 2 }, { 3, 7, 7, 7 }, { 8, 8, 3, 6 }, { 9, 13, 2, 2 }, { 9, 13, 7, 7 },
   { 14, 14, 3, 6 } } -- first and last row, first and last column

local function draw(digit, image)
   image:zero()
   for k, place in ipairs(PLACES) do
      if SEGMENTS[digit]:sub(k, k) == '1' then
         image:sub(place[1], place[2], place[3], place[4]):fill(1)
      end
   end
   return image
end

local function batch(n)
   local input, target = torch.Tensor(n, 1, 15, 8), torch.Tensor(n)
   for i = 1, n do
      target[i] = torch.random(10)
      draw(target[i], input[i][1])
   end
   return input:add(torch.randn(input:size()):mul(0.3)), target
end

local net = nn.Sequential()
   :add(nn.SpatialConvolution(1, 8, 3, 3)):add(nn.ReLU()):add(nn.SpatialMaxPooling(2, 2))
   :add(nn.Reshape(8 * 6 * 3, true)):add(nn.Linear(8 * 6 * 3, 10)):add(nn.LogSoftMax())
local criterion = nn.ClassNLLCriterion()
print(net)

local parameters, gradients = net:getParameters()
local state = { learningRate = 0.1, momentum = 0.9 }
for step = 1, 200 do
   local input, target = batch(32)
   local function evaluate()
      gradients:zero()
      local output = net:forward(input)
      local loss = criterion:forward(output, target)
      net:backward(input, criterion:backward(output, target))
      return loss, gradients
   end
   local _, losses = optim.sgd(evaluate, parameters, state)
   if step % 40 == 0 then print(('step %3d: loss %.4f'):format(step, losses[1])) end
end

net:evaluate()
local confusion = optim.ConfusionMatrix(10)
local input, target = batch(500)
confusion:batchAdd(net:forward(input), target)
confusion:updateValids()
print(('%.1f %% of 500 noisy digits are read correctly'):format(100 * confusion.totalValid))

local path = arg[1] or 'digits.t7'
torch.save(path, net)
print('saved ' .. path)
