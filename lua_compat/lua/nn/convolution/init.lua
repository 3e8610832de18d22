-- Convolutions of images (batch x) planes x height x width, of volumes (with time before height) and of sequences
-- (batch x) frames x features.
local kernel = require('torch.core.kernels').of_layers
local layer = require 'nn.shared.layer'
local declared = require 'nn.shared.declared'
declared.ways('convolution', { 'products', 'temporal', 'depthwise', 'local', 'connection_tables', 'subsampling' })
local volumes = require 'nn.shared.volumes'
local kept = require 'nn.convolution.luajit.kept_windows'
local whole = require('torch.core.arguments').whole
local Module = torch.getmetatable('nn.Module')
local KERNEL, STEP, PAD, ADJUST = volumes.KERNEL, volumes.STEP, volumes.PAD, volumes.ADJUST
local triple, any = volumes.triple, volumes.any

-- Images

-- Shared by nn.SpatialConvolution and nn.SpatialConvolutionMM. weight_sizes(self): the shape of the weight.
local function define_dense(name, weight_sizes)
   local class = torch.class('nn.' .. name, 'nn.Module')
   local set, window = declared.setter(name), declared.reader(name)

   function class:__init(...)
      Module.__init(self)
      set(self, ...)
      self.weight, self.gradWeight = torch.Tensor(weight_sizes(self)), torch.Tensor(weight_sizes(self))
      self.bias, self.gradBias = torch.Tensor(self.nOutputPlane), torch.Tensor(self.nOutputPlane)
      self:reset()
   end

   function class:noBias()
      self.bias, self.gradBias = nil, nil
      return self
   end

   function class:reset(stdv)
      stdv = stdv and stdv * math.sqrt(3) or 1 / math.sqrt(self.kW * self.kH * self.nInputPlane)
      self.weight:uniform(-stdv, stdv)
      if self.bias then self.bias:uniform(-stdv, stdv) end
   end

   -- Modules saved by old versions have one padding for both directions.
   local function upgrade(self)
      if self.padding then self.padW, self.padH, self.padding = self.padding, self.padding, nil end
      self.padW, self.padH = self.padW or 0, self.padH or 0
   end

   function class:updateOutput(input)
      upgrade(self)
      kept.announce(self)
      kernel.spatial_convolution(self.output, input, self.weight, self.bias, window(self))
      return self.output
   end

   function class:updateGradInput(input, gradOutput)
      if not self.gradInput then return end
      upgrade(self)
      kernel.spatial_convolution_grad_input(self.gradInput, input, gradOutput, self.weight, window(self))
      return self.gradInput
   end

   function class:accGradParameters(input, gradOutput, scale)
      upgrade(self)
      assert((self.bias == nil) == (self.gradBias == nil))
      kept.announce(self)
      local kW, kH, dW, dH, padW, padH = window(self)
      kernel.spatial_convolution_grad_weight(self.gradWeight, self.gradBias, input, gradOutput, kW, kH, dW, dH, padW,
         padH, scale or 1)
   end

   function class:type(name_of_type, cache)
      self.finput = self.finput and torch.Tensor()
      self.fgradInput = self.fgradInput and torch.Tensor()
      return Module.type(self, name_of_type, cache)
   end

   function class:clearState()
      nn.utils.clear(self, 'finput', 'fgradInput', '_input', '_gradOutput')
      return Module.clearState(self)
   end

   function class:__tostring__()
      local text = ('%s(%d -> %d, %dx%d'):format(torch.type(self), self.nInputPlane, self.nOutputPlane, self.kW,
         self.kH)
      local padded = self.padW ~= 0 or self.padH ~= 0
      if self.dW ~= 1 or self.dH ~= 1 or padded then text = text .. (', %d,%d'):format(self.dW, self.dH) end
      if padded then text = text .. ', ' .. self.padW .. ',' .. self.padH end
      return text .. (self.bias and ')' or ') without bias')
   end
end

define_dense('SpatialConvolution', function(self) return self.nOutputPlane, self.nInputPlane, self.kH, self.kW end)
define_dense('SpatialConvolutionMM', function(self) return self.nOutputPlane, self.nInputPlane * self.kH * self.kW end)

