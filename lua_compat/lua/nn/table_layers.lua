-- Tables of tensors taken apart and put together.
local layer = require 'nn.layer'
local gradient_entry, drop_rest = layer.gradient_entry, layer.drop_rest
local Module = torch.getmetatable('nn.Module')

local function positive_dimension(self, t)
   if self.dimension < 0 then return t:dim() + self.dimension + 1 end
   if self.nInputDims and t:dim() == self.nInputDims + 1 then return self.dimension + 1 end
   return self.dimension
end

local SplitTable = torch.class('nn.SplitTable', 'nn.Module')
SplitTable._getPositiveDimension = positive_dimension
function SplitTable:__init(dimension, nInputDims)
   Module.__init(self)
   self.dimension, self.nInputDims = dimension, nInputDims
end
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
function JoinTable:__init(dimension, nInputDims)
   Module.__init(self)
   self.size = torch.LongStorage()
   self.dimension, self.nInputDims = dimension, nInputDims
   self.gradInput = {}
end
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
function SelectTable:__init(index)
   Module.__init(self)
   self.index = index
   self.gradInput = {}
end
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
-- target gets the structure of source, all zero.
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
   nn.utils.recursiveCopy(self.gradInput[entry_of(self, input)], gradOutput)
   return self.gradInput
end
SelectTable.type = emptied_type
SelectTable.clearState = nn.Identity.clearState
function SelectTable:__tostring__() return ('%s(%s)'):format(torch.type(self), self.index) end

local NarrowTable = torch.class('nn.NarrowTable', 'nn.Module')
function NarrowTable:__init(offset, length)
   Module.__init(self)
   if not offset then error('nn.NarrowTable(offset, length)', 2) end
   self.offset, self.length = offset, length or 1
   self.output, self.gradInput = {}, {}
end
function NarrowTable:updateOutput(input)
   self.output = {}
   for i = 1, self.length do self.output[i] = input[self.offset + i - 1] end
   return self.output
end
function NarrowTable:updateGradInput(input, gradOutput)
   for i = 1, #input do
      local inner = i - self.offset + 1
      if inner >= 1 and inner <= self.length then
         self.gradInput[i] = gradOutput[inner]
      else
         self.gradInput[i] = nn.utils.recursiveResizeAs(self.gradInput[i], input[i])
         nn.utils.recursiveFill(self.gradInput[i], 0)
      end
   end
   return drop_rest(self, input)
end
NarrowTable.type = emptied_type
NarrowTable.clearState = nn.Identity.clearState

local FlattenTable = torch.class('nn.FlattenTable', 'nn.Module')
function FlattenTable:__init()
   Module.__init(self)
   self.output, self.gradInput, self.input_map = {}, {}, {}
end
-- Appends the tensors of a nested table to a list; the same nesting with their places in it.
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
   -- the same tables again, as long as the input's tensors are the same
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

-- A table of tables, the other way round: { { a1, a2 }, { b1, b2 } } becomes { { a1, b1 }, { a2, b2 } }
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
function ZipTable:__init()
   Module.__init(self)
   self.output, self.gradInput = {}, {}
end
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
function ZipTableOneToMany:__init()
   Module.__init(self)
   self.output, self.gradInput = {}, {}
   self.gradInputEl = torch.Tensor()
end
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

-- A criterion as a layer: input { input, target }
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
