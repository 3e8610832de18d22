-- The package cudnn: nn's layers under cuDNN's names. On a GPU, PyTorch runs them with cuDNN.
require 'cunn'
local python = require('th.python').functions
local declared = require 'nn.shared.declared'

cudnn = cudnn or {}
cudnn.benchmark, cudnn.fastest, cudnn.verbose, cudnn.useFindEx = false, false, false, false
local _, version = python.cuda_versions()
cudnn.version = version > 0 and version or 5110 -- scripts read it; without a GPU, the version of R5
cudnn.typemap = { ['torch.CudaHalfTensor'] = 'CUDNN_DATA_HALF', ['torch.CudaTensor'] = 'CUDNN_DATA_FLOAT',
   ['torch.CudaDoubleTensor'] = 'CUDNN_DATA_DOUBLE' }

-- cuDNN's constants that scripts compare with.
cudnn.C = { CUDNN_POOLING_MAX = 0, CUDNN_POOLING_AVERAGE = 1, CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING = 1,
   CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING = 2 }

-- The type in which tensors of each type are computed. Only recorded: PyTorch chooses.
local math_types
function cudnn.configureMath(overrides)
   math_types = { ['torch.CudaHalfTensor'] = cutorch.hasFastHalfInstructions() and 'CUDNN_DATA_HALF'
      or 'CUDNN_DATA_FLOAT',
      ['torch.CudaTensor'] = 'CUDNN_DATA_FLOAT', ['torch.CudaDoubleTensor'] = 'CUDNN_DATA_DOUBLE' }
   for tensor_type, kind in pairs(overrides or {}) do math_types[tensor_type] = kind end
end
function cudnn.configmap(tensor_type)
   if not math_types then cudnn.configureMath() end
   return math_types[tensor_type]
end

local SIZES = { ['torch.CudaHalfTensor'] = 2, ['torch.CudaTensor'] = 4, ['torch.CudaDoubleTensor'] = 8 }
function cudnn.sizeof(t) return SIZES[torch.type(t)] end

-- A stand-in for cuDNN's handle, the first argument of functions.
local handle = {}
function cudnn.getHandle() return handle end

-- Settings for the choice of cuDNN's algorithms and their memory. They can be set, but PyTorch decides.
cudnn.initialWorkspaceBytes, cudnn.reservedGPUBytes, cudnn.maxWorkspaceGPUMemPercent = 1024, 1024 * 1024, 95
cudnn.find = { verbose = false, verboseError = true, verboseFallback = true }
function cudnn.find.reset() cutorch.synchronizeAll() end
function cudnn.reset()
   cutorch.synchronize()
   collectgarbage()
   cudnn.find.reset()
end

local function check_input(self, input)
   if torch.isTensor(input) and not input:type():find('Cuda') then
      error(('%s works on CUDA tensors only, and its input is a %s'):format(torch.type(self), input:type()), 3)
   end
end

-- The script chooses whether cuDNN times its algorithms; a layer reads the setting when it runs.
local tuned
local function follow_switches()
   local wanted = cudnn.benchmark or cudnn.fastest
   if wanted ~= tuned then
      python.cudnn_benchmark(wanted)
      tuned = wanted
   end
end

-- Defines a class of cudnn that inherits from nn's class of that name.
local function on_top(name, nn_name)
   local class, parent = torch.class('cudnn.' .. name, 'nn.' .. (nn_name or name))
   function class:updateOutput(input)
      check_input(self, input)
      follow_switches()
      return parent.updateOutput(self, input)
   end
   function class:clearDesc() end
   return class, parent
end

-- Convolutions

local function with_modes(class)
   -- PyTorch cannot choose individual cuDNN algorithms; fastest() turns on timing.
   function class:fastest(mode)
      self.fastest_mode = mode == nil or mode
      if self.fastest_mode then cudnn.fastest = true end
      return self
   end
   function class:setMode(forward, backward_data, backward_filter)
      self.fmode, self.bdmode, self.bwmode = forward or self.fmode, backward_data or self.bdmode,
         backward_filter or self.bwmode
      return self
   end
   function class:resetMode()
      self.fmode, self.bdmode, self.bwmode = nil, nil, nil
      return self
   end
   function class:resetWeightDescriptors() return self end
end

