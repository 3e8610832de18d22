-- The package fbcunn: the layers that applications outside Facebook use, for tensors on any device.
require 'nn'
require 'fbnn'
-- The original needs a GPU. Here its layers work without one; cunn is loaded if available.
if not pcall(require, 'cunn') then
   package.loaded.cutorch, package.loaded.cunn = nil, nil -- Lua has recorded that they failed
end
local kernel = require('torch.core.kernels').of_tensors
local whole_numbers = require 'nn.shared.whole_numbers'

-- The k largest elements of each column, in their order. Input: (batch x) time x features. k_dynamic: at least this
-- fraction of the time steps.
local KMax, parent = torch.class('nn.TemporalKMaxPooling', 'nn.Module')

function KMax:__init(k, k_dynamic)
   parent.__init(self)
   if k_dynamic and (k_dynamic < 0 or k_dynamic > 1) then error('k_dynamic must be between 0 and 1', 2) end
   self.k, self.k_dynamic = k, k_dynamic or -1
   self.indices = torch.Tensor() -- of the output's type, counted from 0
end

function KMax:updateOutput(input)
   local time = input:dim() - 1
   local k = math.max(self.k, math.ceil(self.k_dynamic * input:size(time)))
   if k > input:size(time) then
      error(('TemporalKMaxPooling: %d of %d times are wanted'):format(k, input:size(time)), 2)
   end
   local _, places = torch.topk(input, k, time, true, true)
   self.places = torch.sort(places, time)
   self.output:resize(self.places:size()):copy(input:gather(time, self.places))
   self.indices = self.indices:typeAs(self.output):resize(self.places:size()):copy(self.places):add(-1)
   return self.output
end

function KMax:updateGradInput(input, gradOutput)
   self.gradInput:resizeAs(input):zero():scatter(input:dim() - 1, self.places, gradOutput)
   return self.gradInput
end

-- Rows of a table, by index. Input: (batch x) count. featuresInDim2: the features come before the count.
local Lookup, module = torch.class('nn.LookupTableGPU', 'nn.Module')

function Lookup:__init(rows, outputs, featuresInDim2)
   module.__init(self)
   self.nInput, self.nOutput, self.featuresInDim2 = rows, outputs, featuresInDim2 or false
   self.weight, self.gradWeight = torch.Tensor(rows, outputs), torch.Tensor(rows, outputs)
   self:reset()
end

function Lookup:reset(stdv) self.weight:normal(0, stdv or 1) end

local function numbers_of(input) return input:contiguous():view(-1):long() end

function Lookup:updateOutput(input)
   local numbers = numbers_of(input)
   local rows = self.weight:index(1, self.unk_index and numbers:clone():cmax(1) or numbers)
   if self.unk_index then
      for place = 1, numbers:size(1) do
         if numbers[place] == self.unk_index then rows[place]:zero() end
      end
   end
   if input:dim() == 2 then
      rows = rows:view(input:size(1), input:size(2), self.nOutput)
      if self.featuresInDim2 then rows = rows:transpose(2, 3):contiguous() end
   end
   self.output:resizeAs(rows):copy(rows)
   return self.output
end

function Lookup:updateGradInput() end

function Lookup:accGradParameters(input, gradOutput, scale)
   if input:dim() == 2 and self.featuresInDim2 then gradOutput = gradOutput:transpose(2, 3) end
   local numbers = whole_numbers.beside(self.weight, input):contiguous():view(-1)
   kernel.lookup_grad_weight(self.gradWeight, numbers, gradOutput:contiguous(), self.unk_index or 0, scale or 1, false)
end

return nn
