-- More functions of THNN by name: products, connection tables, features. usage: th thnn_rest.lua
-- Prints the sum, norm and sizes of each result.
require 'nn'
local THNN = require 'nn.THNN'
torch.manualSeed(7)

local function c(t) return THNN.optionalTensor(t) end
local function show(name, t)
   print(('%s %.5f %.5f %s'):format(name, t:double():sum(), t:double():norm(), table.concat(t:size():totable(), 'x')))
end

for _, type in ipairs{ 'torch.DoubleTensor', 'torch.FloatTensor' } do
   torch.setdefaulttensortype(type)
   local K = torch.Tensor().THNN
   local output, gradInput, buffer = torch.Tensor(), torch.Tensor(), torch.Tensor()

   local x, weight, bias = torch.randn(5, 4), torch.randn(3, 4), torch.randn(3)
   K.Linear_updateOutput(c(x), c(output), c(weight), c(bias), c(buffer))
   show('Linear', output)
   local gradOutput = torch.randn(5, 3)
   K.Linear_updateGradInput(c(x), c(gradOutput), c(gradInput), c(weight))
   show('Linear gradInput', gradInput)
   local gradWeight, gradBias = torch.zeros(3, 4), torch.zeros(3)
   K.Linear_accGradParameters(c(x), c(gradOutput), c(gradInput), c(weight), c(bias), c(gradWeight), c(gradBias), c(buffer), 0.5)
   show('Linear gradWeight', gradWeight)
   show('Linear gradBias', gradBias)

   local images, connections = torch.randn(3, 6, 7), nn.tables.full(3, 2)
   for _, name in ipairs{ 'SpatialConvolutionMap', 'SpatialFullConvolutionMap' } do
      weight, bias = torch.randn(6, 2, 3), torch.randn(2)
      K[name .. '_updateOutput'](c(images), c(output), c(weight), c(bias), c(connections), 3, 2, 1, 1)
      show(name, output)
      gradOutput = torch.randn(output:size())
      K[name .. '_updateGradInput'](c(images), c(gradOutput), c(gradInput), c(weight), c(bias), c(connections), 3, 2, 1, 1)
      show(name .. ' gradInput', gradInput)
      gradWeight, gradBias = torch.zeros(6, 2, 3), torch.zeros(2)
      K[name .. '_accGradParameters'](c(images), c(gradOutput), c(gradWeight), c(gradBias), c(connections), 3, 2, 1, 1, 0.5)
      show(name .. ' gradWeight', gradWeight)
      show(name .. ' gradBias', gradBias)
   end

   x = torch.rand(2, 8)
   K.FeatureLPPooling_updateOutput(c(x), c(output), 2, 3, 2, true)
   show('FeatureLPPooling', output)
   gradOutput = torch.randn(output:size())
   K.FeatureLPPooling_updateGradInput(c(gradOutput), c(x), c(output), c(gradInput), 2, 3, 2, true)
   show('FeatureLPPooling gradInput', gradInput)
end
