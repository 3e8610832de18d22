-- nn.Convert: converts between orders of dimensions, and to its own tensor type. A shape names the dimensions by one
-- letter each: b(atch), f(eature), c(olour), h(eight), w(idth), t(ime)... An input with one dimension less has no
-- batch.
local set = require('nn.shared.declared').setter 'Convert'
local Convert, Container = torch.class('nn.Convert', 'nn.Container')

local function with_batch(shape) return shape:find('b', 1, true) and shape or 'b' .. shape end

function Convert:__init(inputShape, outputShape)
   if outputShape and not inputShape then error('Expecting non-nil arg 1 when arg 2 is provided', 2) end
   set(self, inputShape, outputShape)
   self.inputShape, self.outputShape = with_batch(self.inputShape), with_batch(self.outputShape)
   self.inputBatchDim = self.inputShape:find('b', 1, true)
   self.outputBatchDim = self.outputShape:find('b', 1, true)
   if self.inputShape == 'b*' or self.outputShape == 'b*' then
      assert(self.inputShape == self.outputShape, 'Both or neither shapes must be b*')
      self.nInputDim, self.nOutputDim = -1, -1
      self.transposition = true
   else
      self.nInputDim, self.nOutputDim = #self.inputShape, #self.outputShape
      if self.nInputDim == self.nOutputDim then
         self.transposition = true
         for axis in self.inputShape:gmatch('.') do
            self.transposition = self.transposition and self.outputShape:find(axis, 1, true) ~= nil
         end
      end
   end
   Container.__init(self)
end

function Convert:buildConverter(input)
   if self.transposition then
      self.converter = self:transpose(self.outputShape)
   else
      local build = self[self.outputShape]
      if torch.type(build) ~= 'function' then
         error(('Unrecognized conversion of shape %s to %s'):format(self.inputShape, self.outputShape))
      end
      self.converter = build(self, input)
   end
   assert(torch.isTensor(self.output), 'Expecting Tensor output')
   self.converter:type(torch.type(self.output))
   self.modules[1] = self.converter
end

-- The input as the converter's type, with a batch dimension
local function prepared(self, input)
   if not torch.isTypeOf(input, torch.type(self.output)) then
      self._input = (self._input or self.output.new()):resize(input:size()):copy(input)
      input = self._input
   end
   self.batchMode = input:dim() >= self.nInputDim
   if self.batchMode then return input end
   return nn.utils.addSingletonDimension(input, self.inputBatchDim)
end

function Convert:updateOutput(input)
   assert(torch.isTensor(input), 'expecting Tensor')
   input = prepared(self, input)
   if not self.converter then self:buildConverter(input) end
   self.output = self.converter:updateOutput(input)
   if not self.batchMode then
      self.output = self.output:size(self.outputBatchDim) == 1 and self.output:select(self.outputBatchDim, 1)
   end
   return self.output
end

function Convert:updateGradInput(input, gradOutput)
   local inner = prepared(self, input)
   if not self.batchMode then gradOutput = gradOutput:contiguous():view(self.converter.output:size()) end
   local gradInput = self.converter:updateGradInput(inner, gradOutput)
   if not self.batchMode then gradInput = gradInput:contiguous():view(input:size()) end
   if torch.type(gradInput) ~= torch.type(input) then
      self._gradInput = (self._gradInput or input.new()):resize(input:size()):copy(gradInput)
      gradInput = self._gradInput
   end
   self.gradInput = gradInput
   return self.gradInput
end

-- The converters have no parameters.
function Convert:accGradParameters() end
function Convert:accUpdateGradParameters() end

-- To batch and features
function Convert:bf(input)
   local b = self:findAxis('b')
   if self.inputShape == 'bt' then error('Conversion of shape bt to bf not supported: open an issue on github') end
   if #self.inputShape == 1 then return nn.Reshape(1) end
   local transpose = b ~= 1 and nn.Transpose({ 1, b })
   if #self.inputShape == 2 then return transpose or nn.Identity() end
   local reshape = nn.Reshape(input:select(b, 1):nElement())
   return transpose and nn.Sequential():add(transpose):add(reshape) or reshape
end

-- To one number for each example
function Convert:b(input)
   local shape = self.inputShape
   if shape == 'bt' or shape == 'tb' then return nn.Select(self:findAxis('t'), 1) end
   if shape ~= 'bf' and shape ~= 'fb' then error('Cannot convert shape ' .. shape .. ' to shape b') end
   local f = self:findAxis('f')
   if input:size(f) > 1 then error('Cannot convert shape ' .. shape .. ' to b when feature > 1') end
   return nn.Select(f, 1)
end

-- To classes, as targets
function Convert:bt()
   if self.inputShape ~= 'b' then error(("cannot convert shape '%s' to bt"):format(self.inputShape)) end
   return nn.Reshape(1)
end

function Convert:default() return nn.Identity() end

function Convert:transpose(newShape)
   if newShape == self.inputShape then return nn.Identity() end
   local axes, pairs_to_swap = {}, {}
   for axis in self.inputShape:gmatch('.') do axes[#axes + 1] = axis end
   for i = 1, #newShape do
      local j = i
      while axes[j] ~= newShape:sub(i, i) do -- the dimensions before i are in place
         j = j + 1
         if j > #axes then error(("shape '%s' cannot become '%s'"):format(self.inputShape, newShape)) end
      end
      if i ~= j then
         axes[i], axes[j] = axes[j], axes[i]
         pairs_to_swap[#pairs_to_swap + 1] = { j, i }
      end
   end
   return nn.Transpose(unpack(pairs_to_swap))
end

function Convert:findAxis(axis, shape, silent)
   shape = shape or self.inputShape
   local position = shape:find(axis, 1, true)
   if not silent and not position then error(("Provided shape '%s' has no axis '%s'"):format(shape, axis), 2) end
   return position
end

function Convert:clearState()
   for _, field in ipairs{ '_input', '_gradInput', '__input', '__output', '__gradInput', '__gradOutput' } do
      self[field] = nil
   end
   return self
end

function Convert:type(name, cache)
   if name then self:clearState() end
   return Container.type(self, name, cache)
end
