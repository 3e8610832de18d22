-- The package fbnn: the layers that applications outside Facebook use.
require 'nn'
require 'fbnn.hsm'

local LinearNB, linear = torch.class('nn.LinearNB', 'nn.Linear')

function LinearNB:__init(inputs, outputs) linear.__init(self, inputs, outputs, false) end

local NoBackprop, plain = torch.class('nn.LinearNoBackprop', 'nn.Linear')

-- The gradient of its input is zero.
function NoBackprop:updateGradInput(input)
   self.gradInput:resizeAs(input):zero()
   return self.gradInput
end

function NoBackprop:__init(...) plain.__init(self, ...) end

-- A criterion after a module, as one criterion with the parameters of both.
local Sequential, criterion = torch.class('nn.SequentialCriterion', 'nn.Criterion')

function Sequential:__init(module, inner)
   criterion.__init(self)
   self.module, self.criterion = module, inner
end

function Sequential:parameters()
   local parameters, gradients = {}, {}
   for _, part in ipairs{ self.module, self.criterion } do
      if part.parameters then
         local ours, theirs = part:parameters()
         for place = 1, #(ours or {}) do
            parameters[#parameters + 1], gradients[#gradients + 1] = ours[place], theirs[place]
         end
      end
   end
   return parameters, gradients
end

function Sequential:getParameters() return nn.Module.getParameters(self) end

function Sequential:updateOutput(input, target)
   self.output = self.criterion:updateOutput(self.module:updateOutput(input), target)
   return self.output
end

function Sequential:updateGradInput(input, target)
   self.gradInput = self.module:updateGradInput(input, self.criterion:updateGradInput(self.module.output, target))
   return self.gradInput
end

-- Defines a method that calls that method of the criterion, if it has it, and of the module.
local function both(name)
   Sequential[name] = function(self, input, target, ...)
      if self.criterion[name] then self.criterion[name](self.criterion, self.module.output, target, ...) end
      self.module[name](self.module, input, self.criterion.gradInput, ...)
   end
end
both 'accGradParameters'
both 'accUpdateGradParameters'

function Sequential:updateParameters(rate)
   self.module:updateParameters(rate)
   if self.criterion.updateParameters then self.criterion:updateParameters(rate) end
end

function Sequential:zeroGradParameters()
   self.module:zeroGradParameters()
   if self.criterion.zeroGradParameters then self.criterion:zeroGradParameters() end
end

return nn