local function fan_in(self) return self.kW * self.kH * self.nInputPlane end
local function output_planes(self) return self.nOutputPlane end

local function image_text(extra)
   return function(self)
      local text = ('(%d -> %d, %dx%d'):format(self.nInputPlane, self.nOutputPlane, self.kW, self.kH)
      local padded = self.padW ~= 0 or self.padH ~= 0
      if self.dW ~= 1 or self.dH ~= 1 or padded then text = text .. (', %d,%d'):format(self.dW, self.dH) end
      if padded then text = text .. ', ' .. self.padW .. ',' .. self.padH end
      return text .. (extra and extra(self) or '') .. (self.bias and ')' or ') without bias')
   end
end

layer.with_parameters{ name = 'SpatialDilatedConvolution',
   weight = function(self) return self.nOutputPlane, self.nInputPlane, self.kH, self.kW end,
   sizes = { false, false, 'kH', 'kW' },
   bias = output_planes, fan_in = fan_in,
   text = image_text(function(self) return ', ' .. self.dilationW .. ',' .. self.dilationH end) }

local DepthWise = layer.with_parameters{ name = 'SpatialDepthWiseConvolution', bias_is_optional = true,
   weight = function(self) return self.nOutputPlane, self.nInputPlane * self.kH * self.kW end,
   bias = function(self) return self.nOutputPlane, self.nInputPlane end,
   fan_in = fan_in, text = image_text() }

-- From the first use on, its weight is viewed as output x input x height x width.
local depthwise_output = DepthWise.updateOutput
local kernel_sizes = declared.reader('SpatialDepthWiseConvolution', 'kW kH')
function DepthWise:updateOutput(input)
   if self.weight:dim() == 2 then
      local kW, kH = kernel_sizes(self)
      if self.nInputPlane * kH * kW ~= self.weight:size(2) then
         error(('a weight of %d columns, but kW, kH and nInputPlane make %d'):format(self.weight:size(2),
            self.nInputPlane * kH * kW), 0)
      end
      for _, name in ipairs{ 'weight', 'gradWeight' } do
         self[name]:resize(self.nOutputPlane, self.nInputPlane, kH, kW)
      end
   end
   return depthwise_output(self, input)
end

local full_window = declared.reader('SpatialFullConvolution', 'kW kH dW dH padW padH adjW adjH')

-- For an input { image, target }, the target's sizes determine adjW and adjH.
local function full_arguments(self, input)
   local kW, kH, dW, dH, padW, padH, adjW, adjH = full_window(self)
   if not torch.isTensor(input) then
      local target = input[2]
      local height, width = target:size(target:dim() - 1), target:size(target:dim())
      adjW, adjH = (width + 2 * padW - kW) % dW, (height + 2 * padH - kH) % dH
   end
   return 'transposed', dW, dH, padW, padH, adjW, adjH
end

layer.with_parameters{ name = 'SpatialFullConvolution', bias_is_optional = true, takes_target = true,
   arguments = full_arguments,
   check = function(self)
      if self.adjW > self.dW - 1 or self.adjH > self.dH - 1 then
         error('adjW and adjH must be smaller than self.dW - 1 and self.dH - 1 respectively', 3)
      end
   end,
   weight = function(self) return self.nInputPlane, self.nOutputPlane, self.kH, self.kW end,
   sizes = { false, false, 'kH', 'kW' },
   bias = output_planes, fan_in = fan_in,
   text = image_text(function(self)
      return (self.adjW ~= 0 or self.adjH ~= 0) and ', ' .. self.adjW .. ',' .. self.adjH or ''
   end) }

