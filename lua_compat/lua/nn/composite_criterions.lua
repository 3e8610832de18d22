-- Criterions composed of others.
local Criterion = torch.getmetatable('nn.Criterion')

-- The weighted sum of several criterions on one input and target
local Multi = torch.class('nn.MultiCriterion', 'nn.Criterion')
function Multi:__init()
   Criterion.__init(self)
   self.criterions = {}
   self.weights = torch.DoubleStorage()
end
function Multi:add(criterion, weight)
   assert(criterion, 'no criterion provided')
   table.insert(self.criterions, criterion)
   self.weights:resize(#self.criterions)
   self.weights[#self.criterions] = weight or 1
   return self
end
function Multi:updateOutput(input, target)
   self.output = 0
   for i, criterion in ipairs(self.criterions) do
      self.output = self.output + self.weights[i] * criterion:updateOutput(input, target)
   end
   return self.output
end
function Multi:updateGradInput(input, target)
   self.gradInput = nn.utils.recursiveResizeAs(self.gradInput, input)
   nn.utils.recursiveFill(self.gradInput, 0)
   for i, criterion in ipairs(self.criterions) do
      nn.utils.recursiveAdd(self.gradInput, self.weights[i], criterion:updateGradInput(input, target))
   end
   return self.gradInput
end

-- The weighted sum of criterions, one for each entry of a table
local Parallel = torch.class('nn.ParallelCriterion', 'nn.Criterion')
function Parallel:__init(repeatTarget)
   Criterion.__init(self)
   self.criterions, self.weights, self.gradInput = {}, {}, {}
   self.repeatTarget = repeatTarget
end
function Parallel:add(criterion, weight)
   assert(criterion, 'no criterion provided')
   table.insert(self.criterions, criterion)
   table.insert(self.weights, weight or 1)
   return self
end
function Parallel:updateOutput(input, target)
   self.output = 0
   for i, criterion in ipairs(self.criterions) do
      local own = self.repeatTarget and target or target[i]
      self.output = self.output + self.weights[i] * criterion:updateOutput(input[i], own)
   end
   return self.output
end
function Parallel:updateGradInput(input, target)
   self.gradInput = nn.utils.recursiveResizeAs(self.gradInput, input)
   nn.utils.recursiveFill(self.gradInput, 0)
   for i, criterion in ipairs(self.criterions) do
      local own = self.repeatTarget and target or target[i]
      nn.utils.recursiveAdd(self.gradInput[i], self.weights[i], criterion:updateGradInput(input[i], own))
   end
   return self.gradInput
end
function Parallel:type(name, cache)
   self.gradInput = {}
   return Criterion.type(self, name, cache)
end

-- A criterion on what modules make of the input and the target; the modules are not trained
local ModuleCriterion = torch.class('nn.ModuleCriterion', 'nn.Criterion')
local set_modules = require('nn.shared.declared').setter 'ModuleCriterion'
function ModuleCriterion:__init(...)
   set_modules(self, ...)
   local parameters = self.inputModule and self.inputModule:parameters()
   if parameters and #parameters > 0 then print("Warning: nn.ModuleCriterion doesn't support parameter updates") end
end
function ModuleCriterion:updateOutput(input, target)
   if self.inputModule then self.input = self.inputModule:forward(input) end
   if self.targetModule then self.target = self.targetModule:forward(target) end
   self.output = self.criterion:forward(self.input or input, self.target or target)
   return self.output
end
function ModuleCriterion:updateGradInput(input, target)
   self.gradInput = self.criterion:backward(self.input or input, self.target or target)
   if self.inputModule then self.gradInput = self.inputModule:backward(input, self.gradInput) end
   return self.gradInput
end
-- Without castTarget, the target's module keeps its type.
function ModuleCriterion:type(name, cache)
   local targetModule = self.targetModule
   if not self.castTarget then self.targetModule = nil end
   Criterion.type(self, name, cache)
   self.targetModule = targetModule
   return self
end
