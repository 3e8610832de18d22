-- nn.SpatialFovea and nn.SpatialPyramid: an image at several scales, each processed by its own module.
local downsampler = require 'nnx.downsampler'
local Module = torch.getmetatable('nn.Module')

local Fovea = torch.class('nn.SpatialFovea', 'nn.Module')

function Fovea:__init(...)
   Module.__init(self)
   xlua.unpack_class(self, { ... }, 'nn.SpatialFovea',
      'Processes an image at several scales. focus(x, y, fov) looks at one point, focus(nil) at the whole image, whose '
      .. 'results are brought to one size.',
      { arg = 'nInputPlane', type = 'number', help = 'number of input planes', req = true },
      { arg = 'ratios', type = 'table', help = 'list of downsampling ratios', req = true },
      { arg = 'processors', type = 'table', help = 'list of processors (each processor sees a single scale)',
         req = true },
      { arg = 'preProcessors', type = 'table', help = 'list of preprocessors (applied before padding)' },
      { arg = 'fov', type = 'number', help = 'field of view (== processors\' receptive field)', default = 1 },
      { arg = 'sub', type = 'number', help = 'global subsampling (== processors\' subsampling ratio)', default = 1 },
      { arg = 'bilinear', type = 'number', help = 'bilinear interpolation', default = false },
      { arg = 'cachePrePreproc', type = 'number', help = 'beta: cache preprocessed input based on input\' hash',
         default = false })
   self.preProcessors = self.preProcessors or {}
   for _, field in ipairs{ 'downsamplers', 'padders', 'upsamplers', 'pyramid', 'preProcessed', 'padded', 'narrowed',
      'processed', 'upsampled', 'gradUpsampled', 'gradProcessed', 'gradNarrowed', 'gradPadded', 'gradPreProcessed',
      'gradPyramid' } do
      self[field] = {}
   end
   self.padding = self.fov - self.sub
   if #self.processors ~= #self.ratios then
      xlua.error('the number of processors provided should == the number of ratios (scales): ' .. #self.ratios,
         'nn.SpatialFovea')
   end
   self.modules = self.processors
   self:reset()
end

function Fovea:focus(x, y, fov)
   self.x, self.y, self.fov = x, y, fov or self.fov
   self.focused = (x and y and self.fov) and true or false
end

-- The module that scales the result of scale 1/ratio back.
local function upsampler(self, ratio)
   return self.bilinear and nn.SpatialReSampling(ratio, ratio) or nn.SpatialUpSampling(ratio, ratio)
end

function Fovea:configure()
   local pad = math.floor(self.padding / 2)
   local type_name = self.output:type()
   for i, ratio in ipairs(self.ratios) do
      self.downsamplers[i] = downsampler(self, ratio):type(type_name)
      self.padders[i] = (self.padding == 0 and nn.Identity() or nn.SpatialPadding(pad, pad, pad, pad)):type(type_name)
      self.upsamplers[i] = upsampler(self, ratio):type(type_name)
   end
end

-- The part of a scale's image that is in focus.
local function window(self, i, t)
   if not self.focused then return t end
   local function first(place) return math.floor(math.floor((place - 1) / self.ratios[i]) / self.sub) * self.sub + 1 end
   return t:narrow(3, first(self.x), self.fov):narrow(2, first(self.y), self.fov)
end

local function prepare(self, input)
   for i in ipairs(self.ratios) do
      self.pyramid[i] = self.downsamplers[i]:updateOutput(input)
      local pre = self.preProcessors[i]
      self.preProcessed[i] = pre and pre:updateOutput(self.pyramid[i]) or self.pyramid[i]
      self.padded[i] = self.padders[i]:updateOutput(self.preProcessed[i])
   end
end

-- The same, cached for inputs with the same sum and deviation.
local function prepare_once(self, input)
   self.cachedPreProcessed = self.cachedPreProcessed or {}
   local key = tostring(input:sum()) .. tostring(input:std())
   local kept = self.cachedPreProcessed[key]
   if kept then
      for i in ipairs(self.ratios) do self.padded[i] = kept[i] end
      return
   end
   prepare(self, input)
   kept = {}
   for i, t in ipairs(self.padded) do kept[i] = t:clone() end
   self.cachedPreProcessed[key] = kept
end