local Local = layer.with_parameters{ name = 'SpatialConvolutionLocal',
   check = function(self)
      self.oW = math.floor((2 * self.padW + self.iW - self.kW) / self.dW) + 1
      self.oH = math.floor((2 * self.padH + self.iH - self.kH) / self.dH) + 1
      assert(self.oW >= 1 and self.oH >= 1, 'illegal configuration: output width or height less than 1')
   end,
   weight = function(self) return self.oH, self.oW, self.nOutputPlane, self.nInputPlane, self.kH, self.kW end,
   bias = function(self) return self.nOutputPlane, self.oH, self.oW end,
   fan_in = fan_in,
   text = function(self)
      local text = ('(%d -> %d, %dx%d, %dx%d'):format(self.nInputPlane, self.nOutputPlane, self.iW, self.iH, self.kW,
         self.kH)
      local padded = self.padW ~= 0 or self.padH ~= 0
      if self.dW ~= 1 or self.dH ~= 1 or padded then text = text .. (', %d,%d'):format(self.dW, self.dH) end
      if padded then text = text .. ', ' .. self.padW .. ',' .. self.padH end
      return text .. ')'
   end }

-- Raises unless t (what: 'input' or 'output') is planes x height x width, perhaps with a batch dimension.
local function check_local(t, what, ...)
   local dims = t:dim()
   if dims ~= 3 and dims ~= 4 then error('3D or 4D(batch mode) tensor expected', 3) end
   for i = 1, 3 do
      if t:size(dims - 3 + i) ~= select(i, ...) then
         error(('Given %s size: (%s) inconsistent with expected %s size: (%s%dx%dx%d).'):format(what,
            table.concat(t:size():totable(), 'x'), what, dims == 4 and 'batchsize x' or '', ...), 3)
      end
   end
end
-- The weight may have any sizes, as long as it has as many elements as these fields imply.
local weight_fields = { 'oH', 'oW', 'nOutputPlane', 'nInputPlane', 'kH', 'kW' }
local function check_local_weight(self)
   local elements = 1
   for _, name in ipairs(weight_fields) do
      if type(self[name]) ~= 'number' then error(('%s: %s is not a number'):format(torch.type(self), name), 3) end
      elements = elements * self[name]
   end
   if self.weight:nElement() ~= elements then
      error(('%s: the weight has %d elements, but %s make %s'):format(torch.type(self), self.weight:nElement(),
         table.concat(weight_fields, ', '), tostring(elements)), 3)
   end
end
local forward, gradient, of_parameters = Local.updateOutput, Local.updateGradInput, Local.accGradParameters
function Local:updateOutput(input)
   check_local_weight(self)
   check_local(input, 'input', self.nInputPlane, self.iH, self.iW)
   return forward(self, input)
end
function Local:accGradParameters(input, gradOutput, scale)
   check_local_weight(self)
   return of_parameters(self, input, gradOutput, scale)
end
function Local:updateGradInput(input, gradOutput)
   check_local_weight(self)
   check_local(input, 'input', self.nInputPlane, self.iH, self.iW)
   if gradOutput:dim() ~= input:dim() then error('inconsistent dimension between output and input.') end
   check_local(gradOutput, 'output', self.nOutputPlane, self.oH, self.oW)
   return gradient(self, input, gradOutput)
end

layer.with_parameters{ name = 'SpatialSubSampling',
   weight = function(self) return self.nInputPlane end, bias = function(self) return self.nInputPlane end,
   fan_in = function(self) return self.kW * self.kH end }

-- Sequences

local TemporalConvolution = layer.with_parameters{ name = 'TemporalConvolution',
   weight = function(self) return self.outputFrameSize, self.inputFrameSize * self.kW end,
   sizes = { 'outputFrameSize', false },
   bias = function(self) return self.outputFrameSize end,
   fan_in = function(self) return self.kW * self.inputFrameSize end }
local convolve = TemporalConvolution.updateOutput
function TemporalConvolution:updateOutput(input)
   local expected, dims = self.inputFrameSize, input:dim()
   local got = dims > 0 and input:size(dims)
   if expected and (dims == 2 or dims == 3) and whole(expected) ~= got then
      declared.refuse(2, 'invalid input frame size. Got: %d, Expected: %d', got, whole(expected))
   end
   return convolve(self, input)
end
TemporalConvolution.sharedAccUpdateGradParameters = TemporalConvolution.defaultAccUpdateGradParameters

layer.with_parameters{ name = 'TemporalSubSampling',
   weight = function(self) return self.inputFrameSize end, bias = function(self) return self.inputFrameSize end,
   sizes = { 'inputFrameSize' },
   fan_in = function(self) return self.kW end }

