-- cudnn.functional: cuDNN's operations as functions without state; the caller allocates their results. The handle is
-- ignored: PyTorch has its own.
local nn = require 'nn'

local functional = {}
cudnn.functional = functional

local function with_batch(t)
   return t and t:dim() == 3 and t:view(1, t:size(1), t:size(2), t:size(3)) or t
end

local function check_size(expected, t)
   local function in_words(size) return table.concat(size:totable(), 'x') end
   assert(expected:size():totable() and expected:isSameSizeAs(t), ('size mismatch: %s vs %s'):format(
      in_words(expected:size()), in_words(t:size())))
end

-- A module with the given fields, whose parameters are not initialised.
local function module(name, fields)
   local made = torch.factory('nn.' .. name)()
   for field, value in pairs(fields) do made[field] = value end
   made.train = true
   return made
end

-- Biases of planes

function functional.bias2D_updateOutput(_, bias, output)
   output = with_batch(output)
   output:add(bias:view(1, -1, 1, 1):expandAs(output))
end

function functional.bias2D_accGradParameters(_, gradOutput, gradBias, scale, alpha)
   gradOutput = with_batch(gradOutput)
   local sums = gradOutput:transpose(1, 2):contiguous():view(gradOutput:size(2), -1):sum(2):view(-1)
   gradBias:mul(alpha or 1):add(scale or 1, sums)
end

-- Convolutions without bias

local function convolution(input, weight, strideH, strideW, padH, padW)
   return module('SpatialConvolution', {
      weight = weight, nOutputPlane = weight:size(1), nInputPlane = weight:size(2), kH = weight:size(3),
      kW = weight:size(4), dH = strideH, dW = strideW, padH = padH or 0, padW = padW or 0,
      output = input.new(), gradInput = input.new()
   })
end

function functional.Convolution2D_updateOutput(_, input, weight, output, strideH, strideW, padH, padW)
   local result = convolution(input, weight, strideH, strideW, padH, padW):updateOutput(with_batch(input))
   output = with_batch(output)
   check_size(result, output)
   output:copy(result)
end

-- After the tensors come the strides and paddings: height, width.
function functional.Convolution2D_updateGradInput(_, input, weight, _, gradOutput, gradInput, ...)
   local layer = convolution(input, weight, ...)
   with_batch(gradInput):copy(layer:updateGradInput(with_batch(input), with_batch(gradOutput)))
end

function functional.Convolution2D_accGradParameters(_, input, gradWeight, gradOutput, ...)
   local layer = convolution(input, gradWeight, ...)
   local scale, alpha = select(5, ...)
   layer.gradWeight = gradWeight:mul(alpha or 1)
   layer:accGradParameters(with_batch(input), with_batch(gradOutput), scale or 1)
end

-- Pooling

local POOLING = {
   CUDNN_POOLING_MAX = { 'SpatialMaxPooling' },
   CUDNN_POOLING_AVERAGE = { 'SpatialAveragePooling', true },
   CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING = { 'SpatialAveragePooling', true },
   CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING = { 'SpatialAveragePooling', false }
}

-- The arguments after the input are sizes, strides and paddings of windows: height, width; then ceil_mode.
local function pooling(mode, input, ...)
   local kH, kW, dH, dW, padH, padW, ceil_mode = ...
   local kind = POOLING[mode] or error(("no pooling mode '%s'"):format(tostring(mode)), 3)
   return module(kind[1], {
      kH = kH, kW = kW, dH = dH, dW = dW, padH = padH or 0, padW = padW or 0, ceil_mode = ceil_mode or false,
      divide = true, count_include_pad = kind[2], indices = input.new(), output = input.new(), gradInput = input.new()
   })
end

function functional.Pooling_updateOutput(_, mode, input, output, ...)
   local result = pooling(mode, input, ...):updateOutput(with_batch(input))
   output = with_batch(output)
   check_size(result, output)
   output:copy(result)
end

function functional.Pooling_updateGradInput(_, mode, input, _, gradOutput, gradInput, ...)
   local layer = pooling(mode, input, ...)
   input = with_batch(input)
   layer:updateOutput(input)
   with_batch(gradInput):copy(layer:updateGradInput(input, with_batch(gradOutput)))
end

for name, mode in pairs{ MaxPooling2D = 'CUDNN_POOLING_MAX', AveragePooling2D = 'CUDNN_POOLING_AVERAGE' } do
   functional[name .. '_updateOutput'] = function(handle, ...) functional.Pooling_updateOutput(handle, mode, ...) end
   functional[name .. '_updateGradInput'] = function(handle, ...)
      functional.Pooling_updateGradInput(handle, mode, ...)
   end
end

-- Activations. The softmax of a sample is over all its elements.

local function of_elements(t) return t end
local function of_samples(t) return t:dim() > 1 and t:view(t:size(1), -1) or t end

for name, view in pairs{ ReLU = of_elements, Tanh = of_elements, Sigmoid = of_elements, SoftMax = of_samples,
   LogSoftMax = of_samples } do
   local function layer(output, gradInput)
      local made = nn[name]():type(output:type())
      made.output, made.gradInput = output, gradInput
      return made
   end
   functional[name .. '_updateOutput'] = function(_, input, output)
      output:resizeAs(input):copy(layer(output.new(), output.new()):updateOutput(view(input)))
   end
   functional[name .. '_updateGradInput'] = function(_, input, output, gradOutput, gradInput)
      local made = layer(view(output), output.new())
      gradInput:resizeAs(input):copy(made:updateGradInput(view(input), view(gradOutput)))
   end
end

return functional