function Fovea:updateOutput(input)
   if input:dim() ~= 3 then xerror('input must be 3d', 'nn.SpatialFovea') end
   if input:size(1) ~= self.nInputPlane then
      xerror('input must have ' .. self.nInputPlane .. ' input planes', 'nn.SpatialFovea')
   end
   self:configure(input:size(3), input:size(2))
   local get = self.cachePrePreproc and prepare_once or prepare
   get(self, input)
   local planes = 0
   for i in ipairs(self.ratios) do
      self.narrowed[i] = window(self, i, self.padded[i])
      self.processed[i] = self.processors[i]:updateOutput(self.narrowed[i])
      self.upsampled[i] = self.focused and self.processed[i] or self.upsamplers[i]:updateOutput(self.processed[i])
      planes = planes + self.processed[i]:size(1)
   end
   self.output:resize(planes, self.upsampled[1]:size(2), self.upsampled[1]:size(3))
   local first = 1
   for _, t in ipairs(self.upsampled) do
      self.output:narrow(1, first, t:size(1)):copy(t)
      first = first + t:size(1)
   end
   return self.output
end

function Fovea:updateGradInput(input, gradOutput)
   local first = 1
   for i in ipairs(self.ratios) do
      local planes = self.processed[i]:size(1)
      self.gradUpsampled[i] = gradOutput:narrow(1, first, planes)
      first = first + planes
      self.gradProcessed[i] = self.focused and self.gradUpsampled[i]
         or self.upsamplers[i]:updateGradInput(self.processed[i], self.gradUpsampled[i])
      self.gradNarrowed[i] = self.processors[i]:updateGradInput(self.narrowed[i], self.gradProcessed[i])
   end
   if self.cachePrePreproc then return self.gradNarrowed end -- the layers before are unknown
   for i in ipairs(self.ratios) do
      if self.focused then
         self.gradPadded[i] = self.gradPadded[i] or torch.Tensor():typeAs(self.output)
         self.gradPadded[i]:resizeAs(self.padded[i]):zero()
         window(self, i, self.gradPadded[i]):copy(self.gradNarrowed[i])
      else
         self.gradPadded[i] = self.gradNarrowed[i]
      end
      self.gradPreProcessed[i] = self.padders[i]:updateGradInput(self.preProcessed[i], self.gradPadded[i])
      local pre = self.preProcessors[i]
      self.gradPyramid[i] = pre and pre:updateGradInput(self.pyramid[i], self.gradPreProcessed[i])
         or self.gradPreProcessed[i]
   end
   -- sic: the size of the first scale, which equals the input's only for a ratio of 1
   self.gradInput:resizeAs(self.gradPyramid[1]):zero()
   for i in ipairs(self.ratios) do
      self.gradInput:add(self.downsamplers[i]:updateGradInput(input, self.gradPyramid[i]))
   end
   return self.gradInput
end

local function each_processor(self, method, ...)
   for _, processor in ipairs(self.processors) do
      if processor[method] then processor[method](processor, ...) end
   end
end

function Fovea:reset(stdv) each_processor(self, 'reset', stdv) end
function Fovea:zeroGradParameters() each_processor(self, 'zeroGradParameters') end
function Fovea:updateParameters(rate) each_processor(self, 'updateParameters', rate) end

function Fovea:accGradParameters(_, _, scale)
   for i, processor in ipairs(self.processors) do
      self.gradNarrowed[i] = processor:accGradParameters(self.narrowed[i], self.gradProcessed[i], scale)
   end
end

