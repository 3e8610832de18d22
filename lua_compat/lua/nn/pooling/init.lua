-- Pooling of images (batch x) planes x height x width, of volumes (with time before height), of sequences (batch x)
-- frames x features, and of features; and unpooling.
local kernel = require('torch.core.kernels').of_layers
local layer = require 'nn.shared.layer'
local declared = require 'nn.shared.declared'
declared.ways('pooling', { 'maxima', 'averages', 'adaptive', 'fractional', 'temporal', 'unpooling' })
local volumes = require 'nn.shared.volumes'
local whole_numbers = require 'nn.shared.whole_numbers'
local Module = torch.getmetatable('nn.Module')
local whole = require('torch.core.arguments').whole
local STEP, PAD, DILATION = volumes.STEP, volumes.PAD, volumes.DILATION
local triple, any = volumes.triple, volumes.any

-- Methods ceil() and floor(), which choose how output sizes are rounded.
local function rounds(class)
   function class:ceil()
      self.ceil_mode = true
      return self
   end
   function class:floor()
      self.ceil_mode = false
      return self
   end
end

-- Images

local function window_text(self)
   local text = ('(%dx%d, %d,%d'):format(self.kW, self.kH, self.dW, self.dH)
   if self.padW ~= 0 or self.padH ~= 0 then text = text .. ', ' .. self.padW .. ',' .. self.padH end
   return text .. ')'
end

local function note_size(self, input)
   self.iheight, self.iwidth = input:size(input:dim() - 1), input:size(input:dim())
end
rounds(layer.maxima{ name = 'SpatialMaxPooling', before = note_size, text = window_text })
layer.maxima{ name = 'SpatialDilatedMaxPooling', before = note_size,
   text = function(self)
      return ('%s, %s,%s)'):format(window_text(self):sub(1, -2), self.dilationW, self.dilationH)
   end }

local Average = layer.plain{ name = 'SpatialAveragePooling', gradient = '_grad_input', text = window_text }
rounds(Average)
-- Sums instead of means, if divide is false
for _, method in ipairs{ 'updateOutput', 'updateGradInput' } do
   local of_means = Average[method]
   Average[method] = function(self, ...)
      local result = of_means(self, ...)
      if self.divide == false then result:mul(self.kW * self.kH) end
      return result
   end
end
function Average:setCountIncludePad()
   self.count_include_pad = true
   return self
end
function Average:setCountExcludePad()
   self.count_include_pad = false
   return self
end

layer.maxima{ name = 'SpatialAdaptiveMaxPooling' }
local AdaptiveAverage = layer.plain{ name = 'SpatialAdaptiveAveragePooling' }
function AdaptiveAverage:empty() self:clearState() end

-- (sum of |x|^p)^(1/p) over each window
local LPPooling, Sequential = torch.class('nn.SpatialLPPooling', 'nn.Sequential')
local set_norms = declared.setter 'SpatialLPPooling'
function LPPooling:__init(...)
   Sequential.__init(self)
   local _, pnorm, kW, kH = set_norms(self, ...)
   self:add(pnorm == 2 and nn.Square() or nn.Power(pnorm))
   self:add(nn.SpatialAveragePooling(kW, kH, self.dW, self.dH))
   self:add(nn.MulConstant(kW * kH))
   self:add(pnorm == 2 and nn.Sqrt() or nn.Power(1 / pnorm))
end
for _, name in ipairs{ 'reset', 'accGradParameters', 'accUpdateGradParameters', 'zeroGradParameters',
   'updateParameters' } do
   LPPooling[name] = function() end
end

-- (sum of x^power)^(1 / power) over windows of features
layer.plain{ name = 'FeatureLPPooling', check = declared.reader('FeatureLPPooling', 'width stride'),
   text = function(self)
      return ('(w%d s%d power %d batch %d'):format(self.width, self.stride, self.power, self.batch_mode and 1 or 0)
   end }

-- Sequences

layer.maxima{ name = 'TemporalMaxPooling' }

-- The k largest values of each feature, in their order; k is the larger of minK and factor times the number of frames
local KMax = torch.class('nn.TemporalDynamicKMaxPooling', 'nn.Module')
declared.construct(KMax, 'TemporalDynamicKMaxPooling')
function KMax:updateOutput(input)
   local d = input:dim() - 1
   assert(d == 1 or d == 2, 'Only 2D or 3D(batch mode) accepted')
   local frames = input:size(d)
   local k = math.max(self.minK, math.ceil(self.factor * frames))
   assert(frames >= self.minK, ('Input sequence length (%s) too small for desired k value (%s)'):format(frames, k))
   local _, order = input:sort(d, true)
   self.indices = order:narrow(d, 1, k):sort(d)
   self.output = input:gather(d, self.indices)
   return self.output
