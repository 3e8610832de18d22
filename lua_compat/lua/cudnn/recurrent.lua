-- cudnn.RNN and its subclasses: a stack of layers over a whole sequence, computed by PyTorch's recurrent operators
-- (lua_compat/kernels/nn/recurrent.py, which documents the layout of the parameter vector).
--
-- The input is time x batch x features, batch x time x features with batchFirst, or the result of packPaddedSequence.
-- Scripts set hiddenInput and cellInput (nil: zero), gradHiddenOutput and gradCellOutput. A pass sets hiddenOutput,
-- cellOutput, gradHiddenInput and gradCellInput.
local kernel = require('torch.core.kernels').of_tensors
local python = require('th.python').functions

local RNN, parent = torch.class('cudnn.RNN', 'nn.Module')

-- The number of matrices of a layer in one direction: gates times two (for the input and the state).
RNN.linearLayers = { CUDNN_LSTM = 8, CUDNN_GRU = 6, CUDNN_RNN_RELU = 2, CUDNN_RNN_TANH = 2 }

local function init(self, mode, directions, ...)
   local inputSize, hiddenSize, numLayers, batchFirst, dropout, rememberStates = ...
   parent.__init(self)
   self.datatype = 'CUDNN_DATA_FLOAT'
   self.inputSize, self.hiddenSize, self.numLayers = inputSize, hiddenSize, numLayers
   self.seqLength, self.miniBatch = 1, 1
   self.numDirections = directions
   self.bidirectional = directions == 2 and 'CUDNN_BIDIRECTIONAL' or 'CUDNN_UNIDIRECTIONAL'
   self.inputMode, self.mode = 'CUDNN_LINEAR_INPUT', mode
   self.dropout, self.seed = dropout or 0, 0x01234567
   self.batchFirst, self.rememberStates = batchFirst or false, rememberStates or false
   self.sync, self.inputPacked = true, false
   for _, name in ipairs{ 'gradInput', 'output', 'weight', 'gradWeight', 'reserve', 'hiddenOutput', 'cellOutput',
      'gradHiddenInput', 'gradCellInput' } do
      self[name] = torch.CudaTensor()
   end
   self:training()
   self:reset()
end

-- Scripts set mode, bidirectional and numDirections of a cudnn.RNN, and then call reset.
function RNN:__init(...) init(self, 'CUDNN_RNN_RELU', 1, ...) end

for name, mode in pairs{ RNNReLU = 'CUDNN_RNN_RELU', RNNTanh = 'CUDNN_RNN_TANH', LSTM = 'CUDNN_LSTM',
   GRU = 'CUDNN_GRU' } do
   local class = torch.class('cudnn.' .. name, 'cudnn.RNN')
   function class:__init(...) init(self, mode, 1, ...) end
end

for name, mode in pairs{ BLSTM = 'CUDNN_LSTM', BGRU = 'CUDNN_GRU' } do
   local class = torch.class('cudnn.' .. name, 'cudnn.RNN')
   function class:__init(inputSize, hiddenSize, numLayers, batchFirst, dropout)
      init(self, mode, 2, inputSize, hiddenSize, numLayers, batchFirst, dropout)
   end
end

-- Whether the input enters the first layer directly, without a matrix.
local function skips(self) return self.inputMode == 'CUDNN_SKIP_INPUT' end

function RNN:reset(stdv)
   stdv = stdv or 1 / math.sqrt(self.hiddenSize)
   self.weight:resize(python.recurrent_parameters(self.mode, self.inputSize, self.hiddenSize, self.numLayers,
      self.numDirections, skips(self))):uniform(-stdv, stdv)
   self.gradWeight:resizeAs(self.weight):zero()
end

-- PyTorch creates cuDNN's descriptors and synchronises by itself.
for _, name in ipairs{ 'setSync', 'clearDesc', 'resetDropoutDescriptor', 'resetRNNDescriptor', 'resetInputDescriptor',
   'resetOutputDescriptor', 'resetHiddenDescriptors', 'resetCellDescriptors', 'resetWeightDescriptor' } do
   RNN[name] = function() end
