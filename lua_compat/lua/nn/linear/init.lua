-- Layers that multiply by a matrix of parameters.
local kernel = require('torch.core.kernels').of_layers
local declared = require 'nn.shared.declared'
declared.ways('linear', { 'lookup' })
local whole_numbers = require 'nn.shared.whole_numbers'

local Linear, Module = torch.class('nn.Linear', 'nn.Module')

local set_linear = declared.setter 'Linear'
function Linear:__init(...)
   Module.__init(self)
   local inputSize, outputSize, bias = set_linear(self, ...)
   self.weight = torch.Tensor(outputSize, inputSize)
   self.gradWeight = torch.Tensor(outputSize, inputSize)
   if bias then
      self.bias = torch.Tensor(outputSize)
      self.gradBias = torch.Tensor(outputSize)
   end
   self:reset()
end

function Linear:noBias()
   self.bias, self.gradBias = nil, nil
   return self
end

function Linear:reset(stdv)
   stdv = stdv and stdv * math.sqrt(3) or 1 / math.sqrt(self.weight:size(2))
   self.weight:uniform(-stdv, stdv)
   if self.bias then self.bias:uniform(-stdv, stdv) end
   return self
end

-- Fills addBuffer with ones, one for each row of the input.
function Linear:updateAddBuffer(input)
   self.addBuffer = self.addBuffer or input.new()
   if self.addBuffer:nElement() ~= input:size(1) then self.addBuffer:resize(input:size(1)):fill(1) end
   return self.addBuffer
end

function Linear:updateOutput(input)
   if input:dim() == 1 then
      self.output:resize(self.weight:size(1))
      if self.bias then self.output:copy(self.bias) else self.output:zero() end
      self.output:addmv(1, self.weight, input)
   elseif input:dim() == 2 then
      self.output:resize(input:size(1), self.weight:size(1))
      self.output:mm(input, self.weight:t())
      if self.bias then self.output:addr(1, self:updateAddBuffer(input), self.bias) end
   else
      error('input must be vector or matrix')
   end
   return self.output
end

function Linear:updateGradInput(input, gradOutput)
   if not self.gradInput then return end
   self.gradInput:resizeAs(input)
   if input:dim() == 1 then
      self.gradInput:mv(self.weight:t(), gradOutput)
   elseif input:dim() == 2 then
      self.gradInput:mm(gradOutput, self.weight)
   end
   return self.gradInput
end

function Linear:accGradParameters(input, gradOutput, scale)
   scale = scale or 1
   if input:dim() == 1 then
      self.gradWeight:addr(scale, gradOutput, input)
      if self.bias then self.gradBias:add(scale, gradOutput) end
   elseif input:dim() == 2 then
      self.gradWeight:addmm(scale, gradOutput:t(), input)
      if self.bias then self.gradBias:addmv(scale, gradOutput:t(), self:updateAddBuffer(input)) end
   end
end

Linear.sharedAccUpdateGradParameters = Module.defaultAccUpdateGradParameters

function Linear:clearState()
   if self.addBuffer then self.addBuffer:set() end
   return Module.clearState(self)
end

function Linear:__tostring__()
   return ('%s(%d -> %d)%s'):format(torch.type(self), self.weight:size(2), self.weight:size(1),
      self.bias == nil and ' without bias' or '')
end

-- A learnt vector for each index
local LookupTable = torch.class('nn.LookupTable', 'nn.Module')
LookupTable.__version = 4

local set_lookup = declared.setter 'LookupTable'
local padding, norm = declared.reader('LookupTable', 'paddingValue'), declared.reader('LookupTable', 'maxNorm normType')
local by_frequency = declared.reader('LookupTable', 'shouldScaleGradByFreq')

function LookupTable:__init(nIndex, nOutput, ...)
   Module.__init(self)
   set_lookup(self, nIndex, nOutput, ...)
   self.weight = torch.Tensor(nIndex, nOutput)
   self.gradWeight = torch.Tensor(nIndex, nOutput):zero()
   self:reset()
end

-- For training by accUpdateGradParameters only: no gradients are kept.
function LookupTable:accUpdateOnly()
   self.gradWeight = nil
   return self
end

function LookupTable:reset(stdv) self.weight:normal(0, stdv or 1) end

for method, field in pairs{ setPadding = 'paddingValue', setMaxNorm = 'maxNorm', setNormType = 'normType' } do
   LookupTable[method] = function(self, value)
      self[field] = value
      return self
   end
end
function LookupTable:scaleGradByFreq()
   self.shouldScaleGradByFreq = true
   return self
end

