-- Products with a matrix of parameters.
local kernel = require('torch.kernels').of_tensors
local whole_numbers = require 'nn.whole_numbers'

local Linear, Module = torch.class('nn.Linear', 'nn.Module')

function Linear:__init(inputSize, outputSize, bias)
   Module.__init(self)
   self.weight = torch.Tensor(outputSize, inputSize)
   self.gradWeight = torch.Tensor(outputSize, inputSize)
   if bias ~= false then
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

-- As many ones in addBuffer as there are rows.
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

-- A vector for each index
local LookupTable = torch.class('nn.LookupTable', 'nn.Module')
LookupTable.__version = 4

function LookupTable:__init(nIndex, nOutput, paddingValue, maxNorm, normType)
   Module.__init(self)
   self.weight = torch.Tensor(nIndex, nOutput)
   self.gradWeight = torch.Tensor(nIndex, nOutput):zero()
   self.paddingValue = paddingValue or 0
   self.maxNorm, self.normType = maxNorm, normType
   self:reset()
end

-- For training by accUpdateGradParameters alone: no gradients are kept.
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

-- The vectors of the input's indices with a norm of at most maxNorm
function LookupTable:renorm(input)
   if self.maxNorm then kernel.lookup_renorm(self.weight, indices(self, input), self.maxNorm, self.normType or 2) end
end

function LookupTable:updateOutput(input)
   self:renorm(input)
   local index = indices(self, input)
   self.output:index(self.weight, 1, index)
   if input:dim() == 2 then self.output = self.output:view(input:size(1), input:size(2), self.weight:size(2)) end
   return self.output
end

-- Indices have no gradient: zeros of the input's type.
function LookupTable:updateGradInput(input)
   if torch.type(self.gradInput) ~= torch.type(input) then self.gradInput = input.new() end
   if not self.gradInput:isSameSizeAs(input) then self.gradInput:resizeAs(input):zero() end
   return self.gradInput
end

function LookupTable:accGradParameters(input, gradOutput, scale)
   kernel.lookup_grad_weight(self.gradWeight, indices(self, input), gradOutput, self.paddingValue or 0, scale or 1,
      self.shouldScaleGradByFreq or false)
end

LookupTable.sharedAccUpdateGradParameters = Module.defaultAccUpdateGradParameters

function LookupTable:clearState()
   nn.utils.clear(self, '_count', '_input')
   return Module.clearState(self)
end
