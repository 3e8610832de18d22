-- Functions of THNN by name, as packages call them. usage: th thnn.lua
-- Prints the sum, norm and sizes of each result.
require 'nn'
local THNN = require 'nn.THNN'
torch.manualSeed(3)

local function show(name, t)
   print(('%s %.5f %.5f %s'):format(name, t:double():sum(), t:double():norm(), table.concat(t:size():totable(), 'x')))
end
local function c(t) return THNN.optionalTensor(t) end

for _, type in ipairs{ 'torch.DoubleTensor', 'torch.FloatTensor' } do
   torch.setdefaulttensortype(type)
   local K = torch.Tensor().THNN
   local f1, f2, indices = torch.Tensor(), torch.Tensor(), torch.LongTensor()

   -- output and gradInput; before: what stands before the numbers; save: whether the gradient wants the output
   local function layer(name, input, numbers, options)
      options = options or {}
      local before, output, gradInput = options.before or {}, torch.Tensor(), torch.Tensor()
      local forward = { c(input), c(output) }
      for i = 1, options.count or #before do forward[#forward + 1] = c(before[i]) end
      for _, x in ipairs(numbers) do forward[#forward + 1] = x end
      K[name .. '_updateOutput'](unpack(forward, 1, table.maxn(forward)))
      show(name, output)
      local gradOutput = torch.randn(output:size())
      local backward = { c(input), c(gradOutput), c(gradInput) }
      if options.saves then backward[4] = c(output) end
      for _, x in ipairs(options.backward or before) do backward[#backward + 1] = c(x) end
      for _, x in ipairs(options.numbers or numbers) do backward[#backward + 1] = x end
      K[name .. '_updateGradInput'](unpack(backward))
      show(name .. ' gradInput', gradInput)
      return output, gradOutput
   end

   local x = torch.randn(3, 4)
   layer('Abs', x, {})
   layer('Square', x, {})
   for _, name in ipairs{ 'Sigmoid', 'Tanh', 'SoftMax', 'LogSoftMax' } do layer(name, x, {}, { saves = true }) end
   layer('Threshold', x, { 0, 0, false })
   layer('HardTanh', x, { -1, 1, false })
   layer('ELU', x, { 0.7, false }, { saves = true })
   layer('SoftPlus', x, { 1, 20 }, { saves = true })
   layer('LeakyReLU', x, { 0.2, false })
   layer('SoftShrink', x, { 0.5 })
   layer('GatedLinear', x, { 2 })
   local y, output = x:clone(), torch.Tensor()
   K.Threshold_updateOutput(c(y), c(output), 0, 0, true)
   show('in place', y)
   show('in place', output)

   local images, bias = torch.randn(2, 3, 6, 7), torch.randn(4)
   layer('PReLU', images, { 3 }, { before = { torch.Tensor{ 0.1, 0.2, 0.3 } } })
   layer('SpatialMaxPooling', images, { 2, 2, 2, 2, 0, 0, false }, { before = { indices } })
   show('indices', indices)
   layer('SpatialDilatedMaxPooling', images, { 2, 2, 2, 1, 0, 0, 2, 1, true }, { before = { indices } })
   layer('SpatialAveragePooling', images, { 2, 2, 2, 2, 0, 0, false, true })
   layer('SpatialAdaptiveMaxPooling', images, { 3, 2 }, { before = { indices }, numbers = {} })
   layer('SpatialAdaptiveAveragePooling', images, { 3, 2 }, { numbers = {} })
   layer('SpatialUpSamplingNearest', images, { 2 })
   layer('SpatialReflectionPadding', images, { 1, 2, 1, 0 })
   layer('SpatialReplicationPadding', images, { 1, 2, 1, 0 })
   local pooled, unpooled = torch.Tensor(), torch.Tensor()
   K.SpatialMaxPooling_updateOutput(c(images), c(pooled), c(indices), 2, 2, 2, 2, 0, 0, false)
   K.SpatialMaxUnpooling_updateOutput(c(pooled), c(unpooled), c(indices), 7, 6)
   show('SpatialMaxUnpooling', unpooled)
   K.SpatialUpSamplingBilinear_updateOutput(c(images), c(output), 9, 8)
   show('SpatialUpSamplingBilinear', output)
   local gradInput = torch.Tensor()
   K.SpatialUpSamplingBilinear_updateGradInput(c(torch.randn(output:size())), c(gradInput), 2, 3, 6, 7, 9, 8)
   show('SpatialUpSamplingBilinear gradInput', gradInput)

   -- with the gradients of the weight and of the bias, times 0.5
   local function parametric(name, input, weight, bias, buffers, numbers)
      local _, gradOutput = layer(name, input, numbers, { before = { weight, bias, unpack(buffers[1]) },
         backward = { weight, unpack(buffers[2]) }, numbers = buffers.numbers })
      local gradWeight, gradBias = weight:clone():zero(), bias:clone():zero()
      local arguments = { c(input), c(gradOutput), c(gradWeight), c(gradBias) }
      for _, buffer in ipairs(buffers[3]) do arguments[#arguments + 1] = c(buffer) end
      for _, n in ipairs(buffers.numbers or numbers) do arguments[#arguments + 1] = n end
      arguments[#arguments + 1] = 0.5
      K[name .. '_accGradParameters'](unpack(arguments))
      show(name .. ' gradWeight', gradWeight)
      show(name .. ' gradBias', gradBias)
   end
   local two, one, none = { f1, f2 }, { f1 }, {}
   parametric('SpatialConvolutionMM', images, torch.randn(4, 3, 3, 2), bias, { two, two, two }, { 2, 3, 1, 2, 1, 0 })
   parametric('SpatialFullConvolution', images, torch.randn(3, 4, 3, 3), bias, { two, one, two },
      { 3, 3, 2, 2, 1, 1, 1, 0 })
   parametric('SpatialDilatedConvolution', images, torch.randn(4, 3, 3, 2), bias, { two, one, two },
      { 2, 3, 1, 1, 1, 1, 2, 1 })
   parametric('SpatialSubSampling', images, torch.randn(3), torch.randn(3), { none, none, none }, { 2, 2, 2, 2 })
   parametric('TemporalConvolution', torch.randn(2, 5, 3), torch.randn(4, 6), bias,
      { none, none, none, numbers = { 2, 1 } }, { 2, 1, 3, 4 })
   parametric('VolumetricConvolutionMM', torch.randn(2, 2, 3, 4, 4), torch.randn(4, 16), bias, { one, two, one },
      { 2, 2, 2, 1, 1, 1, 0, 0, 0 })
   layer('TemporalMaxPooling', torch.randn(2, 5, 3), { 2, 2 }, { before = { indices } })
   K.SpatialConvolutionMM_updateOutput(c(images), c(output), c(torch.randn(4, 18)), nil, c(f1), c(f2), 2, 3, 1, 2, 1, 0)
   show('no bias', output)

   local mean, variance, saved_mean, saved_deviation = torch.zeros(3), torch.ones(3), torch.Tensor(3), torch.Tensor(3)
   K.BatchNormalization_updateOutput(c(images), c(output), nil, nil, c(mean), c(variance), c(saved_mean),
      c(saved_deviation), true, 0.1, 1e-5)
   show('BatchNormalization', output)
   show('BatchNormalization variance', variance)
   gradInput:resizeAs(images)
   K.BatchNormalization_backward(c(images), c(torch.randn(output:size())), c(gradInput), nil, nil, nil, c(mean),
      c(variance), c(saved_mean), c(saved_deviation), true, 1, 1e-5)
   show('BatchNormalization gradInput', gradInput)

   local p, target, loss = torch.rand(3, 4), torch.rand(3, 4), torch.zeros(1)
   local function criterion(name, target, ...)
      K[name .. '_updateOutput'](c(p), c(target), c(loss), ...)
      show(name, loss)
      gradInput:resizeAs(p):zero()
      K[name .. '_updateGradInput'](c(p), c(target), c(gradInput), ...)
      show(name .. ' gradInput', gradInput)
   end
   for _, name in ipairs{ 'MSE', 'Abs', 'SmoothL1', 'DistKLDiv', 'SoftMargin' } do
      criterion(name .. 'Criterion', target, true)
   end
   criterion('MarginCriterion', target, true, 1)
   criterion('BCECriterion', target, true, nil)
   local classes, total = torch.LongTensor{ 1, 2, 4 }, torch.zeros(1)
   criterion('ClassNLLCriterion', classes, true, nil, c(total), -100)
   K.L1Cost_updateOutput(c(p), c(loss))
   show('L1Cost', loss)
   local gradWeight = torch.zeros(5, 4)
   K.LookupTable_accGradParameters(c(classes), c(p), c(gradWeight), c(torch.IntTensor()), nil, nil, false, 0, 1)
   show('LookupTable', gradWeight)
end
THNN.runKernel('Abs_updateOutput', 'torch.FloatTensor', c(torch.FloatTensor{ -1 }), c(torch.FloatTensor()))
print(select('#', THNN.getState()), (select(2, pcall(THNN.runKernel, 'Abs_updateOutput', 'torch.IntTensor')):gsub('^.*: U', 'U')))
