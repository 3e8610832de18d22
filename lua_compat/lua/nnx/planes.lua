-- Modules for images with any number of planes: a linear function or classifier at each pixel, colour transforms, and
-- means or maxima of parts.
local ffi = require 'ffi'
local Module = torch.getmetatable('nn.Module')

local Linear = torch.class('nn.SpatialLinear', 'nn.Module')
function Linear:__init(fanin, fanout)
   Module.__init(self)
   self.fanin, self.fanout, self.weightDecay = fanin or 1, fanout or 1, 0
   self.weight, self.bias = torch.Tensor(self.fanout, self.fanin), torch.Tensor(self.fanout)
   self.gradWeight, self.gradBias = torch.Tensor(self.fanout, self.fanin), torch.Tensor(self.fanout)
   self.output, self.gradInput = torch.Tensor(self.fanout, 1, 1), torch.Tensor(self.fanin, 1, 1)
   self:reset()
end
function Linear:reset(stdv)
   stdv = stdv and stdv * math.sqrt(3) or 1 / math.sqrt(self.weight:size(1))
   for row = 1, self.weight:size(1) do
      self.weight[row]:apply(function() return torch.uniform(-stdv, stdv) end)
      self.bias[row] = torch.uniform(-stdv, stdv)
   end
end
function Linear:zeroGradParameters(momentum)
   for _, gradient in ipairs{ self.gradWeight, self.gradBias } do
      if momentum then gradient:mul(momentum) else gradient:zero() end
   end
end
function Linear:decayParameters(decay)
   self.weight:add(-decay, self.weight)
   self.bias:add(-decay, self.bias)
end
local function as_columns(t) return t:contiguous():view(t:size(1), -1) end
function Linear:updateOutput(input)
   local columns = as_columns(input)
   self.output:resize(self.fanout, columns:size(2))
   self.output:addmm(0, self.output:zero(), 1, self.weight, columns)
   self.output:add(self.bias:view(-1, 1):expandAs(self.output))
   self.output:resize(self.fanout, input:size(2), input:size(3))
   return self.output
end
-- The parameters' gradients are accumulated here, as in nnx.
function Linear:updateGradInput(input, gradOutput)
   local columns, gradients = as_columns(input), as_columns(gradOutput)
   self.gradInput:resize(self.fanin, columns:size(2))
   self.gradInput:addmm(0, self.gradInput:zero(), 1, self.weight:t(), gradients)
   self.gradInput:resize(self.fanin, input:size(2), input:size(3))
   self.gradBias:add(gradients:sum(2):view(-1))
   self.gradWeight:addmm(gradients, columns:t())
   if math.floor(self.weightDecay) ~= 0 then self.gradWeight:add(columns:size(2), self.weight) end -- for each pixel
   return self.gradInput
end

local Classifier = torch.class('nn.SpatialClassifier', 'nn.Module')
function Classifier:__init(classifier)
   Module.__init(self)
   self.classifier = classifier or nn.Sequential()
   self.spatialOutput = true
   self.modules = { self.classifier }
end
function Classifier:add(module) self.classifier:add(module) end
local function as_rows(t) return as_columns(t):t():contiguous() end
local function gradients_of(self, gradOutput) return self.spatialOutput and as_rows(gradOutput) or gradOutput end
function Classifier:updateOutput(input)
   if input:nDimension() ~= 3 then error('<nn.SpatialClassifier> input should be 3D: KxHxW') end
   self.inputT = as_rows(input)
   self.outputT = self.classifier:updateOutput(self.inputT)
   self.output = self.outputT
   if self.spatialOutput then
      self.output = self.outputT:t():contiguous():view(self.outputT:size(2), input:size(2), input:size(3))
   end
   return self.output
end
function Classifier:updateGradInput(input, gradOutput)
   self.gradInputT = self.classifier:updateGradInput(as_rows(input), gradients_of(self, gradOutput))
   self.gradInput = self.gradInputT:t():contiguous():view(input:size())
   return self.gradInput
end
function Classifier:accGradParameters(input, gradOutput, scale)
   self.classifier:accGradParameters(as_rows(input), gradients_of(self, gradOutput), scale)
end
function Classifier:zeroGradParameters() self.classifier:zeroGradParameters() end
function Classifier:updateParameters(learningRate) self.classifier:updateParameters(learningRate) end

-- The mean of each rectangle of rH x rW pixels.
local DownSampling = torch.class('nn.SpatialDownSampling', 'nn.Module')
function DownSampling:__init(...)
   Module.__init(self)
   xlua.unpack_class(self, { ... }, 'nn.SpatialDownSampling', 'The means of the rectangles of an image',
      { arg = 'rW', type = 'number', help = 'ratio width', req = true },
      { arg = 'rH', type = 'number', help = 'ratio height', req = true })
   self.mean = nn.SpatialAveragePooling(self.rW, self.rH, self.rW, self.rH)