end
function KMax:updateGradInput(input, gradOutput)
   if not self.gradInput then return end
   return self.gradInput:resizeAs(input):zero():scatter(input:dim() - 1, self.indices, gradOutput)
end
function KMax:clearState()
   nn.utils.clear(self, 'indices')
   return Module.clearState(self)
end

-- Volumes

local function volume_text(self)
   local text = ('(%dx%dx%d, %d,%d,%d'):format(self.kT, self.kW, self.kH, triple(self, STEP))
   if self.padT and any(self, PAD, 0) then text = text .. (', %s,%s,%s'):format(triple(self, PAD)) end
   return text .. ')'
end

local VolumetricAverage = layer.plain{ name = 'VolumetricAveragePooling', text = volume_text }
function VolumetricAverage:empty() return self:clearState() end

local function note_volume(self, input)
   local dims = input:dim()
   self.itime, self.iheight, self.iwidth = input:size(dims - 2), input:size(dims - 1), input:size(dims)
end
local VolumetricMax = layer.maxima{ name = 'VolumetricMaxPooling', before = note_volume, text = volume_text }
rounds(VolumetricMax)
VolumetricMax.__version = 2
VolumetricMax.padT, VolumetricMax.padW, VolumetricMax.padH = 0, 0, 0 -- missing in files before version 2

-- Files before version 2 have no ceil_mode.
function VolumetricMax:read(file, version)
   Module.read(self, file)
   if version < 2 then self.ceil_mode = false end
end

layer.maxima{ name = 'VolumetricDilatedMaxPooling', before = note_volume,
   text = function(self)
      return ('%s, %d,%d,%d)'):format(volume_text(self):sub(1, -2), triple(self, DILATION))
   end }

-- Max-pooling over windows at random places, for output sizes that need not divide the input's

-- axes: their names in the constructor's order, the input's last dimension first
local function define_fractional(name, axes)
   local class = torch.class('nn.' .. name, 'nn.Module')
   local count, fields = #axes, {}
   for i, axis in ipairs(axes) do fields[i] = { size = 'out' .. axis, ratio = 'ratio' .. axis } end
   local windows = declared.reader(name, count == 3 and 'poolSizeH poolSizeW poolSizeT' or 'poolSizeH poolSizeW')

   -- window sizes, then output sizes (at least 1) or ratios (below 1)
   function class:__init(...)
      Module.__init(self)
      local exact = true
      for i = 1, count do exact = exact and select(count + i, ...) >= 1 end
      for i, axis in ipairs(axes) do
         local window, size = select(i, ...), (select(count + i, ...))
         assert(window >= 2)
         self['poolSize' .. axis] = window
         if exact then
            self['out' .. axis] = size
         else
            assert(size > 0 and size < 1)
            self['ratio' .. axis] = size
         end
      end
      self.newRandomPool = false
   end

   function class:getBufferSize_(input)
      local dims = input:dim()
      if dims ~= count + 1 and dims ~= count + 2 then
         error(('input must be dim %d or %d'):format(count + 1, count + 2))
      end
      local first = dims - count
      return torch.LongStorage{ first == 2 and input:size(1) or 1, input:size(first), count }
   end

   function class:initSampleBuffer_(input)
      local size = self:getBufferSize_(input)
      local samples = self.randomSamples
      local fits = samples and samples:size(1) == size[1] and samples:size(2) == size[2]
      if not fits or not self.newRandomPool then
         self.randomSamples = (samples or input.new()):resize(size):uniform()
      end
   end

   local function has_ratio(self, i) return i > count or self[fields[i].ratio] ~= nil end
   local function output_size(self, input, i, by_ratio)
      local field = fields[i]
      local size = by_ratio and math.floor(input:size(input:dim() + 1 - i) * self[field.ratio]) or self[field.size]
      size = whole(size)
      if size < 1 then error('reduction ratio or input size too small') end
      return size
   end
   function class:getOutputSizes_(input)
      local by_ratio = has_ratio(self, 1) and has_ratio(self, 2) and has_ratio(self, 3)
      local a, b = output_size(self, input, 1, by_ratio), output_size(self, input, 2, by_ratio)
      if count == 2 then return a, b end
      return a, b, output_size(self, input, 3, by_ratio)
   end
   local function check_size(gradOutput, dims, i, size)
      if gradOutput:dim() ~= dims or gradOutput:size(dims + 1 - i) ~= size then
         declared.refuse(3, 'gradOutput %s unexpected', volumes.SIZES[axes[i]])
      end
   end

   -- Whether the regions stay the same from now on.
   function class:fixPoolingRegions(fixed)
      self.newRandomPool = fixed == nil or fixed
      return self
   end

   function class:updateOutput(input)
      self.indices = whole_numbers.beside(input, self.indices)
      self:initSampleBuffer_(input)
      local a, b, c = self:getOutputSizes_(input)
      if c then
         kernel.fractional_max_pooling(self.output, self.indices, input, self.randomSamples, c, b, a, windows(self))
      else
         kernel.fractional_max_pooling(self.output, self.indices, input, self.randomSamples, b, a, windows(self))
      end
      return self.output
   end

   function class:updateGradInput(input, gradOutput)
      assert(self.randomSamples, 'must call updateOutput/forward first')
      windows(self)
      local dims, a, b, c = input:dim(), self:getOutputSizes_(input)
      check_size(gradOutput, dims, 1, a)
      check_size(gradOutput, dims, 2, b)
      if c then check_size(gradOutput, dims, 3, c) end
      kernel.fractional_max_pooling_grad_input(self.gradInput, input, gradOutput, self.indices, count)
      return self.gradInput
   end

   function class:empty() self:clearState() end
   function class:clearState()
      self.indices, self.randomSamples = nil, nil
      return Module.clearState(self)
   end

   function class:__tostring__()
      local sizes, windows = {}, {}
      for i, axis in ipairs(axes) do
         sizes[i] = ('%d'):format(self['out' .. axis] or self['ratio' .. axis])
         windows[i] = ('%d'):format(self['poolSize' .. axis])
      end
      return ('%s(%s, %s)'):format(torch.type(self), table.concat(sizes, 'x'), table.concat(windows, ','))
   end