layer.with_parameters{ name = 'TemporalRowConvolution', bias_is_optional = true,
   weight = function(self) return self.inputFrameSize, 1, self.kW end,
   sizes = { false, false, 'kW' },
   bias = function(self) return self.inputFrameSize end,
   fan_in = function(self) return self.kW * self.inputFrameSize end,
   text = function(self)
      return ('(%d, %d%s)'):format(self.inputFrameSize, self.kW, self.dW ~= 1 and ', ' .. self.dW or '')
         .. (self.bias and '' or ' without bias')
   end }

-- Volumes

local OF_VOLUMES = { false, false, 'kT', 'kH', 'kW' }

local function volume_text(self)
   local text = ('(%d -> %d, %dx%dx%d'):format(self.nInputPlane, self.nOutputPlane, triple(self, KERNEL))
   if any(self, STEP, 1) or any(self, PAD, 0) then text = text .. (', %d,%d,%d'):format(triple(self, STEP)) end
   if any(self, PAD, 0) then text = text .. (', %s,%s,%s'):format(triple(self, PAD)) end
   if self.adjT and any(self, ADJUST, 0) then text = text .. (', %s,%s,%s'):format(triple(self, ADJUST)) end
   return text .. ')'
end
local function volume(self) return self.kT * self.kW * self.kH * self.nInputPlane end

local function weight_sizes(self) return self.nOutputPlane, self.nInputPlane, self.kT, self.kH, self.kW end

layer.with_parameters{ name = 'VolumetricConvolution', bias_is_optional = true, keeps_windows = true,
   sizes = OF_VOLUMES, weight = weight_sizes, bias = output_planes, fan_in = volume, text = volume_text }

local Dilated = layer.with_parameters{ name = 'VolumetricDilatedConvolution', sizes = OF_VOLUMES,
   weight = weight_sizes, bias = output_planes, fan_in = volume }
function Dilated:__tostring__()
   return ('%s%s, %d,%d,%d)%s'):format(torch.type(self), volume_text(self):sub(1, -2), self.dilationT, self.dilationW,
      self.dilationH, self.bias and '' or ' without bias')
end

local full_volume = declared.reader('VolumetricFullConvolution', 'dT dW dH padT padW padH adjT adjW adjH')
local full_kernel = declared.reader('VolumetricFullConvolution', 'kT kW kH')

-- For an input { volume, target }, the target's sizes determine adjT, adjW and adjH.
local function full_volume_arguments(self, input)
   local dT, dW, dH, padT, padW, padH, adjT, adjW, adjH = full_volume(self)
   if not torch.isTensor(input) then
      local kT, kW, kH = full_kernel(self)
      local target = input[2]
      local nd = target:dim()
      local time, height, width = target:size(nd - 2), target:size(nd - 1), target:size(nd)
      adjT, adjW, adjH = (time + 2 * padT - kT) % dT, (width + 2 * padW - kW) % dW, (height + 2 * padH - kH) % dH
   end
   return 'transposed', dT, dW, dH, padT, padW, padH, adjT, adjW, adjH
end

layer.with_parameters{ name = 'VolumetricFullConvolution', bias_is_optional = true, takes_target = true,
   arguments = full_volume_arguments,
   check = function(self)
      if self.adjW > self.dW - 1 or self.adjH > self.dH - 1 or self.adjT > self.dT - 1 then
         error('adjW, adjH and adjT must be smaller than self.dW - 1, self.dH - 1 and self.dT - 1 respectively', 3)
      end
   end,
   weight = function(self) return self.nInputPlane, self.nOutputPlane, self.kT, self.kH, self.kW end,
   bias = output_planes, fan_in = volume, text = volume_text }

-- nn.tables: connection tables, connections x (input plane, output plane), and convolutions that use them.

nn.tables = nn.tables or {}

-- Connects every input plane to every output plane.
function nn.tables.full(nin, nout)
   local t = torch.Tensor(nin * nout, 2)
   for o = 1, nout do
      for i = 1, nin do
         local row = t[(o - 1) * nin + i]
         row[1], row[2] = i, o
      end
   end
   return t
end

