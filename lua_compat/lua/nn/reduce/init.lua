-- Reductions along a dimension: sum, mean, maximum or minimum.
local Module = torch.getmetatable('nn.Module')
local declared = require 'nn.shared.declared'
local whole_numbers = require 'nn.shared.whole_numbers'

-- dimension may be negative (counted from the last). It skips the batch if the input has one dimension more than
-- nInputDims.
local function positive_dimension(self, input)
   local d = self.dimension
   if d < 0 then
      d = input:dim() + d + 1
   elseif self.nInputDims and input:dim() == self.nInputDims + 1 then
      d = d + 1
   end
   assert(input:dim() >= d, 'dimension exceeds input dimensions')
   return d
end

local Sum = torch.class('nn.Sum', 'nn.Module')
Sum._getPositiveDimension = positive_dimension

local set = declared.setter 'Sum'
function Sum:__init(...)
   Module.__init(self)
   set(self, ...)
   assert(type(self.squeeze) == 'boolean', 'squeeze has to be true/false')
end

function Sum:updateOutput(input)
   local d = positive_dimension(self, input)
   if type(self.output) == 'number' then self.output = input.new() end
   self.output:sum(input, d)
   if self.sizeAverage then self.output:div(input:size(d)) end
   if self.squeeze ~= false and self.output:dim() > 1 then self.output:set(self.output:select(d, 1)) end
   return self.output
end

function Sum:updateGradInput(input, gradOutput)
   local d = positive_dimension(self, input)
   local size = input:size()
   size[d] = 1
   self.gradInput:resizeAs(input):copy(gradOutput:contiguous():view(size):expandAs(input))
   if self.sizeAverage then self.gradInput:div(input:size(d)) end
   return self.gradInput
end

declared.construct(torch.class('nn.Mean', 'nn.Sum'), 'Mean')

for name, find in pairs{ Max = 'max', Min = 'min' } do
   local class = torch.class('nn.' .. name, 'nn.Module')
   class._getPositiveDimension = positive_dimension

   declared.construct(class, name)

   function class:updateOutput(input)
      local d = positive_dimension(self, input)
      self._output = self._output or self.output.new()
      self._indices = whole_numbers.beside(input, self._indices)
      torch[find](self._output, self._indices, input, d)
      self.output:set(input:dim() > 1 and self._output:select(d, 1) or self._output)
      return self.output
   end

   function class:updateGradInput(input, gradOutput)
      local d = positive_dimension(self, input)
      if input:dim() > 1 then gradOutput = nn.utils.addSingletonDimension(gradOutput, d) end
      return self.gradInput:resizeAs(input):zero():scatter(d, self._indices, gradOutput)
   end

   function class:type(type_name, cache)
      self._indices = nil
      return Module.type(self, type_name, cache)
   end

   function class:clearState()
      nn.utils.clear(self, '_indices', '_output')
      return Module.clearState(self)
   end
end
