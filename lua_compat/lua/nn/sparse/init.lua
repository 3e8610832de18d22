-- Linear layers for sparse inputs: elements that are not listed are zero.
local kernel = require('torch.core.kernels').of_layers
local declared = require 'nn.shared.declared'
declared.ways('sparse', { 'index_linear', 'sparse_linear' })
local whole_numbers = require 'nn.shared.whole_numbers'
local Module = torch.getmetatable('nn.Module')

local function uniform(self, stdv)
   stdv = stdv and stdv * math.sqrt(3) or 1 / math.sqrt(self.weight:size(2))
   self.weight:uniform(-stdv, stdv)
   self.bias:uniform(-stdv, stdv):mul(0.000001)
end

-- Input: a tensor of entries x (index, value); a table of these, as a batch; or a tensor batch x entries x (index,
-- value)
local SparseLinear = torch.class('nn.SparseLinear', 'nn.Module')
local set_sparse, decay = declared.setter 'SparseLinear', declared.reader('SparseLinear', 'weightDecay')

-- How often gradients were accumulated since they were zeroed. After one time, only the columns of that input are
-- nonzero.
local NEVER, ONCE, OFTEN = 0, 1, 2

function SparseLinear:__init(...)
   Module.__init(self)
   local inputSize, outputSize = set_sparse(self, ...)
   assert(type(self.doGradInput) == 'boolean')
   self.weight, self.gradWeight = torch.zeros(outputSize, inputSize), torch.zeros(outputSize, inputSize)
   self.bias, self.gradBias = torch.zeros(outputSize), torch.zeros(outputSize)
   self.sparseUpdate = NEVER
   self.gradInput = {}
   self.output:resize(outputSize)
   self:reset()
end
SparseLinear.reset = uniform

-- The input as a table of examples or as a batch in one tensor; also returns whether it is a batch, and whether one
-- tensor.
function SparseLinear:reshapeInput(input)
   if torch.type(input) == 'table' then return input, true, false end
   if input:dim() == 2 then return { input }, false, false end
   return input, true, true
end

-- A table of examples as one tensor, entries x (example, index, value)
local function listed(self, examples)
   local count = 0
   for _, example in ipairs(examples) do count = count + example:size(1) end
   self.formatted_input = self.formatted_input or examples[1].new()
   self.formatted_input:resize(count, 3)
   local first = 1
   for i, example in ipairs(examples) do
      local rows = self.formatted_input:narrow(1, first, example:size(1))
      rows:narrow(2, 2, 2):copy(example)
      rows:select(2, 1):fill(i)
      first = first + example:size(1)
   end
   return self.formatted_input
end

function SparseLinear:updateOutput(input)
   if self.sparseUpdate == ONCE then self.sparseUpdate = OFTEN end
   local examples, is_batch, is_tensor = self:reshapeInput(input)
   self.legacyMode = is_tensor
   local batch = is_tensor and examples:size(1) or #examples
   if batch == 0 then return self.output:copy(self.bias) end
   local entries = is_tensor and examples or listed(self, examples)
   kernel.sparse_linear(self.output, entries, self.weight, self.bias, batch)
   if not is_batch then self.output = self.output[1] end
   return self.output
end

function SparseLinear:accGradParameters(input, gradOutput, scale)
   local examples, is_batch, is_tensor = self:reshapeInput(input)
   local entries = is_tensor and examples or self.formatted_input
   self.legacyMode = is_tensor
   if self.sparseUpdate == NEVER then
      self.lastInput = (self.lastInput or gradOutput.new()):resizeAs(entries):copy(entries)
      self.sparseUpdate = ONCE
   else
      self.sparseUpdate = OFTEN
   end
   if not is_batch or gradOutput:dim() == 1 then gradOutput = gradOutput:view(-1, self.weight:size(1)) end
   kernel.sparse_linear_grad_parameters(self.gradWeight, self.gradBias, entries, gradOutput, self.weight,
      decay(self), scale or 1)
end