function nn.tables.oneToOne(nfeat)
   local planes = torch.range(1, nfeat):view(-1, 1)
   return torch.cat(planes, planes, 2)
end

-- Connects each output plane to nto input planes, taken in turn from a random order; a new order is drawn when it is
-- used up.
function nn.tables.random(nin, nout, nto)
   local t = torch.Tensor(nto * nout, 2)
   local order = torch.randperm(nin)
   local chunks, used = math.floor(nin / nto), 0
   for o = 1, nout do
      local rows = t:narrow(1, (o - 1) * nto + 1, nto)
      rows:select(2, 1):copy(order:narrow(1, used * nto + 1, nto))
      rows:select(2, 2):fill(o)
      used = used + 1
      if used == chunks then
         order:copy(torch.randperm(nin))
         used = 0
      end
   end
   return t
end

-- full: the output covers all positions where image and kernel overlap
local function define_mapped(name, full)
   local class = torch.class('nn.' .. name, 'nn.Module')
   local set, steps = declared.setter(name), declared.reader(name, 'dW dH nInputPlane nOutputPlane')

   function class:__init(connTable, kW, kH, dW, dH)
      Module.__init(self)
      set(self, connTable, kW, kH, dW, dH)
      self.nInputPlane, self.nOutputPlane = connTable:select(2, 1):max(), connTable:select(2, 2):max()
      for _, field in ipairs{ 'weight', 'gradWeight' } do self[field] = torch.Tensor(connTable:size(1), kH, kW) end
      for _, field in ipairs{ 'bias', 'gradBias' } do self[field] = torch.Tensor(self.nOutputPlane) end
      self:reset()
   end

   -- By default uniform within 1 / sqrt(fan-in of the output plane).
   function class:reset(stdv)
      if stdv then
         stdv = stdv * math.sqrt(3)
         self.weight:uniform(-stdv, stdv)
         self.bias:uniform(-stdv, stdv)
         return
      end
      local outputs, inputs_of = self.connTable:select(2, 2):totable(), {}
      for _, o in ipairs(outputs) do inputs_of[o] = (inputs_of[o] or 0) + 1 end
      local function spread(o) return 1 / math.sqrt(self.kW * self.kH * (inputs_of[o] or 0)) end
      for k, o in ipairs(outputs) do self.weight:select(1, k):uniform(-spread(o), spread(o)) end
      for o = 1, self.nOutputPlane do self.bias[o] = torch.uniform(-spread(o), spread(o)) end
   end

   function class:updateOutput(input)
      local dW, dH = steps(self)
      kernel.mapped_convolution(self.output, input, self.weight, self.bias, self.connTable, dW, dH, full)
      return self.output
   end
   function class:updateGradInput(input, gradOutput)
      local dW, dH = steps(self)
      kernel.mapped_convolution_grad_input(self.gradInput, input, gradOutput, self.weight, self.bias, self.connTable,
         dW, dH, full)
      return self.gradInput
   end
   function class:accGradParameters(input, gradOutput, scale)
      local dW, dH = steps(self)
      kernel.mapped_convolution_grad_parameters(self.gradWeight, self.gradBias, input, gradOutput, self.weight,
         self.bias, self.connTable, dW, dH, full, scale or 1)
   end
   return class
end

local Map = define_mapped('SpatialConvolutionMap', false)
function Map:decayParameters(decay)
   self.weight:add(-decay, self.weight)
   self.bias:add(-decay, self.bias)
end

define_mapped('SpatialFullConvolutionMap', true)

-- Defaults for modules in files of versions without these fields; the class provides them to its objects.
for _, name in ipairs{ 'SpatialConvolution', 'SpatialConvolutionMM', 'SpatialDilatedConvolution',
   'SpatialConvolutionLocal', 'SpatialFullConvolution', 'SpatialDepthWiseConvolution', 'SpatialSubSampling',
   'SpatialConvolutionMap', 'SpatialFullConvolutionMap', 'TemporalConvolution', 'TemporalSubSampling',
   'TemporalRowConvolution', 'VolumetricConvolution', 'VolumetricDilatedConvolution',
   'VolumetricFullConvolution' } do
   declared.give_class(nn[name], name)
end
