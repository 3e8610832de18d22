-- Arithmetic of the tensors of a table, element by element.
local layer = require 'nn.layer'
local gradient_entry, drop_rest = layer.gradient_entry, layer.drop_rest
local Module = torch.getmetatable('nn.Module')

local function table_class(name)
   local class = torch.class('nn.' .. name, 'nn.Module')
   function class:__init()
      Module.__init(self)
      self.gradInput = {}
   end
   return class
end

local CAddTable = table_class('CAddTable')
function CAddTable:__init(inplace)
   Module.__init(self)
   self.inplace = inplace
   self.gradInput = {}
end
function CAddTable:updateOutput(input)
   if self.inplace then self.output:set(input[1]) else self.output:resizeAs(input[1]):copy(input[1]) end
   for i = 2, #input do self.output:add(input[i]) end
   return self.output
end
function CAddTable:updateGradInput(input, gradOutput)
   for i = 1, #input do
      if self.inplace then
         self.gradInput[i] = (self.gradInput[i] or input[1].new()):set(gradOutput)
      else
         gradient_entry(self, input, i):copy(gradOutput)
      end
   end
   return drop_rest(self, input)
end

local CSubTable = table_class('CSubTable')
function CSubTable:updateOutput(input)
   return self.output:resizeAs(input[1]):copy(input[1]):add(-1, input[2])
end
function CSubTable:updateGradInput(input, gradOutput)
   gradient_entry(self, input, 1):copy(gradOutput)
   gradient_entry(self, input, 2):copy(gradOutput):mul(-1)
   return drop_rest(self, input)
end

local CMulTable = table_class('CMulTable')
function CMulTable:updateOutput(input)
   self.output:resizeAs(input[1]):copy(input[1])
   for i = 2, #input do self.output:cmul(input[i]) end
   return self.output
end
function CMulTable:updateGradInput(input, gradOutput)
   for i = 1, #input do
      local gradient = gradient_entry(self, input, i):copy(gradOutput)
      for j = 1, #input do
         if i ~= j then gradient:cmul(input[j]) end
      end
   end
   return drop_rest(self, input)
end

local CDivTable = table_class('CDivTable')
function CDivTable:updateOutput(input)
   return self.output:resizeAs(input[1]):copy(input[1]):cdiv(input[2])
end
function CDivTable:updateGradInput(input, gradOutput)
   local first = gradient_entry(self, input, 1):copy(gradOutput):cdiv(input[2])
   gradient_entry(self, input, 2):zero():addcdiv(-1, first, input[2]):cmul(input[1])
   return drop_rest(self, input)
end

-- The largest (smallest) of each element, the first of several
for name, row in pairs{ CMaxTable = { 'gt', 'maxIdx', 'maxVals', 'gradMaxVals' },
   CMinTable = { 'lt', 'minIdx', 'minVals', 'gradMaxVals' } } do
   local better, index, values, gradients = unpack(row)
   local class = table_class(name)
   function class:__init()
      Module.__init(self)
      self.gradInput = {}
      for _, field in ipairs{ index, 'mask', values, gradients } do self[field] = torch.Tensor() end
   end
   function class:updateOutput(input)
      self.output:resizeAs(input[1]):copy(input[1])
      self[index]:resizeAs(input[1]):fill(1)
      for i = 2, #input do
         local mask = torch[better](input[i], self.output)
         self[index]:maskedFill(mask, i)
         self.output:maskedCopy(mask, input[i]:maskedSelect(mask))
      end
      return self.output
   end
   function class:updateGradInput(input, gradOutput)
      for i = 1, #input do
         gradient_entry(self, input, i):copy(gradOutput):cmul(torch.eq(self[index], i):typeAs(gradOutput))
      end
      return drop_rest(self, input)
   end
end

-- A tensor added to each of a table: input { tensor, { tensors } }
local CAddTensorTable = table_class('CAddTensorTable')
function CAddTensorTable:updateOutput(input)
   self.output = {}
   for i, t in ipairs(input[2]) do self.output[i] = input[1].new():resizeAs(input[1]):copy(t):add(input[1]) end
   return self.output
end
function CAddTensorTable:updateGradInput(input, gradOutput)
   local sum = gradient_entry(self, input, 1):zero()
   local others = {}
   for i = 1, #input[2] do
      sum:add(gradOutput[i])
      others[i] = input[1].new():resizeAs(input[1]):copy(gradOutput[i])
   end
   self.gradInput[2] = others
   return self.gradInput
end

-- Experts weighted by a gate: input { gate, experts }, the gate (batch x) n, the experts a table of n tensors, or one
-- tensor with the n of them along dimension dim
local MixtureTable = torch.class('nn.MixtureTable', 'nn.Module')
function MixtureTable:__init(dim)
   Module.__init(self)
   self.dim = dim
   self.size, self.size2 = torch.LongStorage(), torch.LongStorage()
   self.batchSize, self.backwardSetup = 0, false
   self.gradInput = {}
end

-- The gate with n along dimension dim, the batch along the first, and else ones, dims in all.
local function gate_view(self, gate, dims)
   local sizes = torch.LongStorage(dims):fill(1)
   if self.dimG == 2 then sizes[1] = gate:size(1) end
   sizes[self.dim] = gate:size(self.dimG)
   return gate:contiguous():view(sizes)
end

function MixtureTable:updateOutput(input)
   local gate, experts = unpack(input)
   self.dimG = gate:dim() < 2 and 1 or 2
   self.dim = self.dim or self.dimG
   self.batchSize = self.dimG == 2 and gate:size(1) or 1
   if torch.type(experts) == 'table' then
      if gate:size(self.dimG) ~= #experts then error('Should be one gater output per expert') end
      local weights = gate_view(self, gate, experts[1]:dim() + 1)
      self.output:resizeAs(experts[1]):zero()
      for i, expert in ipairs(experts) do self.output:addcmul(expert, weights:select(self.dim, i):expandAs(expert)) end
   else
      local weights = gate_view(self, gate, experts:dim()):expandAs(experts)
      self.output:sum(torch.cmul(weights, experts), self.dim)
      self.output:resizeAs(experts:select(self.dim, 1))
   end
   return self.output
end

function MixtureTable:updateGradInput(input, gradOutput)
   local gate, experts = unpack(input)
   nn.utils.recursiveResizeAs(self.gradInput, input)
   local of_gate, of_experts = unpack(self.gradInput)
   if torch.type(experts) == 'table' then
      local weights = gate_view(self, gate, experts[1]:dim() + 1)
      for i, expert in ipairs(experts) do
         local products = torch.cmul(gradOutput, expert)
         products = self.dimG == 1 and products:view(1, -1) or products:view(gradOutput:size(1), -1)
         of_gate:narrow(self.dimG, i, 1):copy(products:sum(2))
         of_experts[i]:cmul(weights:select(self.dim, i):expandAs(expert), gradOutput)
      end
   else
      local sizes = experts:size()
      sizes[self.dim] = 1
      local gradient = gradOutput:contiguous():view(sizes):expandAs(experts)
      local products = torch.cmul(gradient, experts):transpose(self.dim, self.dimG):contiguous()
      if self.dimG == 1 then
         of_gate:copy(products:view(gate:size(1), -1):sum(2))
      else
         of_gate:copy(products:view(gate:size(1), gate:size(2), -1):sum(3))
      end
      of_experts:cmul(gate_view(self, gate, experts:dim()):expandAs(experts), gradient)
   end
   return self.gradInput
end
