-- Functions of THNN by name that nn's modules do not use, or not so: sparse layers, volumes, dilated transposed
-- convolutions, sampling. usage: th thnn_volumes.lua
-- Prints the sum, norm and sizes of each result.
require 'nn'
local THNN = require 'nn.THNN'
torch.manualSeed(11)

local function c(t) return THNN.optionalTensor(t) end
local function show(name, t)
   print(('%s %.5f %.5f %s'):format(name, t:double():sum(), t:double():norm(), table.concat(t:size():totable(), 'x')))
end

for _, type in ipairs{ 'torch.DoubleTensor', 'torch.FloatTensor' } do
   torch.setdefaulttensortype(type)
   local K = torch.Tensor().THNN

   local weight, bias = torch.randn(3, 6), torch.randn(3)
   local coordinates = torch.Tensor{ { 1, 2, 0.5 }, { 1, 5, -1 }, { 2, 5, 2 }, { 3, 6, 1.5 } }
   local lists = torch.Tensor{ { { 1, 0.5 }, { 4, 2 } }, { { 6, -1 }, { 4, 0 } } }
   local gradOutput
   for _, case in ipairs{ { '', coordinates, 3 }, { 'legacy', lists, 2 } } do
      local prefix, input, batch = unpack(case)
      local function f(name)
         return K['SparseLinear_' .. (prefix == '' and name or prefix .. name:sub(1, 1):upper() .. name:sub(2))]
      end
      local output = torch.zeros(batch, 3)
      f 'updateOutput'(c(input), c(output), c(weight), c(bias))
      show('SparseLinear ' .. prefix, output)
      gradOutput = torch.randn(batch, 3)
      local gradWeight, gradBias = torch.zeros(3, 6), torch.zeros(3)
      f 'accGradParameters'(c(input), c(gradOutput), c(gradWeight), c(gradBias), c(weight), c(bias), 0.1, 0.5)
      show('SparseLinear gradWeight', gradWeight)
      show('SparseLinear gradBias', gradBias)
      local moved, moved_bias = weight:clone(), bias:clone()
      f 'updateParameters'(c(moved), c(moved_bias), c(gradWeight), c(gradBias), c(input), 0.3)
      show('SparseLinear weight', moved)
      show('SparseLinear bias', moved_bias)
      f 'zeroGradParameters'(c(gradWeight), c(gradBias), c(input))
      show('SparseLinear zero', gradWeight)
   end

   for _, extra in ipairs{ 0, 4 } do
      for _, outputs in ipairs{ 1, 3 } do
         weight, bias = torch.randn(8, outputs + extra), torch.randn(outputs)
         if extra > 0 then weight:narrow(2, 1, 4):zero() end
         local keys, values = torch.LongTensor{ 2, 5, 5, 8, 1 }, torch.Tensor{ 0.5, -2, 1, 3, -0.25 }
         local sizes, sums = torch.LongTensor{ 2, 3 }, torch.LongTensor{ 2, 5 }
         local output, normalized, buffer = torch.Tensor(), torch.Tensor(), torch.Tensor()
         K.IndexLinear_updateOutput(c(keys), -1, c(values), c(sizes), c(sums), c(output), c(weight), c(bias), c(normalized), 1)
         show('IndexLinear', output)
         local used = extra > 0 and normalized or values
         gradOutput = torch.randn(2, outputs)
         local gradWeight, gradBias = torch.Tensor(), torch.zeros(outputs)
         K.IndexLinear_accGradParameters(c(keys), -1, c(used), c(sizes), c(sums), c(gradOutput), c(gradWeight), c(gradBias),
            c(weight), c(bias), c(buffer), 0, 0.5)
         show('IndexLinear gradBias', gradBias)
         local moved, moved_bias = weight:clone(), bias:clone()
         K.IndexLinear_updateParameters(c(gradWeight), c(gradBias), c(moved), c(moved_bias), c(keys), c(sums), -1, 0, 0.3)
         show('IndexLinear weight', moved)
         show('IndexLinear bias', moved_bias)
         moved, moved_bias = weight:clone(), bias:clone()
         K.IndexLinear_accUpdateGradParameters(c(keys), -1, c(used), c(sizes), c(sums), c(gradOutput), c(moved), c(moved_bias),
            0, 0.5)
         show('IndexLinear step', moved)
      end
   end

   local output, gradInput = torch.Tensor(), torch.Tensor()
   local b1, b2 = torch.Tensor(), torch.Tensor()
   local function convolution(name, x, w, numbers, buffers)
      local f, B = K[name .. '_updateOutput'], torch.randn(name:find('Full') and w:size(2) or w:size(1))
      f(c(x), c(output), c(w), c(B), c(b1), c(b2), unpack(numbers))
      show(name, output)
      gradOutput = torch.randn(output:size())
      local given = { c(x), c(gradOutput), c(gradInput), c(w) }
      for k = 1, buffers do given[#given + 1] = c(k == 1 and b1 or b2) end
      for _, number in ipairs(numbers) do given[#given + 1] = number end
      gradInput:resizeAs(x):zero()
      K[name .. '_updateGradInput'](unpack(given))
      show(name .. ' gradInput', gradInput)
      local gradWeight, gradBias = w:clone():zero(), B:clone():zero()
      given = { c(x), c(gradOutput), c(gradWeight), c(gradBias), c(b1), c(b2) }
      for _, number in ipairs(numbers) do given[#given + 1] = number end
      given[#given + 1] = 0.5
      K[name .. '_accGradParameters'](unpack(given))
      show(name .. ' gradWeight', gradWeight)
      show(name .. ' gradBias', gradBias)
   end
   convolution('SpatialFullDilatedConvolution', torch.randn(2, 3, 4, 5), torch.randn(3, 2, 2, 3),
      { 3, 2, 2, 3, 1, 0, 2, 3, 1, 2 }, 1)
   convolution('VolumetricFullDilatedConvolution', torch.randn(2, 3, 3, 4, 5), torch.randn(3, 2, 2, 2, 3),
      { 2, 1, 3, 1, 0, 1, 2, 1, 2, 1, 0, 2 }, 2)
   convolution('VolumetricConvolution', torch.randn(2, 3, 4, 5, 6), torch.randn(2, 3, 2, 3, 2), { 1, 2, 2, 1, 1, 1 }, 1)
   local volume = torch.randn(3, 4, 5, 6)
   weight, bias = torch.randn(2, 3, 2, 3, 2), torch.randn(2)
   print(pcall(function()
      local ok, problem = pcall(K.VolumetricConvolution_updateOutput, c(volume), c(output), c(weight), c(bias), c(b1), c(b2),
         1, 2, 2, 0, 0, 0)
      return ok, problem:match('padding not supported by CPU backend')
   end))

   local volumes = torch.randn(2, 3, 5, 6, 7)
   for _, numbers in ipairs{ { 2, 3, 2, 1, 2, 3, 0, 0, 0, false, true }, { 2, 3, 2, 2, 2, 1, 1, 1, 0, true, false },
      { 3, 2, 3, 2, 3, 2, 1, 1, 1, true, true } } do
      K.VolumetricAveragePooling_updateOutput(c(volumes), c(output), unpack(numbers))
      show('VolumetricAveragePooling', output)
      gradOutput = torch.randn(output:size())
      K.VolumetricAveragePooling_updateGradInput(c(volumes), c(gradOutput), c(gradInput), unpack(numbers))
      show('VolumetricAveragePooling gradInput', gradInput)
   end
   local indices, samples = torch.LongTensor(), torch.rand(2, 3, 3)
   K.VolumetricFractionalMaxPooling_updateOutput(c(volumes), c(output), 2, 4, 3, 2, 2, 2, c(indices), c(samples))
   show('VolumetricFractionalMaxPooling', output)
   gradOutput = torch.randn(output:size())
   K.VolumetricFractionalMaxPooling_updateGradInput(c(volumes), c(gradOutput), c(gradInput), 2, 4, 3, 2, 2, 2, c(indices))
   show('VolumetricFractionalMaxPooling gradInput', gradInput)

   local even = torch.randn(2, 3, 4, 6, 8)
   local pooled = torch.Tensor()
   K.VolumetricMaxPooling_updateOutput(c(even), c(pooled), c(indices), 2, 2, 2, 2, 2, 2, 0, 0, 0, false)
   K.VolumetricMaxUnpooling_updateOutput(c(pooled), c(output), c(indices), 4, 8, 6, 2, 2, 2, 0, 0, 0)
   show('VolumetricMaxUnpooling', output)
   gradOutput = torch.randn(output:size())
   K.VolumetricMaxUnpooling_updateGradInput(c(pooled), c(gradOutput), c(gradInput), c(indices), 4, 8, 6, 2, 2, 2, 0, 0, 0)
   show('VolumetricMaxUnpooling gradInput', gradInput)

   for _, x in ipairs{ volumes, torch.randn(1, 2, 2, 3, 2) } do
      K.VolumetricUpSamplingNearest_updateOutput(c(x), c(output), 2)
      show('VolumetricUpSamplingNearest', output)
      gradOutput = torch.randn(output:size())
      K.VolumetricUpSamplingNearest_updateGradInput(c(x), c(gradOutput), c(gradInput), 2)
      show('VolumetricUpSamplingNearest gradInput', gradInput)
      K.VolumetricUpSamplingTrilinear_updateOutput(c(x), c(output), 7, 8, 9)
      show('VolumetricUpSamplingTrilinear', output)
      gradOutput = torch.randn(output:size())
      K.VolumetricUpSamplingTrilinear_updateGradInput(c(gradOutput), c(gradInput), x:size(1), x:size(2), x:size(3), x:size(4),
         x:size(5), 7, 8, 9)
      show('VolumetricUpSamplingTrilinear gradInput', gradInput)
   end

   local images, grid = torch.randn(2, 3, 5, 6), torch.rand(2, 4, 3, 2):mul(2.4):add(-1.2)
   K.SpatialGridSamplerBilinear_updateOutput(c(images), c(grid), c(output))
   show('SpatialGridSamplerBilinear', output)
   gradOutput = torch.randn(output:size())
   local gradGrid = torch.zeros(2, 4, 3, 2)
   gradInput:resizeAs(images):zero()
   K.SpatialGridSamplerBilinear_updateGradInput(c(images), c(gradInput), c(grid), c(gradGrid), c(gradOutput))
   show('SpatialGridSamplerBilinear gradInput', gradInput)
   show('SpatialGridSamplerBilinear gradGrid', gradGrid)

   for name, count in pairs{ GRUFused_updateOutput = 7, GRUFused_updateGradInput = 5, LSTMFused_updateOutput = 7,
      LSTMFused_updateGradInput = 7 } do
      local given = {}
      for k = 1, count do given[k] = c(torch.Tensor(1)) end
      local ok, problem = pcall(K[name], unpack(given))
      print(ok, problem:match('Not implemented for CPU'))
   end
end
local n = 0
for name in pairs(torch.DoubleTensor().THNN) do n = n + 1 end
print(n)