end
define_fractional('SpatialFractionalMaxPooling', { 'W', 'H' })
define_fractional('VolumetricFractionalMaxPooling', { 'T', 'W', 'H' })

-- The inverse of max-pooling: each element returns to where a pooling module found it; all others are zero.

-- axes: their letters in fields; taken: the sizes of an output; copied: fields of the pooling module that an unpooling
-- has, too
local function define_unpooling(name, axes, taken, copied)
   local pooling_name = 'nn.' .. name:gsub('Unpooling$', 'Pooling')
   local class, sizes = torch.class('nn.' .. name, 'nn.Module'), declared.reader(name, taken)
   local names = {}
   for _, axis in ipairs(axes) do
      names[#names + 1] = { from = 'i' .. volumes.SIZES[axis], to = 'o' .. volumes.SIZES[axis] }
   end
   for _, field in ipairs(copied) do names[#names + 1] = { from = field, to = field } end

   function class:__init(poolingModule)
      Module.__init(self)
      assert(torch.type(poolingModule) == pooling_name, ('Argument must be a %s module'):format(pooling_name))
      for _, axis in ipairs(axes) do
         assert(poolingModule['k' .. axis] == poolingModule['d' .. axis],
            "The size of pooling module's kernel must be equal to its stride")
      end
      self.pooling = poolingModule
   end

   -- Copies the parameters of the last pooling.
   function class:setParams()
      local pooling = self.pooling
      self.indices = pooling.indices
      for k = 1, #names do self[names[k].to] = pooling[names[k].from] end
   end

   function class:updateOutput(input)
      self:setParams()
      kernel.max_unpooling(self.output, input, self.indices, sizes(self))
      return self.output
   end
   function class:updateGradInput(input, gradOutput)
      self:setParams()
      kernel.max_unpooling_grad_input(self.gradInput, input, gradOutput, self.indices, sizes(self))
      return self.gradInput
   end

   function class:empty() self:clearState() end
   function class:__tostring__() return torch.type(self) .. ' associated to ' .. tostring(self.pooling) end
end
define_unpooling('SpatialMaxUnpooling', { 'H', 'W' }, 'oheight owidth', {})
define_unpooling('VolumetricMaxUnpooling', { 'T', 'H', 'W' }, 'otime oheight owidth',
   { 'dT', 'dH', 'dW', 'padT', 'padH', 'padW' })