-- The indices as a vector of whole numbers.
local function indices(self, input)
   if input:dim() ~= 1 and input:dim() ~= 2 then error('input must be a vector or matrix', 3) end
   return whole_numbers.beside(self.weight, input):contiguous():view(-1)
end

-- Scales the vectors of the input's indices down to a norm of at most maxNorm
function LookupTable:renorm(input)
   if self.maxNorm then kernel.lookup_renorm(self.weight, indices(self, input), norm(self)) end
end

function LookupTable:updateOutput(input)
   self.shouldScaleGradByFreq = self.shouldScaleGradByFreq or false -- missing in old files
   self.copiedInput = not input:isContiguous() or torch.type(input) ~= whole_numbers.type_beside(self.weight)
   self:renorm(input)
   local index = indices(self, input)
   self.output:index(self.weight, 1, index)
   if input:dim() == 2 then self.output = self.output:view(input:size(1), input:size(2), self.weight:size(2)) end
   return self.output
end

-- Indices have no gradient: returns zeros of the input's type.
function LookupTable:updateGradInput(input)
   if torch.type(self.gradInput) ~= torch.type(input) then self.gradInput = input.new() end
   if not self.gradInput:isSameSizeAs(input) then self.gradInput:resizeAs(input):zero() end
   return self.gradInput
end

function LookupTable:accGradParameters(input, gradOutput, scale)
   kernel.lookup_grad_weight(self.gradWeight, indices(self, input), gradOutput, padding(self), scale or 1,
      by_frequency(self))
end

LookupTable.sharedAccUpdateGradParameters = Module.defaultAccUpdateGradParameters

function LookupTable:clearState()
   nn.utils.clear(self, '_count', '_input')
   return Module.clearState(self)
end

-- Computes only some columns of the output, chosen by setPartition
local PartialLinear = torch.class('nn.PartialLinear', 'nn.Module')

local set_partial = declared.setter 'PartialLinear'
function PartialLinear:__init(...)
   Module.__init(self)
   local inputsize, outputsize, bias = set_partial(self, ...)
   local inputs = nn.ParallelTable():add(nn.Identity()):add(nn.LookupTable(outputsize, inputsize))
   self.network = nn.Sequential():add(inputs):add(nn.MM(false, true))
   if bias then self.bias, self.gradBias = torch.zeros(1, outputsize), torch.zeros(1, outputsize) end
   self.allcolumns = torch.range(1, outputsize)
   self:resetPartition()
end

function PartialLinear:setPartition(indices) self.partition = indices:type(self.allcolumns:type()) end
function PartialLinear:resetPartition() self.partition = self.allcolumns end

-- The partition as indices
local function chosen(self) return whole_numbers.beside(self.bias, self.partition) end

local function lookup(self) return self.network:get(1):get(2) end

function PartialLinear:parameters()
   return { lookup(self).weight, self.bias }, { lookup(self).gradWeight, self.gradBias }
end

function PartialLinear:updateOutput(input)
   self.output:set(self.network:forward{ input, self.partition })
   if self.bias then self.output:add(self.bias:index(2, chosen(self)):expandAs(self.output)) end
   return self.output
end

function PartialLinear:updateGradInput(input, gradOutput)
   if not self.gradInput then return end
   self.network:updateGradInput({ input, self.partition }, gradOutput)
   return self.gradInput:set(self.network.gradInput[1])
end

function PartialLinear:accGradParameters(input, gradOutput, scale)
   scale = scale or 1
   self.network:accGradParameters({ input, self.partition }, gradOutput, scale)
   if self.bias then self.gradBias:indexAdd(2, chosen(self), gradOutput:sum(1):mul(scale)) end
end

function PartialLinear:accUpdateGradParameters(input, gradOutput, rate)
   local columns = lookup(self)
   local gradWeight, gradBias = columns.gradWeight, self.gradBias
   columns.gradWeight, self.gradBias = columns.weight, self.bias
   self:accGradParameters(input, gradOutput, -rate)
   columns.gradWeight, self.gradBias = gradWeight, gradBias
end
PartialLinear.sharedAccUpdateGradParameters = PartialLinear.accUpdateGradParameters

function PartialLinear:zeroGradParameters()
   self.network:zeroGradParameters()
   if self.bias then self.gradBias:zero() end
end

function PartialLinear:updateParameters(rate)
   self.network:updateParameters(rate)
   if self.bias then self.bias:add(-rate, self.gradBias) end
end

function PartialLinear:__tostring__()
   return ('%s(%d -> %d)%s'):format(torch.type(self), self.inputsize, self.outputsize,
      self.bias == nil and ' without bias' or '')