-- The gradient is dense: all indices are listed.
function SparseLinear:updateGradInput(input, gradOutput)
   if not self.legacyMode then
      self.gradInput = {}
   else
      if torch.type(self.gradInput) ~= torch.type(gradOutput) then self.gradInput = gradOutput.new() end
      self.gradInput:resizeAs(input)
   end
   if not self.doGradInput then return self.gradInput end
   local inputs = self.weight:size(2)
   local gradients = gradOutput:view(-1, self.weight:size(1)) * self.weight
   local indices = gradients.new():range(1, inputs)
   local batch = gradients:size(1)
   if self.legacyMode then
      self.gradInput:resize(batch, inputs, 2)
      self.gradInput:select(3, 1):copy(indices:view(1, -1):expand(batch, inputs))
      self.gradInput:select(3, 2):copy(gradients)
   else
      for i = 1, batch do
         self.gradInput[i] = gradients.new(inputs, 2)
         self.gradInput[i]:select(2, 1):copy(indices)
         self.gradInput[i]:select(2, 2):copy(gradients[i])
      end
   end
   return self.gradInput
end

-- The columns of weight that the only input since zeroGradParameters used; nil if there were several inputs.
local function touched(self)
   if not (self.lastInput and self.sparseUpdate == ONCE) then return end
   local columns = whole_numbers.beside(self.weight)
   kernel.sparse_linear_columns(columns, self.lastInput, self.weight)
   return columns
end

function SparseLinear:updateParameters(rate)
   local columns = touched(self)
   if not columns then return Module.updateParameters(self, rate) end
   if columns:nElement() == 0 then return end
   self.bias:add(-rate, self.gradBias)
   self.weight:indexAdd(2, columns, self.gradWeight:index(2, columns):mul(-rate))
end

function SparseLinear:zeroGradParameters()
   local columns = touched(self)
   if columns then
      self.gradBias:zero()
      if columns:nElement() > 0 then self.gradWeight:indexFill(2, columns, 0) end
   else
      Module.zeroGradParameters(self)
   end
   self.sparseUpdate = NEVER
end

function SparseLinear:clearState()
   nn.utils.clear(self, 'lastInput', 'formatted_input')
   return Module.clearState(self)
end

-- Input: { keys, values }, both vectors or tables of vectors; or { keys, values, sizes }, with a batch's vectors
-- concatenated. weight: one row for each key. Gradients are kept only for the keys that occur.
local IndexLinear = torch.class('nn.IndexLinear', 'nn.Module')
local set_index, offset_and_train = declared.setter 'IndexLinear', declared.reader('IndexLinear', 'offset train')
local offset_and_decay = declared.reader('IndexLinear', 'offset weightDecay')

-- normalize: values are divided by the largest value of their key so far, and keys have biases; the weight then starts
-- with columns for that.
function IndexLinear:__init(inputSize, outputSize, doGradInput, keysOffset, weight, bias, normalize)
   Module.__init(self)
   set_index(self, inputSize, outputSize, doGradInput, keysOffset, weight, bias)
   self.normalize = normalize and 4 or 0
   self.weight = weight or torch.zeros(inputSize, outputSize + self.normalize)
   self.bias = bias or torch.zeros(outputSize)
   self.inputSize = self.weight:size(1)
   self.outputSize = self.weight:size(2) - self.normalize
   self.gradWeight = torch.Tensor()
   self.gradBias = torch.zeros(self.outputSize)
   self.gradWeightBuffer, self.valuesBuffer, self.normalizedValues = torch.Tensor(), torch.Tensor(), torch.Tensor()
   -- accumulated since the gradients were zeroed
   self.running = { cumSumSizes = {}, keys = {}, gradWeight = {}, counter = 1 }
   self.sizesCache, self.cumSumSizesCache = {}, {}
   if keysOffset then self.offset = keysOffset - 1 end
end

function IndexLinear:reset(stdv)
   uniform(self, stdv)
   if self.normalize > 0 then self.weight:narrow(2, 1, self.normalize):zero() end
end