end

-- Views of the parameter vector from offset on: [layer][matrix]. A layer with two directions counts as two; a missing
-- matrix is an empty tensor.
local function views(self, offset, size_of)
   local all, count = {}, self.linearLayers[self.mode]
   for layer = 1, self.numLayers * self.numDirections do
      all[layer] = {}
      for i = 1, count do
         local size = size_of(layer, i <= count / 2)
         all[layer][i] = size > 0 and self.weight:narrow(1, offset, size) or self.weight.new()
         offset = offset + size
      end
   end
   return all
end

function RNN:weights()
   return views(self, 1, function(layer, of_input)
      local first = layer <= self.numDirections
      if first and of_input and skips(self) then return 0 end
      local columns = of_input and (first and self.inputSize or self.hiddenSize * self.numDirections) or self.hiddenSize
      return self.hiddenSize * columns
   end)
end

function RNN:biases()
   local all = self.linearLayers[self.mode] * self.numLayers * self.numDirections * self.hiddenSize
   return views(self, self.weight:size(1) - all + 1, function() return self.hiddenSize end)
end

function RNN:resizeHidden(tensor)
   return tensor:resize(self.numLayers * self.numDirections, self.miniBatch, self.hiddenSize)
end

function RNN:resetStates()
   self.hiddenInput, self.cellInput, self.gradHiddenOutput, self.gradCellOutput = nil, nil, nil, nil
   self.hiddenOutput:zero()
   self.cellOutput:zero()
end