local Convolution, SpatialConvolution = on_top 'SpatialConvolution'
with_modes(Convolution)
local update_output = Convolution.updateOutput

local set_convolution = declared.setter 'cudnn.SpatialConvolution'
function Convolution:__init(nInputPlane, nOutputPlane, kW, kH, ...)
   set_convolution(self, nInputPlane, nOutputPlane, kW, kH, ...)
   for name, planes in pairs{ nInputPlane = nInputPlane, nOutputPlane = nOutputPlane } do
      if planes % self.groups ~= 0 then error(name .. ' should be divisible by nGroups', 2) end
   end
   local delayed = self.reset
   self.reset = function() end -- initialise only once the parameters have their final shape
   SpatialConvolution.__init(self, nInputPlane, nOutputPlane, kW, kH, self.dW, self.dH, self.padW, self.padH)
   self.reset = delayed
   if self.groups > 1 then
      self.weight = torch.Tensor(nOutputPlane, nInputPlane / self.groups, kH, kW)
      self.gradWeight = torch.Tensor(nOutputPlane, nInputPlane / self.groups, kH, kW)
   end
   self:reset()
   self.reset = nil
end

-- Calls f(group's module, group's part of each tensor...) for each group: its planes of input, output and parameters.
local function by_group(self, f)
   for group = 1, self.groups do
      local function piece(t, planes, dimension)
         local each = planes / self.groups
         return t:narrow(dimension, (group - 1) * each + 1, each)
      end
      f(piece)
   end
end

-- The computation of one group, as an nn module that shares this one's parameters.
local function module_of_group(self, piece)
   local function of_outputs(t) return t and piece(t, self.nOutputPlane, 1) end
   local module = torch.factory('nn.SpatialConvolution')()
   for _, name in ipairs{ 'kW', 'kH', 'dW', 'dH', 'padW', 'padH' } do module[name] = self[name] end
   module.nInputPlane, module.nOutputPlane = self.nInputPlane / self.groups, self.nOutputPlane / self.groups
   module.weight, module.bias = of_outputs(self.weight), of_outputs(self.bias)
   module.gradWeight, module.gradBias = of_outputs(self.gradWeight), of_outputs(self.gradBias)
   module.output, module.gradInput = self.output.new(), self.output.new()
   return module
end

local function grouped(self) return self.groups and self.groups > 1 end

