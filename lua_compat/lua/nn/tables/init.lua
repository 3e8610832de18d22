-- Layers that take or return tables: splitting and joining of tensors, and elementwise arithmetic.
local layer = require 'nn.shared.layer'
local declared = require 'nn.shared.declared'
local gradient_entry, drop_rest = layer.gradient_entry, layer.drop_rest
local Module = torch.getmetatable('nn.Module')

local function positive_dimension(self, t)
   if self.dimension < 0 then return t:dim() + self.dimension + 1 end
   if self.nInputDims and t:dim() == self.nInputDims + 1 then return self.dimension + 1 end
   return self.dimension
end

local SplitTable = torch.class('nn.SplitTable', 'nn.Module')
SplitTable._getPositiveDimension = positive_dimension
declared.construct(SplitTable, 'SplitTable')
function SplitTable:updateOutput(input)
   local d = positive_dimension(self, input)
   self.output = {}
   for i = 1, input:size(d) do self.output[i] = input:select(d, i) end
   return self.output
end
function SplitTable:updateGradInput(input, gradOutput)
   if not self.gradInput then return end
   local d = positive_dimension(self, input)
   self.gradInput:resizeAs(input)
   for i = 1, input:size(d) do self.gradInput:select(d, i):copy(gradOutput[i]) end
   return self.gradInput
end

local JoinTable = torch.class('nn.JoinTable', 'nn.Module')
function JoinTable:_getPositiveDimension(input) return positive_dimension(self, input[1]) end
declared.construct(JoinTable, 'JoinTable')
function JoinTable:updateOutput(input)
   local d = positive_dimension(self, input[1])
   self.size = input[1]:size()
   for i = 2, #input do self.size[d] = self.size[d] + input[i]:size(d) end
   self.output:resize(self.size)
   local first = 1
   for _, part in ipairs(input) do
      self.output:narrow(d, first, part:size(d)):copy(part)
      first = first + part:size(d)
   end
   return self.output
end
function JoinTable:updateGradInput(input, gradOutput)
   local d = positive_dimension(self, input[1])
   local first = 1
   for i, part in ipairs(input) do
      gradient_entry(self, input, i):copy(gradOutput:narrow(d, first, part:size(d)))
      first = first + part:size(d)
   end
   return drop_rest(self, input)
end
function JoinTable:type(name, cache)
   self.gradInput = {}
   return Module.type(self, name, cache)
end

local function emptied_type(self, name, cache)
   self.gradInput, self.output = {}, {}
   return Module.type(self, name, cache)
end

local SelectTable = torch.class('nn.SelectTable', 'nn.Module')
declared.construct(SelectTable, 'SelectTable')
local function entry_of(self, input)
   local index = self.index
   if type(index) == 'number' and index < 0 then return #input + index + 1 end
   return index
end
function SelectTable:updateOutput(input)
   local index = entry_of(self, input)
   assert(input[index], 'index does not exist in the input table')
   self.output = input[index]
   return self.output
end
-- Gives target the structure of source, filled with zeros.
local function zeros_like(target, source)
   for key, value in pairs(source) do
      if torch.type(value) == 'table' then
         target[key] = zeros_like(target[key] or {}, value)
      elseif torch.isTensor(value) then
         target[key] = (target[key] or value.new()):resizeAs(value):zero()
      else
         target[key] = nil
      end
   end
   for key in pairs(target) do
      if not source[key] then target[key] = nil end
   end
   return target
end
function SelectTable:updateGradInput(input, gradOutput)
   zeros_like(self.gradInput, input)
   nn.utils.recursiveCopy(assert(self.gradInput[entry_of(self, input)]), gradOutput)
   return self.gradInput
end
SelectTable.type = emptied_type
SelectTable.clearState = nn.Identity.clearState
function SelectTable:__tostring__() return ('%s(%s)'):format(torch.type(self), self.index) end

local NarrowTable = torch.class('nn.NarrowTable', 'nn.Module')
local set_part = declared.setter 'NarrowTable'
function NarrowTable:__init(...)
   Module.__init(self)
   set_part(self, ...)
   if not self.offset then error('nn.NarrowTable(offset, length)', 2) end
end
function NarrowTable:updateOutput(input)
   self.output = {}
   for i = 1, self.length do self.output[i] = input[self.offset + i - 1] end
   return self.output
end
function NarrowTable:updateGradInput(input, gradOutput)
   for i, part in ipairs(gradOutput) do self.gradInput[self.offset + i - 1] = part end
   for i = 1, #input do
      if i < self.offset or i >= self.offset + self.length then
         self.gradInput[i] = nn.utils.recursiveResizeAs(self.gradInput[i], input[i])
         nn.utils.recursiveFill(self.gradInput[i], 0)
      end
   end
   return drop_rest(self, input)
end
NarrowTable.type = emptied_type
NarrowTable.clearState = nn.Identity.clearState