end

-- Each row of the weight as direction and length: g * v / |v|
local WeightNorm = torch.class('nn.LinearWeightNorm', 'nn.Linear')

local set_norm = declared.setter 'LinearWeightNorm'
function WeightNorm:__init(...)
   Module.__init(self)
   local inputSize, outputSize, bias = set_norm(self, ...)
   for _, name in ipairs{ 'v', 'gradV', 'weight' } do self[name] = torch.Tensor(outputSize, inputSize) end
   for _, name in ipairs{ 'g', 'gradG', 'norm', 'scale' } do self[name] = torch.Tensor(outputSize, 1) end
   if bias then self.bias, self.gradBias = torch.Tensor(outputSize), torch.Tensor(outputSize) end
   self:reset()
end

function WeightNorm:reset(stdv)
   stdv = stdv and stdv * math.sqrt(3) or 1 / math.sqrt(self.inputSize)
   self.weight:uniform(-stdv, stdv)
   self:initFromWeight()
   if self.bias then self.bias:uniform(-stdv, stdv) end
end

function WeightNorm:initFromWeight(weight)
   weight = weight or self.weight
   self.g:norm(weight, 2, 2):clamp(self.eps, math.huge)
   self.v:copy(weight)
   return self
end

function WeightNorm.fromLinear(linear)
   local module = nn.LinearWeightNorm(linear.weight:size(2), linear.weight:size(1), torch.isTensor(linear.bias))
   module.weight:copy(linear.weight)
   module:initFromWeight()
   if linear.bias then module.bias:copy(linear.bias) end
   return module
end

function WeightNorm:toLinear()
   self:updateWeightMatrix()
   local module = nn.Linear(self.inputSize, self.outputSize, torch.isTensor(self.bias))
   module.weight:copy(self.weight)
   if self.bias then module.bias:copy(self.bias) end
   return module
end

function WeightNorm:parameters() return { self.v, self.g, self.bias }, { self.gradV, self.gradG, self.gradBias } end

function WeightNorm:updateWeightMatrix()
   self.norm:norm(self.v, 2, 2):clamp(self.eps, math.huge)
   self.scale:cdiv(self.g, self.norm)
   self.weight:cmul(self.v, self.scale:expandAs(self.v))
end

function WeightNorm:evaluate()
   if self.train ~= false then self:updateWeightMatrix() end
   Linear.evaluate(self)
end

function WeightNorm:updateOutput(input)
   if self.train ~= false then self:updateWeightMatrix() end
   return Linear.updateOutput(self, input)
end

-- Converts the weight's gradient, accumulated in gradV, to the gradients of g and v.
function WeightNorm:accGradParameters(input, gradOutput, scale)
   local gradWeight = self.gradWeight
   self.gradWeight = self.gradV
   Linear.accGradParameters(self, input, gradOutput, scale)
   self.gradWeight = gradWeight
   local factor, norm = self.scale:expandAs(self.v), self.norm:expandAs(self.v)
   self.gradG:sum(torch.cmul(self.gradV, self.v):cdiv(norm), 2)
   local along = torch.cmul(self.v, factor):cdiv(norm):cmul(self.gradG:expandAs(self.v))
   self.gradV:cmul(factor):add(-1, along)
end

function WeightNorm:defaultAccUpdateGradParameters(input, gradOutput, rate)
   local gradV, gradG, gradBias = self.gradV, self.gradG, self.gradBias
   self.gradV, self.gradG, self.gradBias = self.v, self.g, self.bias
   self:accGradParameters(input, gradOutput, -rate)
   self.gradV, self.gradG, self.gradBias = gradV, gradG, gradBias
end
WeightNorm.sharedAccUpdateGradParameters = WeightNorm.defaultAccUpdateGradParameters

function WeightNorm:clearState()
   nn.utils.clear(self, 'weight', 'norm', 'scale')
   return Linear.clearState(self)
end

function WeightNorm:__tostring__()
   return ('%s(%d -> %d)%s'):format(torch.type(self), self.inputSize, self.outputSize,
      self.bias == nil and ' without bias' or '')
end

-- The largest of maxoutNumber linear functions for each output
local Maxout, Sequential = torch.class('nn.Maxout', 'nn.Sequential')
function Maxout:__init(inputSize, outputSize, maxoutNumber, preprocess)
   Sequential.__init(self)
   self:add(nn.Linear(inputSize, outputSize * maxoutNumber))
   self:add(nn.View(maxoutNumber, outputSize):setNumInputDims(1))
   if preprocess then self:add(preprocess) end
   self:add(nn.Max(1, 2))
end