end
function DownSampling:updateOutput(input)
   if input:size(2) / self.rH < 1 then error('input too small in dimension 2') end
   if input:size(3) / self.rW < 1 then error('input too small in dimension 3') end
   self.output = self.mean:updateOutput(input)
   return self.output
end
function DownSampling:updateGradInput(input, gradOutput)
   self.gradInput = self.mean:updateGradInput(input, gradOutput)
   return self.gradInput
end

-- The maxima of owidth x oheight parts of an image, and their positions within the parts.
local MaxSampling = torch.class('nn.SpatialMaxSampling', 'nn.Module')
function MaxSampling:__init(...)
   Module.__init(self)
   xlua.unpack_class(self, { ... }, 'nn.SpatialMaxSampling', 'The maxima of the parts of an image',
      { arg = 'owidth', type = 'number', help = 'output width' },
      { arg = 'oheight', type = 'number', help = 'output height' })
   self.indices = torch.Tensor()
end
local function single(x) return tonumber(ffi.cast('float', x)) end
-- The first and last pixel of a part; nnx computes the bounds in single precision.
local function bounds(part, size, parts)
   local ratio = single(size / parts)
   local first = math.floor(single((part - 1) * ratio)) + 1
   return first, math.max(first, math.floor(single(part * ratio)))
end
local function each_part(self, input, visit)
   for y = 1, self.oheight do
      local top, bottom = bounds(y, input:size(2), self.oheight)
      for x = 1, self.owidth do
         local left, right = bounds(x, input:size(3), self.owidth)
         visit(y, x, top, bottom, left, right)
      end
   end
end
function MaxSampling:updateOutput(input)
   assert(input:dim() == 3, '3D tensor expected')
   local planes = input:size(1)
   self.output:resize(planes, self.oheight, self.owidth)
   self.indices:resize(2, planes, self.oheight, self.owidth)
   each_part(self, input, function(y, x, top, bottom, left, right)
      local part = input[{ {}, { top, bottom }, { left, right } }]:contiguous():view(planes, -1)
      local values, places = part:max(2)
      local width = right - left + 1
      for k = 1, planes do
         self.output[k][y][x] = values[k][1]
         self.indices[1][k][y][x] = math.floor((places[k][1] - 1) / width) + 1
         self.indices[2][k][y][x] = (places[k][1] - 1) % width + 1
      end
   end)
   return self.output
end
function MaxSampling:updateGradInput(input, gradOutput)
   self.gradInput:resizeAs(input):zero()
   each_part(self, input, function(y, x, top, _, left)
      for k = 1, input:size(1) do
         local row = self.gradInput[k][top + self.indices[1][k][y][x] - 1]
         local column = left + self.indices[2][k][y][x] - 1
         row[column] = row[column] + gradOutput[k][y][x]
      end
   end)
   return self.gradInput
end

local RGB_TO_Y = { 0.299, 0.587, 0.114 }
local LINEAR = {
   yuv2rgb = { { 1, 0, 1.13983 }, { 1, -0.39465, -0.58060 }, { 1, 2.03211, 0 } },
   rgb2yuv = { RGB_TO_Y, { -0.14713, -0.28886, 0.436 }, { 0.615, -0.51499, -0.10001 } },
   rgb2y = { RGB_TO_Y },
}
local OTHERS = {
   hsl2rgb = true, hsv2rgb = true, rgb2hsl = true, rgb2hsv = true, rgb2nrgb = true, ['rgb2y+nrgb'] = true,
}