local FlattenTable = torch.class('nn.FlattenTable', 'nn.Module')
declared.construct(FlattenTable, 'FlattenTable')
-- Appends the tensors of a nested table to a list. Returns the same nesting with their indices in it.
local function flatten(list, nested)
   if torch.type(nested) ~= 'table' then
      list[#list + 1] = nested
      return #list
   end
   local map = {}
   for i, value in ipairs(nested) do map[i] = flatten(list, value) end
   return map
end
local function same_nesting(a, b)
   if type(a) ~= 'table' or type(b) ~= 'table' then return a == b end
   if #a ~= #b then return false end
   for i = 1, #a do
      if not same_nesting(a[i], b[i]) then return false end
   end
   return true
end
local function unflatten(list, map)
   if torch.type(map) ~= 'table' then return list[map] end
   local nested = {}
   for i, inner in ipairs(map) do nested[i] = unflatten(list, inner) end
   return nested
end
function FlattenTable:updateOutput(input)
   assert(torch.type(input) == 'table', 'input must be a table')
   -- reuses the output table as long as the input's tensors are the same
   local output = {}
   local map = flatten(output, input)
   local same = #output == #self.output
   for i, t in ipairs(output) do same = same and rawequal(t, self.output[i]) end
   if not (same and same_nesting(map, self.input_map)) then self.output, self.input_map = output, map end
   return self.output
end
function FlattenTable:updateGradInput(_, gradOutput)
   assert(torch.type(gradOutput) == 'table', 'gradOutput must be a table')
   self.gradInput = unflatten(gradOutput, self.input_map)
   return self.gradInput
end
function FlattenTable:clearState()
   self.input_map, self.output, self.gradInput = {}, {}, {}
   return self
end
function FlattenTable:type(name)
   if not name then return self._type end
   self:clearState()
   self._type = name
   return self
end

-- Transposes a table of tables: { { a1, a2 }, { b1, b2 } } becomes { { a1, b1 }, { a2, b2 } }
local function zipped(lists)
   local result = {}
   for i, list in ipairs(lists) do
      for j, value in ipairs(list) do
         result[j] = result[j] or {}
         result[j][i] = value
      end
   end
   return result
end

local ZipTable = torch.class('nn.ZipTable', 'nn.Module')
declared.construct(ZipTable, 'ZipTable')
function ZipTable:updateOutput(input)
   self.output = zipped(input)
   return self.output
end
function ZipTable:updateGradInput(_, gradOutput)
   self.gradInput = zipped(gradOutput)
   return self.gradInput
end

-- { v, { a, b } } becomes { { v, a }, { v, b } }
local ZipTableOneToMany = torch.class('nn.ZipTableOneToMany', 'nn.Module')
declared.construct(ZipTableOneToMany, 'ZipTableOneToMany')
local function check_pair(input) assert(#input == 2, 'input must be table of element and table') end
function ZipTableOneToMany:updateOutput(input)
   check_pair(input)
   self.output = {}
   for i, value in ipairs(input[2]) do self.output[i] = { input[1], value } end
   return self.output
end
function ZipTableOneToMany:updateGradInput(input, gradOutput)
   check_pair(input)
   self.gradInputEl:resizeAs(input[1]):zero()
   local others = {}
   for i, pair in ipairs(gradOutput) do
      self.gradInputEl:add(pair[1])
      others[i] = pair[2]
   end
   self.gradInput = { self.gradInputEl, others }
   return self.gradInput
end

-- A criterion as a layer; input: { input, target }
local CriterionTable = torch.class('nn.CriterionTable', 'nn.Module')
function CriterionTable:__init(criterion)
   Module.__init(self)
   self.criterion = criterion
   self.gradInput = { criterion.gradInput }
end
function CriterionTable:updateOutput(input)
   self.output = self.criterion:updateOutput(unpack(input))
   return self.output
end
function CriterionTable:updateGradInput(input)
   self.gradInput[1] = self.criterion:updateGradInput(unpack(input))
   return self.gradInput
end

-- Elementwise arithmetic of the tensors of a table

local function table_class(name)
   local class = torch.class('nn.' .. name, 'nn.Module')
   declared.construct(class, name)
   return class
end

local CAddTable = table_class('CAddTable')
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

-- out = first times all inputs except one. It is copied first only if sizes or types differ.
local function multiply(out, first, input, but)
   local begin = but == 1 and 2 or 1
   local other = input[begin]
   if other and first:isSameSizeAs(out) and other:isSameSizeAs(out) and first:type() == out:type() then
      out:cmul(first, other)
      begin = begin + 1
   else
      out:copy(first)
   end
   for i = begin, #input do
      if i ~= but then out:cmul(input[i]) end
   end
end

local CMulTable = table_class('CMulTable')
function CMulTable:updateOutput(input)
   multiply(self.output:resizeAs(input[1]), input[1], input, 1)
   return self.output
end
function CMulTable:updateGradInput(input, gradOutput)
   for i = 1, #input do multiply(gradient_entry(self, input, i), gradOutput, input, i) end
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

-- The elementwise maximum (minimum), the first of equal ones
for name, row in pairs{ CMaxTable = { 'gt', 'maxIdx' }, CMinTable = { 'lt', 'minIdx' } } do
   local better, index = unpack(row)
   local class = table_class(name)
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
         gradient_entry(self, input, i):copy(gradOutput):maskedFill(torch.ne(self[index], i), 0)
      end
      return drop_rest(self, input)
   end
end

-- Adds a tensor to each tensor of a table; input: { tensor, { tensors } }
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

-- Experts weighted by a gate; input: { gate, experts }. The gate is (batch x) n; the experts are a table of n tensors,
-- or one tensor with the experts along dimension dim
local MixtureTable = torch.class('nn.MixtureTable', 'nn.Module')
declared.construct(MixtureTable, 'MixtureTable')

-- The gate viewed with n along dimension dim, the batch along the first, and 1 in all other of the `dims` dimensions.
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
   if self.table or torch.type(experts) == 'table' then
      self.table = true -- stays set, as in Torch7
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
   if self.table then
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