function Convolution:updateOutput(input)
   if not grouped(self) then return update_output(self, input) end
   check_input(self, input)
   local planes = input:dim() - 2
   local outputs = {}
   by_group(self, function(piece)
      outputs[#outputs + 1] = module_of_group(self, piece):updateOutput(piece(input, self.nInputPlane, planes))
   end)
   self.output = torch.cat(self.output, outputs, planes)
   return self.output
end

function Convolution:updateGradInput(input, gradOutput)
   if not self.gradInput then return end
   if not grouped(self) then return SpatialConvolution.updateGradInput(self, input, gradOutput) end
   local planes = input:dim() - 2
   local gradients = {}
   by_group(self, function(piece)
      gradients[#gradients + 1] = module_of_group(self, piece):updateGradInput(
         piece(input, self.nInputPlane, planes), piece(gradOutput, self.nOutputPlane, planes))
   end)
   self.gradInput = torch.cat(self.gradInput, gradients, planes)
   return self.gradInput
end

function Convolution:accGradParameters(input, gradOutput, scale)
   if not grouped(self) then return SpatialConvolution.accGradParameters(self, input, gradOutput, scale) end
   local planes = input:dim() - 2
   by_group(self, function(piece)
      module_of_group(self, piece):accGradParameters(piece(input, self.nInputPlane, planes),
         piece(gradOutput, self.nOutputPlane, planes), scale)
   end)
end

for _, name in ipairs{ 'SpatialFullConvolution', 'VolumetricConvolution', 'VolumetricFullConvolution' } do
   with_modes((on_top(name)))
end

-- Unlike nn's, cuDNN's convolution of sequences can pad with frames of zeros.
local Temporal, TemporalConvolution = on_top 'TemporalConvolution'
with_modes(Temporal)
local update_temporal = Temporal.updateOutput

local set_temporal, padding_of = declared.setter 'cudnn.TemporalConvolution',
   declared.reader('cudnn.TemporalConvolution', 'padH')
function Temporal:__init(...)
   TemporalConvolution.__init(self, ...)
   set_temporal(self, ...)
end

local function is_padded(self) return padding_of(self) > 0 end

-- The frames without the padding; they are the last dimension but one.
local function inner_frames(self, padded)
   local d = padded:dim() - 1
   return padded:narrow(d, self.padH + 1, padded:size(d) - 2 * self.padH)
end
local function padded_frames(self, input)
   if not is_padded(self) then return input end
   local size = input:size()
   size[input:dim() - 1] = size[input:dim() - 1] + 2 * self.padH
   local padded = input.new(size):zero()
   inner_frames(self, padded):copy(input)
   return padded
end

function Temporal:updateOutput(input)
   check_input(self, input)
   return update_temporal(self, padded_frames(self, input))
end
function Temporal:updateGradInput(input, gradOutput)
   local gradient = TemporalConvolution.updateGradInput(self, padded_frames(self, input), gradOutput)
   if gradient and is_padded(self) then self.gradInput = inner_frames(self, gradient):clone() end
   return self.gradInput
end
function Temporal:accGradParameters(input, gradOutput, scale)
   TemporalConvolution.accGradParameters(self, padded_frames(self, input), gradOutput, scale)
end

-- Pooling. The stride of nn's average pooling is 1 by default; cuDNN's defaults to the window size.

on_top 'SpatialMaxPooling'
local AveragePooling = on_top 'SpatialAveragePooling'
declared.construct(AveragePooling, 'cudnn.SpatialAveragePooling')
-- Its means always count the padding, however it was made or converted.
local update_average = AveragePooling.updateOutput
function AveragePooling:updateOutput(input)
   assert(self.divide ~= false, 'not supported')
   self.count_include_pad = true
   return update_average(self, input)
end
for _, name in ipairs{ 'VolumetricMaxPooling', 'VolumetricAveragePooling' } do on_top(name) end

-- The other layers are nn's under other names
for _, name in ipairs{ 'ReLU', 'SpatialSoftMax', 'SpatialLogSoftMax' } do on_top(name) end

require 'cudnn.normalization'(function(self, input)
   check_input(self, input)
   follow_switches()
end)

-- Defines a class of cudnn that applies nn's class to other views of input and gradients: view(t).
local function on_view(name, nn_name, view)
   local class, parent = torch.class('cudnn.' .. name, 'nn.' .. nn_name)
   function class:updateOutput(input)
      check_input(self, input)
      self.output = parent.updateOutput(self, view(input:contiguous())):viewAs(input)
      return self.output
   end
   function class:updateGradInput(input, gradOutput)
      self.output = view(self.output)
      local gradient = parent.updateGradInput(self, view(input:contiguous()), view(gradOutput:contiguous()))
      self.output, self.gradInput = self.output:viewAs(input), gradient:viewAs(input)
      return self.gradInput
   end
   function class:clearDesc() end
end

-- Over all elements of a sample, not only over its planes as in nn.
local function of_sample(t)
   if t:dim() == 3 then return t:view(-1) end
   return t:dim() > 2 and t:view(t:size(1), -1) or t
end
-- Over the planes of a volume: time and height are merged into one dimension.
local function as_image(t)
   local d = t:dim()
   if d == 4 then return t:view(t:size(1), -1, t:size(4)) end
   assert(d == 5, 'input should either be a 3d image or a minibatch of them')
   return t:view(t:size(1), t:size(2), -1, t:size(5))
end
for _, name in ipairs{ 'SoftMax', 'LogSoftMax' } do
   on_view(name, name, of_sample)
   on_view('Volumetric' .. name, 'Spatial' .. name, as_image)
end

local LRN = on_top 'SpatialCrossMapLRN'
declared.construct(LRN, 'cudnn.SpatialCrossMapLRN')
local init_lrn = LRN.__init
function LRN:__init(...)
   init_lrn(self, ...)
   assert(self.size >= 1 and self.size <= 16, 'size has to be between 1 and 16')
   assert(self.k >= 1e-5, 'k has to be greater than 1e-5')
   assert(self.beta >= 0.01, 'beta has to be > 0.01')
end

-- Tanh and Sigmoid accept cuDNN's in-place flag
for _, name in ipairs{ 'Tanh', 'Sigmoid' } do
   local class, parent = on_top(name)
   local update = class.updateOutput
   declared.construct(class, 'cudnn.' .. name)
   function class:updateOutput(input)
      if self.inplace then self.output:set(input) end
      return update(self, input)
   end
   function class:updateGradInput(input, gradOutput)
      if self.inplace then self.gradInput:set(gradOutput) end
      return parent.updateGradInput(self, input, gradOutput)
   end
end

local ClippedReLU, HardTanh = on_top('ClippedReLU', 'HardTanh')
function ClippedReLU:__init(ceiling, inplace)
   assert(ceiling, 'No ceiling was given to ClippedReLU')
   HardTanh.__init(self, 0, ceiling, inplace)
   self.ceiling = ceiling
end

-- LogSoftMax over planes and the negative log-likelihood, averaged over all positions.
for _, kind in ipairs{ 'Spatial', 'Volumetric' } do
   local class, parent = torch.class(('cudnn.%sCrossEntropyCriterion'):format(kind), 'nn.Criterion')
   function class:__init(weights)
      parent.__init(self)
      self.slsm = cudnn[kind .. 'LogSoftMax']()
      self.nll = nn.ClassNLLCriterion(weights)
      self.sizeAverage = true
      self:type('torch.CudaTensor')
   end
   -- Positions as rows: (batch, planes, positions...) -> (batch * positions, planes)
   local function rows(t)
      local planes = t:size(2)
      local last = t:view(t:size(1), planes, -1):transpose(2, 3):contiguous()
      return last:view(-1, planes)
   end
   function class:updateOutput(input, target)
      self.nll.sizeAverage = self.sizeAverage
      self.output = self.nll:updateOutput(rows(self.slsm:updateOutput(input)), target:contiguous():view(-1))
      return self.output
   end
   function class:updateGradInput(input, target)
      local gradient = self.nll:updateGradInput(rows(self.slsm.output), target:contiguous():view(-1))
      local places = input:nElement() / input:size(1) / input:size(2)
      gradient = gradient:view(input:size(1), places, input:size(2)):transpose(2, 3):contiguous():viewAs(input)
      self.gradInput = self.slsm:updateGradInput(input, gradient)
      return self.gradInput
   end
end

require 'cudnn.recurrent'
require 'cudnn.functional'

-- Converts a net's layers to the other package's; dst is nn or cudnn. Modules for which exclude(module) is true are
-- kept.
local CONVERTIBLE = {}
for _, name in ipairs{ 'BatchNormalization', 'SpatialBatchNormalization', 'SpatialConvolution', 'SpatialCrossMapLRN',
   'SpatialFullConvolution', 'SpatialMaxPooling', 'SpatialAveragePooling', 'ReLU', 'Tanh', 'Sigmoid', 'SoftMax',
   'LogSoftMax', 'VolumetricBatchNormalization', 'VolumetricConvolution', 'VolumetricFullConvolution',
   'VolumetricMaxPooling', 'VolumetricAveragePooling' } do
   CONVERTIBLE[name] = true
end

function cudnn.convert(net, dst, exclude)
   local from, to = 'nn', 'cudnn'
   if dst == nn then from, to = 'cudnn', 'nn' end
   return net:replace(function(module)
      if exclude and exclude(module) then return module end
      local type_name = torch.typename(module)
      if type_name == 'nn.SpatialConvolutionMM' and to == 'cudnn' then
         module.weight = module.weight:view(module.nOutputPlane, module.nInputPlane, module.kH, module.kW)
         module.gradWeight = module.gradWeight:view(module.nOutputPlane, module.nInputPlane, module.kH, module.kW)
         type_name = 'nn.SpatialConvolution'
      end
      local package_name, name = (type_name or ''):match('^(%a+)%.(%a+)$')
      if package_name ~= from or not CONVERTIBLE[name] or not dst[name] then return module end
      local converted = torch.factory(to .. '.' .. name)()
      for key, value in pairs(module) do converted[key] = value end
      -- as in the original, although cudnn's layer counted the padding
      if dst == nn and name == 'SpatialAveragePooling' then
         converted.divide, converted.count_include_pad = true, false
      end
      return converted
   end)
end

return cudnn