-- Returns keys, values and, for a concatenated batch, their sizes; sets isFlat and noBatch to the kind of input.
function IndexLinear:reshapeInput(input)
   assert(torch.type(input) == 'table' and (#input == 2 or #input == 3))
   local keys, values, sizes = unpack(input)
   self.isFlat, self.noBatch = sizes ~= nil, false
   if sizes then
      sizes = torch.isTensor(sizes) and sizes or keys.new{ sizes }
      assert(keys:nElement() == values:nElement(), 'Keys and values should be of same size')
      assert(keys:dim() == 1, 'Keys and values should be 1D')
      return keys, values, sizes
   end
   if torch.isTensor(keys) and torch.isTensor(values) then
      self.noBatch = true
      keys, values = { keys }, { values }
   elseif not (torch.type(keys) == 'table' and torch.type(values) == 'table') then
      error('Wrong input format.')
   end
   for i = 1, #keys do
      assert(values[i]:dim() == 1 and keys[i]:dim() == 1, 'keys and values should be 1D')
   end
   return keys, values
end

function IndexLinear:flattenInputs(input)
   local keys, values, sizes = self:reshapeInput(input)
   local running = self.running
   self.keys = whole_numbers.beside(self.weight, running.keys[running.counter])
   running.keys[running.counter] = self.keys
   if self.isFlat then
      self.keys:resize(keys:size()):copy(keys)
      self.values = (self.values or values.new()):resize(values:size()):copy(values)
      self.sizes = whole_numbers.beside(self.weight, sizes)
   else
      self.values = self.values or values[1].new()
      self.sizes = whole_numbers.beside(self.weight, self.sizesCache[1])
      self.sizesCache[1] = self.sizes
      self.sizes:resize(#keys)
      for i = 1, #keys do self.sizes[i] = keys[i]:size(1) end
      self.keys:cat(keys, 1)
      self.values:cat(values, 1)
   end
   self.cumSumSizes = whole_numbers.beside(self.weight, self.cumSumSizesCache[1])
   self.cumSumSizesCache[1] = self.cumSumSizes
   self.cumSumSizes:cumsum(self.sizes)
   running.cumSumSizes[running.counter] = self.cumSumSizes
end

function IndexLinear:updateOutput(input)
   self:flattenInputs(input)
   kernel.index_linear(self.output, self.normalizedValues, self.keys, self.values, self.sizes, self.weight, self.bias,
      offset_and_train(self))
   if self.noBatch then self.output:resize(self.output:size(2)) end
   return self.output
end

local function used_values(self) return self.normalize > 0 and self.normalizedValues or self.values end

function IndexLinear:accUpdateGradParameters(_, gradOutput, rate)
   local offset, decay = offset_and_decay(self)
   kernel.index_linear_update(self.keys, used_values(self), self.sizes, gradOutput, self.weight, self.bias, offset,
      decay, rate or 1)
end

function IndexLinear:accGradParameters(_, gradOutput, scale)
   offset_and_decay(self) -- raises for what is no number
   local running = self.running
   local gradWeight = running.gradWeight[running.counter] or self.values.new()
   running.gradWeight[running.counter] = gradWeight
   kernel.index_linear_grad_parameters(gradWeight, self.gradBias, used_values(self), self.sizes, gradOutput,
      self.weight, scale or 1)
   running.counter = running.counter + 1
end

-- The gradient is dense: all keys are listed.
function IndexLinear:updateGradInput(_, gradOutput)
   self.gradInput = {}
   if not self.doGradInput then return self.gradInput end
   if self.normalize > 0 then error('updateGradInput is not implemented in max-normalize mode') end
   local gradients = gradOutput:view(-1, self.outputSize) * self.weight:t()
   local keys = whole_numbers.beside(self.weight):range(1, self.weight:size(1))
   local batch = gradients:size(1)
   if self.isFlat then
      self.gradInput = { torch.repeatTensor(keys, batch, 1), gradients }
   elseif self.noBatch then
      self.gradInput = { keys, gradients[1] }
   else
      self.gradInput = { {}, {} }
      for i = 1, batch do self.gradInput[1][i], self.gradInput[2][i] = keys:clone(), gradients[i]:clone() end
   end
   return self.gradInput
end

function IndexLinear:updateParameters(rate)
   assert(rate, 'You must specify a learning rate')
   local running = self.running
   local count = running.counter - 1
   if count == 0 then return end
   if count == 1 then
      self.updateKeys, self.gradWeight = running.keys[1], running.gradWeight[1]
   else
      self.updateKeys = torch.cat({ unpack(running.keys, 1, count) }, 1)
      self.gradWeight = torch.cat({ unpack(running.gradWeight, 1, count) }, 1)
   end
   local offset, decay = offset_and_decay(self)
   kernel.index_linear_update_parameters(self.gradWeight, self.gradBias, self.weight, self.bias, self.updateKeys,
      offset, decay, rate)
end

function IndexLinear:zeroGradParameters()
   self.gradBias:zero()
   self.running.counter = 1
end

function IndexLinear:parameters() return { self.weight, self.bias }, { self.running, self.gradBias } end

function IndexLinear:clearState()
   self.running.keys, self.running.gradWeight, self.running.cumSumSizes = {}, {}, {}
   for _, field in ipairs{ 'keys', 'values', 'sizes', 'updateKeys' } do self[field] = nil end
   nn.utils.clear(self, 'gradWeightBuffer', 'valuesBuffer', 'normalizedValues')
   return Module.clearState(self)
end