-- Packs sequences of different lengths (sorted, longest first): the steps of each time together, and the number of
-- sequences that have this step.
function RNN:packPaddedSequence(input, lengths, batchFirst)
   if batchFirst then input = input:transpose(1, 2) end
   if input:size(2) ~= #lengths then
      error(('lengths array has incorrect size (expected: %d but found: %d)'):format(input:size(2), #lengths), 2)
   end
   local steps, batches = {}, {}
   for time = 1, math.min(input:size(1), lengths[1]) do
      local running = 0
      for i, length in ipairs(lengths) do
         if i > 1 and length > lengths[i - 1] then error('lengths array has to be sorted in decreasing order', 2) end
         if length >= time then running = i end
      end
      steps[time], batches[time] = input[time]:narrow(1, 1, running), running
   end
   return { torch.cat(steps, 1), batches }
end

function RNN:padPackedSequence(sequence, batchFirst)
   local data, batches = unpack(sequence)
   local sizes = data:size():totable()
   sizes[1] = batches[1]
   local output, lengths, offset = data.new(#batches, unpack(sizes)):zero(), {}, 1
   for time, running in ipairs(batches) do
      output[time]:narrow(1, 1, running):copy(data:narrow(1, offset, running))
      offset = offset + running
      for i = 1, running do lengths[i] = time end
   end
   return batchFirst and output:transpose(1, 2) or output, lengths
end

local function check(condition, message) if not condition then error(message, 4) end end

-- nil, or the tensor for the state called `name`, whose size is checked.
local function state(self, name)
   local value = self[name]
   if not value then return nil end
   check(value:dim() == 3, name .. ' must have 3 dimensions: numLayers, miniBatch, hiddenSize')
   check(value:size(1) == self.numLayers * self.numDirections, name .. ' has incorrect number of layers!')
   check(value:size(2) == self.miniBatch, name .. ' has incorrect number of minibatches!')
   check(value:size(3) == self.hiddenSize, name .. ' has incorrect size!')
   return value
end

-- The sequences as a tensor with time first, and the numbers of sequences if they are packed.
local function sequences(self, input)
   check(not skips(self) or self.inputSize == self.hiddenSize,
      ('CUDNN_SKIP_INPUT: the input must be as wide as the state, %d, and is %d'):format(self.hiddenSize,
         self.inputSize))
   self.inputPacked = type(input) == 'table'
   local x, batches = input, {}
   if self.inputPacked then
      x, batches = unpack(input)
      check(x:dim() == 2, 'packed input must have two dimensions: sum(sequence lengths), inputSize')
      self.seqLength, self.miniBatch = #batches, batches[1]
   else
      check(x:dim() == 3, 'input must have 3 dimensions: seqLength, miniBatch, inputSize')
      if self.batchFirst then x = x:transpose(1, 2) end
      self.seqLength, self.miniBatch = x:size(1), x:size(2)
   end
   check(x:type():find('Cuda'), ('%s works on CUDA tensors only, and its input is a %s'):format(torch.type(self),
      x:type()))
   check(x:size(x:dim()) == self.inputSize, 'Incorrect input size!')
   return x, batches
end

local function time_first(self, t)
   return self.batchFirst and not self.inputPacked and t:dim() == 3 and t:transpose(1, 2) or t
end

-- The dropout masks of all layers' outputs except the last, which cuDNN keeps in its reserve space; nil without
-- dropout.
local function masks(self)
   return self.train and self.dropout > 0 and self.numLayers > 1 and self.reserve or nil
end

local function draw_masks(self, x)
   local sizes = x:size():totable()
   sizes[#sizes] = self.hiddenSize * self.numDirections
   self.reserve:resize(self.numLayers - 1, unpack(sizes)):bernoulli(1 - self.dropout):div(1 - self.dropout)
end

function RNN:updateOutput(input)
   local x, batches = sequences(self, input)
   if self.rememberStates then
      local last = self.hiddenOutput
      local fits = last:dim() == 3 and last:size(1) == self.numLayers * self.numDirections
         and last:size(2) == self.miniBatch and last:size(3) == self.hiddenSize
      self.hiddenInput = fits and last:clone() or nil
      self.cellInput = fits and self.cellOutput:isSameSizeAs(last) and self.cellOutput:clone() or nil
   end
   local hidden, cell = state(self, 'hiddenInput'), state(self, 'cellInput')
   self:resizeHidden(self.cellOutput):zero()
   if masks(self) then draw_masks(self, x) end
   self.output = time_first(self, self.output)
   kernel.recurrent(self.output, self.hiddenOutput, self.cellOutput, x, self.weight, hidden, cell, masks(self),
      self.mode, self.hiddenSize, self.numLayers, self.numDirections, skips(self), unpack(batches))
   self.output = time_first(self, self.output)
   return self.output
end

-- One pass over the sequence computes both gradients: the input's if of_input is true, the parameters' if scale is
-- given.
local function gradients(self, input, gradOutput, of_input, scale)
   check(self.train, 'gradients are there when training only')
   check(gradOutput:isSameSizeAs(self.output), 'gradOutput has incorrect size!')
   local x, batches = sequences(self, input)
   self:resizeHidden(self.gradCellInput):zero()
   self.gradInput = time_first(self, self.gradInput)
   kernel.recurrent_gradient(self.gradInput, self.gradHiddenInput, self.gradCellInput, x, self.weight,
      state(self, 'hiddenInput'), state(self, 'cellInput'), masks(self), time_first(self, gradOutput),
      state(self, 'gradHiddenOutput'), state(self, 'gradCellOutput'), scale and self.gradWeight or nil, scale or 0,
      of_input, self.mode, self.hiddenSize, self.numLayers, self.numDirections, skips(self), unpack(batches))
   self.gradInput = time_first(self, self.gradInput)
   return self.gradInput
end

function RNN:updateGradInput(input, gradOutput) return gradients(self, input, gradOutput, true) end
function RNN:accGradParameters(input, gradOutput, scale) gradients(self, input, gradOutput, false, scale or 1) end
function RNN:backward(input, gradOutput, scale) return gradients(self, input, gradOutput, true, scale or 1) end

function RNN:clearState()
   self.reserve:set()
   return parent.clearState(self)
end