function Fovea:parameters()
   local weights, gradients = {}, {}
   for _, module in ipairs(self.modules) do
      local some, of_some = module:parameters()
      for i, weight in ipairs(some or {}) do
         weights[#weights + 1], gradients[#gradients + 1] = weight, of_some[i]
      end
   end
   return weights, gradients
end

function Fovea:__tostring__()
   local lines = { 'nn.SpatialFovea {', '  input' }
   for i, processor in ipairs(self.processors) do
      local pipeline = nn.Sequential()
      if self.preProcessors[i] then pipeline:add(self.preProcessors[i]) end
      pipeline:add(processor)
      lines[#lines + 1] = ('    |`-> (%d): %s'):format(i, (tostring(pipeline):gsub('\n', '\n    |    ')))
   end
   lines[#lines + 1] = '     ... -> output'
   lines[#lines + 1] = '}'
   return table.concat(lines, '\n')
end

local Pyramid = torch.class('nn.SpatialPyramid', 'nn.Module')

-- Two nets with the same processors: one for whole images, and one for windows that yield w x h results around a point.
-- prescaled_input: the input is a table with the image at each scale.
-- After the processors: sizes and strides of windows, then dimensions of input and output: width, height; then whether
-- the input is a table of all scales.
function Pyramid:__init(ratios, processors, ...)
   local kW, kH, dW, dH, xDimIn, yDimIn, xDimOut, yDimOut, prescaled_input = ...
   Module.__init(self)
   assert(#ratios == #processors)
   self.prescaled_input = prescaled_input or false
   self.ratios, self.processors, self.kH, self.kW, self.dH, self.dW = ratios, processors, kH, kW, dH, dW
   self.focused, self.x, self.y, self.wFocus, self.hFocus = false, 0, 0, 0, 0
   local function scaled(ratio, x, y, mode)
      return nn.SpatialReSamplingEx{ rwidth = ratio, rheight = ratio, xDim = x, yDim = y, mode = mode }
   end
   local w, h = (kW - dW) / 2, (kH - dH) / 2
   self.focused_pipeline = nn.ConcatTable()
   self.unfocused_pipeline = prescaled_input and nn.ParallelTable() or nn.ConcatTable()
   for i, ratio in ipairs(ratios) do
      self.focused_pipeline:add(nn.Sequential():add(nn.SpatialPadding(0, 0, 0, 0, yDimIn, xDimIn))
         :add(scaled(1 / ratio, xDimIn, yDimIn, 'average')):add(processors[i]))
      local whole = nn.Sequential()
      if not prescaled_input then
         whole:add(scaled(1 / ratio, xDimIn, yDimIn, 'average'))
         whole:add(nn.SpatialPadding(math.floor(w), math.ceil(w), math.floor(h), math.ceil(h), yDimIn, xDimIn))
      end
      self.unfocused_pipeline:add(whole:add(processors[i]):add(scaled(ratio, xDimOut, yDimOut, 'simple')))
   end
end

function Pyramid:focus(x, y, w, h)
   self.focused = (x and y) and true or false
   if not self.focused then return end
   self.x, self.y, self.winWidth, self.winHeight = x, y, {}, {}
   for i, ratio in ipairs(self.ratios) do
      self.winWidth[i] = ratio * (((w or 1) - 1) * self.dW + self.kW)
      self.winHeight[i] = ratio * (((h or 1) - 1) * self.dH + self.kH)
   end
end

function Pyramid:configureFocus(width, height)
   for i in ipairs(self.ratios) do
      local padder = self.focused_pipeline.modules[i].modules[1]
      local w, h = self.winWidth[i] / 2, self.winHeight[i] / 2
      padder.pad_l, padder.pad_r = math.ceil(w) - self.x, self.x + math.floor(w) - width
      padder.pad_t, padder.pad_b = math.ceil(h) - self.y, self.y + math.floor(h) - height
   end
end

function Pyramid:checkSize(input)
   for _, ratio in ipairs(self.ratios) do
      if math.fmod(input:size(2), ratio) ~= 0 or math.fmod(input:size(3), ratio) ~= 0 then
         error('SpatialPyramid: input sizes must be multiple of ratios')
      end
   end
end

local function pipeline(self) return self.focused and self.focused_pipeline or self.unfocused_pipeline end

function Pyramid:updateOutput(input)
   if not self.prescaled_input then self:checkSize(input) end
   if self.focused then self:configureFocus(input:size(3), input:size(2)) end
   self.output = pipeline(self):updateOutput(input)
   return self.output
end

function Pyramid:updateGradInput(input, gradOutput)
   self.gradInput = pipeline(self):updateGradInput(input, gradOutput)
   return self.gradInput
end

function Pyramid:accGradParameters(input, gradOutput, scale)
   pipeline(self):accGradParameters(input, gradOutput, scale)
end

function Pyramid:zeroGradParameters()
   self.focused_pipeline:zeroGradParameters()
   self.unfocused_pipeline:zeroGradParameters()
end

function Pyramid:updateParameters(rate) pipeline(self):updateParameters(rate) end
function Pyramid:parameters() return pipeline(self):parameters() end

function Pyramid:__tostring__()
   return ('SpatialPyramid (%s)\n%s'):format(self.focused and 'focused' or 'unfocused',
      (tostring(pipeline(self)):gsub('\n', '\n    |    ')))
end