local ColorTransform = torch.class('nn.SpatialColorTransform', 'nn.Module')
function ColorTransform:__init(transform)
   Module.__init(self)
   require 'image'
   self.transform = transform
   local rows = LINEAR[transform]
   self.islinear = rows ~= nil
   if rows then
      self.linear = nn.SpatialLinear(3, #rows)
      self.linear.weight:copy(torch.Tensor(rows))
      self.linear.bias:zero()
   elseif not OTHERS[transform] then
      xlua.error('transform required', 'nn.SpatialColorTransform', xlua.usage('nn.SpatialColorTransform',
         'Changes the colors of images', nil, { type = 'string', req = true, help = 'transform = yuv2rgb | rgb2yuv | '
         .. 'rgb2y | hsl2rgb | hsv2rgb | rgb2hsl | rgb2hsv | rgb2nrgb | rgb2y+nrgb' }))
   end
end
function ColorTransform:updateOutput(input)
   if self.islinear then
      self.output = self.linear:updateOutput(input)
   elseif self.transform == 'rgb2y+nrgb' then
      self.output:resize(4, input:size(2), input:size(3))
      self.output:narrow(1, 1, 1):copy(image.rgb2y(input))
      self.output:narrow(1, 2, 3):copy(image.rgb2nrgb(input))
   else
      self.output = image[self.transform](input)
   end
   return self.output
end
function ColorTransform:updateGradInput(input, gradOutput)
   if not self.islinear then
      xlua.error('updateGradInput not implemented for non-linear transforms', 'SpatialColorTransform.updateGradInput')
   end
   self.gradInput = self.linear:updateGradInput(input, gradOutput)
   return self.gradInput
end

-- SpatialReSamplingEx: resamples any two neighbouring dimensions of a tensor.
local ReSamplingEx = torch.class('nn.SpatialReSamplingEx', 'nn.Module')
local MODES = { simple = 0, average = 1, bilinear = 2 }
function ReSamplingEx:__init(...)
   Module.__init(self)
   xlua.unpack_class(self, { ... }, 'nn.SpatialReSampling', 'Resamples two neighbouring dimensions of a tensor',
      { arg = 'rwidth', type = 'number', help = 'ratio: owidth/iwidth' },
      { arg = 'rheight', type = 'number', help = 'ratio: oheight/iheight' },
      { arg = 'owidth', type = 'number', help = 'output width' },
      { arg = 'oheight', type = 'number', help = 'output height' },
      { arg = 'mode', type = 'string', help = 'simple | average (where the image gets smaller) | bilinear',
         default = 'simple' },
      { arg = 'yDim', type = 'number', help = 'image y dimension', default = 2 },
      { arg = 'xDim', type = 'number', help = 'image x dimension', default = 3 })
   if self.yDim + 1 ~= self.xDim then error('nn.SpatialReSamplingEx: yDim must be equals to xDim-1') end
   self.outputSize, self.inputSize = torch.LongStorage(4), torch.LongStorage(4)
   self.mode_c = MODES[self.mode]
   if not self.mode_c then error('SpatialReSampling: mode must be simple | average | bilinear') end
end

-- The matrix of weights, new positions x old positions, that resamples one dimension.
local function weights(like, before, after, mode)
   local w = like.new(after, before):zero()
   local stride = after >= before and math.ceil(after / before) or math.floor(before / after)
   local ratio = single((before - 1) / (after - 1))
   for k = 0, after - 1 do
      local row = w[k + 1]
      if mode == 'bilinear' then
         local place = single(ratio * k)
         local first = math.floor(place)
         local second = math.min(first + 1, before - 1) + 1
         row[first + 1] = first + 1 - place
         row[second] = row[second] + place - first
      elseif after >= before then
         row[math.floor(k / stride) + 1] = 1
      elseif mode == 'average' then
         row:narrow(1, k * stride + 1, stride):fill(1 / stride)
      else
         row[k * stride + 1] = 1
      end
   end
   return w
end

-- Resamples both dimensions of a tensor (before x height x width x after) with their weights.
local function sampled(t, rows, columns)
   local a, h, w, b = unpack(t:size():totable())
   t = t:permute(1, 4, 2, 3):contiguous():view(-1, w) * columns:t()
   t = t:view(a * b, h, -1):transpose(2, 3):contiguous():view(-1, h) * rows:t()
   return t:view(a, b, columns:size(1), rows:size(1)):permute(1, 4, 3, 2):contiguous()
end

function ReSamplingEx:updateOutput(input)
   local sizes = input:size()
   self.iheight, self.iwidth = sizes[self.yDim], sizes[self.xDim]
   self.oheightCurrent = self.oheight or math.floor(self.rheight * self.iheight + 0.5)
   self.owidthCurrent = self.owidth or math.floor(self.rwidth * self.iwidth + 0.5)
   if (self.oheightCurrent >= self.iheight) ~= (self.owidthCurrent >= self.iwidth) then
      error('SpatialReSamplingEx: Cannot upsample one dimension while downsampling the other')
   end
   local before, after = 1, 1
   for d = 1, #sizes do
      if d < self.yDim then before = before * sizes[d] elseif d > self.xDim then after = after * sizes[d] end
   end
   self.inputSize = torch.LongStorage{ before, self.iheight, self.iwidth, after }
   self.outputSize = torch.LongStorage{ before, self.oheightCurrent, self.owidthCurrent, after }
   sizes[self.yDim], sizes[self.xDim] = self.oheightCurrent, self.owidthCurrent
   self.output = sampled(input:reshape(self.inputSize), weights(input, self.iheight, self.oheightCurrent, self.mode),
      weights(input, self.iwidth, self.owidthCurrent, self.mode)):reshape(sizes)
   return self.output
end

function ReSamplingEx:updateGradInput(input, gradOutput)
   local rows = weights(input, self.iheight, self.oheightCurrent, self.mode)
   local columns = weights(input, self.iwidth, self.owidthCurrent, self.mode)
   self.gradInput = sampled(gradOutput:reshape(self.outputSize), rows:t(), columns:t()):reshape(input:size())
   return self.gradInput
end
