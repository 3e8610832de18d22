-- Changes of shape, and selections of elements by position, indices or a mask.
local declared = require 'nn.shared.declared'
local given_sizes = require('nn.shared.sizes').given
local whole_numbers = require 'nn.shared.whole_numbers'

local View, Module = torch.class('nn.View', 'nn.Module')

local set_fields = declared.setter 'View'
function View:__init(...)
   Module.__init(self)
   set_fields(self)
   self:resetSize(...)
end

-- The shape of each example; one size may be -1.
function View:resetSize(...)
   local first = ...
   if select('#', ...) == 1 and torch.typename(first) == 'torch.LongStorage' then
      self.size = first
   else
      self.size = torch.LongStorage{ ... }
   end
   local elements, open = 1, false
   for _, size in ipairs(self.size:totable()) do
      if size >= 0 then
         elements = elements * size
      else
         assert(size == -1, 'size should be positive or -1')
         assert(not open, 'only one dimension can be at -1')
         open = true
      end
   end
   self.numElements = elements
   return self
end

-- The number of dimensions of one example.
function View:setNumInputDims(count)
   self.numInputDims = count
   return self
end

-- The number of examples in the input; nil for a single example without a batch dimension.
local function batch_size(self, input)
   local sizes = input:size()
   local dims = self.numInputDims or #sizes
   local elements, batch = 1, 1
   for d = #sizes, #sizes - dims + 1, -1 do elements = elements * sizes[d] end
   if elements % self.numElements ~= 0 then
      error(('input view (%s) and desired view (%s) do not match'):format(table.concat(sizes:totable(), 'x'),
         table.concat(self.size:totable(), 'x')), 3)
   end
   batch = elements / self.numElements
   for _, size in ipairs(self.size:totable()) do
      if size == -1 then batch = 1 end -- the batch takes all other elements
   end
   for d = #sizes - dims, 1, -1 do batch = batch * sizes[d] end
   if batch == 1 and (not self.numInputDims or #sizes <= self.numInputDims) then return nil end
   return batch
end

function View:updateOutput(input)
   self.output = self.output or input.new()
   local batch = batch_size(self, input)
   if batch then
      self.output:view(input, batch, unpack(self.size:totable()))
   else
      self.output:view(input, self.size)
   end
   return self.output
end

function View:updateGradInput(input, gradOutput)
   self.gradInput = self.gradInput or gradOutput.new()
   self.gradInput:view(gradOutput, input:size())
   return self.gradInput
end

function View:__tostring__() return ('%s(%s)'):format(torch.type(self), table.concat(self.size:totable(), ', ')) end

local Reshape = torch.class('nn.Reshape', 'nn.Module')

-- sizes... or a LongStorage, then optionally a boolean: whether the first dimension of the input is the batch.
function Reshape:__init(...)
   Module.__init(self)
   local arguments = { ... }
   if type(arguments[#arguments]) == 'boolean' then self.batchMode = table.remove(arguments) end
   self.size = given_sizes(unpack(arguments))
   local list = self.size:totable()
   self.batchsize = torch.LongStorage{ 0, unpack(list) }
   self.nelement = 1
   for _, size in ipairs(list) do self.nelement = self.nelement * size end
end

local function contiguous(self, field, t)
   if t:isContiguous() then return t end
   self[field] = self[field] or t.new()
   return self[field]:resizeAs(t):copy(t)
end

function Reshape:updateOutput(input)
   input = contiguous(self, '_input', input)
   local single = self.batchMode == false
      or (self.batchMode == nil and input:nElement() == self.nelement and input:size(1) ~= 1)
   if single then
      self.output:view(input, self.size)
   else
      self.batchsize[1] = input:size(1)
      self.output:view(input, self.batchsize)
   end
   return self.output
end

function Reshape:updateGradInput(input, gradOutput)
   self.gradInput:viewAs(contiguous(self, '_gradOutput', gradOutput), input)
   return self.gradInput
end

function Reshape:clearState()
   nn.utils.clear(self, '_input', '_gradOutput')
   return Module.clearState(self)
end

function Reshape:__tostring__() return ('%s(%s)'):format(torch.type(self), table.concat(self.size:totable(), 'x')) end

-- Parts and arrangements of the input

-- dimension may be negative; it counts from the first dimension after the batch's.
local function positive_dimension(dimension, input)
   return dimension < 0 and input:dim() + dimension + 1 or dimension
end

local Narrow = torch.class('nn.Narrow', 'nn.Module')
local set_part, set_copies = declared.setter 'Narrow', declared.setter 'Replicate'
function Narrow:__init(...)
   Module.__init(self)
   set_part(self, ...)
   if not self.dimension or not self.index then error('nn.Narrow(dimension, offset, length)', 2) end
end
-- A negative length counts from the end; a negative index takes all but the last `length` entries.
local function narrowed(self, input, t)
   local d = positive_dimension(self.dimension, input)
   local index, length = self.index, self.length
   if length < 0 then length = input:size(d) - index + length + 2 end
   if index < 0 then index, length = 1, input:size(d) - length end
   local part = t:narrow(d, index, length)
   return part -- not a tail call: an error would name this function
end
function Narrow:updateOutput(input)
   local part = narrowed(self, input, input)
   self.output = self.output:typeAs(part)
   return self.output:resizeAs(part):copy(part)
end
function Narrow:updateGradInput(input, gradOutput)
   self.gradInput = self.gradInput:typeAs(input):resizeAs(input):zero()
   narrowed(self, input, self.gradInput):copy(gradOutput)
   return self.gradInput
end

local Select = torch.class('nn.Select', 'nn.Module')
declared.construct(Select, 'Select')
local function selected(self, input, t)
   local d = positive_dimension(self.dimension, input)
   local part = t:select(d, self.index < 0 and input:size(d) + self.index + 1 or self.index)
   return part
end
function Select:updateOutput(input)
   local part = selected(self, input, input)
   return self.output:resizeAs(part):copy(part)
end
function Select:updateGradInput(input, gradOutput)
   self.gradInput:resizeAs(input):zero()
   selected(self, input, self.gradInput):copy(gradOutput)
   return self.gradInput
end

-- The input repeated nFeatures times along a new dimension
local Replicate = torch.class('nn.Replicate', 'nn.Module')
function Replicate:__init(...)
   Module.__init(self)
   set_copies(self, ...)
   assert(self.dim > 0, 'Can only replicate across positive integer dimensions.')
end
local function new_dimension(self, input)
   return self.dim + (self.ndim and input:dim() > self.ndim and 1 or 0)
end
function Replicate:updateOutput(input)
   self.dim = self.dim or 1
   assert(self.dim <= input:dim() + 1,
      ('Not enough input dimensions to replicate along dimension %d.'):format(self.dim))
   local d = new_dimension(self, input)
   local one = nn.utils.addSingletonDimension(input, d)
   local sizes, strides = one:size(), one:stride()
   sizes[d], strides[d] = self.nfeatures, 0
   return self.output:set(input:storage(), input:storageOffset(), sizes, strides)
end
function Replicate:updateGradInput(input, gradOutput)
   local copies, d = self.nfeatures, new_dimension(self, input)
   if gradOutput:nElement() ~= copies * input:nElement() or gradOutput:size(d) ~= copies then
      error(('Replicate: gradOutput of %d elements, %d copies of %d expected'):format(gradOutput:nElement(), copies,
         input:nElement()), 0)
   end
   return self.gradInput:sum(gradOutput, d):resizeAs(input)
end

local Contiguous = torch.class('nn.Contiguous', 'nn.Module')
function Contiguous:updateOutput(input)
   if input:isContiguous() then return self.output:set(input) end
   if self.output:storage() == input:storage() then self.output:set() end
   return self.output:resizeAs(input):copy(input)
end
function Contiguous:updateGradInput(_, gradOutput)
   if gradOutput:isContiguous() then return self.gradInput:set(gradOutput) end
   if self.gradInput:storage() == gradOutput:storage() then self.gradInput:set() end
   return self.gradInput:resizeAs(gradOutput):copy(gradOutput)
end

-- Swaps pairs of dimensions, one pair after another
local Transpose = torch.class('nn.Transpose', 'nn.Module')
function Transpose:__init(...)
   Module.__init(self)
   self.permutations = { ... }
   self.numInputDims = nil
end
function Transpose:setNumInputDims(count)
   self.numInputDims = count
   return self
end
local function swapped(self, t, input, from, to, step)
   local shift = self.numInputDims and input:dim() - self.numInputDims or 0
   for i = from, to, step do
      local pair = self.permutations[i]
      t = t:transpose(pair[1] + shift, pair[2] + shift)
   end
   return t
end
function Transpose:updateOutput(input)
   local t = swapped(self, input, input, 1, #self.permutations, 1)
   return self.output:resizeAs(t):copy(t)
end
function Transpose:updateGradInput(input, gradOutput)
   local t = swapped(self, gradOutput, input, #self.permutations, 1, -1)
   return self.gradInput:resizeAs(t):copy(t)
end

-- Inserts a dimension of size 1
local Unsqueeze = torch.class('nn.Unsqueeze', 'nn.Module')
local set_position = declared.setter 'Unsqueeze'
function Unsqueeze:__init(...)
   Module.__init(self)
   set_position(self, ...)
   if not self.pos then error('the position to insert singleton dim not specified', 2) end
end
function Unsqueeze:setNumInputDims(count)
   self.numInputDims = count
   return self
end
function Unsqueeze:updateOutput(input)
   -- As in Torch7, the first input determines the number of dimensions of an example.
   self.numInputDims = self.numInputDims or input:dim()
   local dims, of_example = input:dim(), self.numInputDims
   assert(dims >= of_example, 'input feature map dim (numInputDims) must be <= input:dim()')
   local position = self.pos + dims - of_example
   if position < 1 or position > dims + 1 then
      error(('Invalid position: %d. input:dim() is %d, input feature map dim (numInputDims) is %d.'):format(self.pos,
         dims, of_example))
   end
   nn.utils.addSingletonDimension(self.output, input, position)
   return self.output
end
function Unsqueeze:updateGradInput(input, gradOutput)
   assert(input:nElement() == gradOutput:nElement())
   return self.gradInput:view(gradOutput:contiguous(), input:size())
end
function Unsqueeze:__tostring__() return ('%s(dim %d)'):format(torch.type(self), self.pos) end

local Squeeze = torch.class('nn.Squeeze', 'nn.Module')
declared.construct(Squeeze, 'Squeeze')
function Squeeze:setNumInputDims(count)
   self.numInputDims = count
   return self
end
function Squeeze:updateOutput(input)
   assert(input and torch.isTensor(input), 'Squeeze only works on tensors')
   local d, in_batch = self.dim, input:dim() == (self.numInputDims or 0) + 1 and self.numInputDims
   self.output:set(input)
   if d then self.output:squeeze(input, in_batch and d + 1 or d)
   else
      self.output:squeeze(input)
      if in_batch and input:size(1) == 1 then self.output:view(self.output, 1, unpack(self.output:size():totable())) end
   end
   return self.output
end
function Squeeze:updateGradInput(input, gradOutput)
   assert(input:nElement() == gradOutput:nElement())
   return self.gradInput:set(gradOutput:contiguous():view(input:size()))
end

-- Flattens all dimensions except the first, if that is the batch's
local Collapse = torch.class('nn.Collapse', 'nn.Module')
declared.construct(Collapse, 'Collapse')
function Collapse:updateOutput(input)
   input = contiguous(self, '_input', input)
   if input:dim() > self.nInputDim then return self.output:view(input, input:size(1), -1) end
   return self.output:view(input, -1)
end
function Collapse:updateGradInput(input, gradOutput) return self.gradInput:view(gradOutput, input:size()) end
function Collapse:clearState()
   self._input = nil
   return self
end

-- input: { tensor, indices along dimension }
local Index = torch.class('nn.Index', 'nn.Module')
local set_dimension = declared.setter 'Index'
function Index:__init(...)
   Module.__init(self)
   set_dimension(self, ...)
   self.gradInput = { self.gradInput, self.gradInput.new() }
end
function Index:updateOutput(input)
   self.output:index(input[1], self.dimension, input[2])
   return self.output
end
function Index:updateGradInput(input, gradOutput)
   self.gradInput[1]:resizeAs(input[1]):zero():indexAdd(self.dimension, input[2], gradOutput)
   self.gradInput[2]:resize(input[2]:size()):zero()
   return self.gradInput
end
function Index:clearState()
   self.gradInput[1]:set()
   self.gradInput[2]:set()
   self.output:set()
   return self
end

-- input: { tensor, ByteTensor that is 1 where an element is selected }
local MaskedSelect = torch.class('nn.MaskedSelect', 'nn.Module')
declared.construct(MaskedSelect, 'MaskedSelect')
function MaskedSelect:updateOutput(input)
   self.output:maskedSelect(input[1], input[2])
   return self.output
end
function MaskedSelect:updateGradInput(input, gradOutput)
   local t, mask = unpack(input)
   self._gradBuffer:resize(t:size()):zero():maskedCopy(mask, gradOutput)
   self.gradInput = { self._gradBuffer, self._gradMask:resize(mask:size()):zero() }
   return self.gradInput
end
-- Indices and mask keep their types.
function MaskedSelect:type(name)
   if not name then return self._type end
   for _, field in ipairs{ '_gradBuffer', 'gradInput', 'output' } do
      if torch.isTensor(self[field]) then self[field] = self[field]:type(name) end
   end
   if torch.type(self.gradInput) == 'table' then self.gradInput = { self._gradBuffer, self._gradMask } end
   self._type = name
   return self
end
function MaskedSelect:clearState()
   return nn.utils.clear(self, 'output', 'gradInput', '_maskIndexBuffer', '_maskIndexBufferCPU', '_maskIndices',
      '_gradBuffer', '_gradMask')
end

-- One-hot vectors for classes (from 1), given as a tensor or a number
local OneHot = torch.class('nn.OneHot', 'nn.Module')
declared.construct(OneHot, 'OneHot')
function OneHot:updateOutput(input)
   local sizes = {}
   if type(input) == 'number' then
      input = torch.LongTensor{ input }
   else
      sizes = input:size():totable()
   end
   sizes[#sizes + 1] = self.outputSize
   self.output:resize(unpack(sizes)):zero()
   sizes[#sizes] = 1
   return self.output:scatter(#sizes, whole_numbers.beside(self.output, input):view(unpack(sizes)), 1)
end
function OneHot:updateGradInput(input)
   if type(input) == 'number' then return 0 end
   return self.gradInput:resize(input:size()):zero()
end
function OneHot:clearState()
   self._single, self._input = nil, nil
   return self
end
function OneHot:type(name, cache)
   self:clearState()
   return Module.type(self, name, cache)
end
