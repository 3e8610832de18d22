-- Classes as people declared them in their own files: parameters, running state, whole numbers, tables, random numbers.
local OneOf, parent = torch.class('nn.OneOf', 'nn.Module') -- an index becomes a row with a 1
function OneOf:__init(n)
   parent.__init(self)
   self.eye = torch.eye(n)
end
function OneOf:updateOutput(input)
   self.output:resize(input:size(1), self.eye:size(2)):copy(self.eye:index(1, input:long()))
   return self.output
end
function OneOf:updateGradInput(input)
   self.gradInput:resize(input:size()):zero()
   return self.gradInput
end

local Centre, parent = torch.class('nn.RunningCentre', 'nn.Module') -- (x - running mean) * weight
function Centre:__init(n)
   parent.__init(self)
   self.weight, self.gradWeight = torch.randn(n), torch.zeros(n)
   self.running = torch.zeros(n)
   self.train = true
end
function Centre:updateOutput(input)
   if self.train then self.running:mul(0.9):add(0.1, input:mean(1):view(-1)) end
   self.centred = input - self.running:view(1, -1):expandAs(input)
   self.output = torch.cmul(self.centred, self.weight:view(1, -1):expandAs(input))
   return self.output
end
function Centre:updateGradInput(input, gradOutput)
   self.gradInput = torch.cmul(gradOutput, self.weight:view(1, -1):expandAs(input))
   return self.gradInput
end
function Centre:accGradParameters(input, gradOutput, scale)
   self.gradWeight:add(scale or 1, torch.cmul(gradOutput, self.centred):sum(1):view(-1))
end

local Halves, parent = torch.class('nn.Halves', 'nn.Module') -- x becomes the table { left half, right half }
function Halves:updateOutput(input)
   local half = input:size(2) / 2
   self.output = { input:narrow(2, 1, half):clone(), input:narrow(2, half + 1, half):clone() }
   return self.output
end
function Halves:updateGradInput(input, gradOutput)
   self.gradInput = torch.cat(gradOutput[1], gradOutput[2], 2)
   return self.gradInput
end

local Gate, parent = torch.class('nn.Gate', 'nn.Container') -- { a, b } becomes inner(a) * b, negative values cut off
function Gate:__init(inner)
   parent.__init(self)
   self.modules = { inner }
end
function Gate:updateOutput(input)
   local a = self.modules[1]:updateOutput(input[1])
   self.output = torch.cmul(a, input[2])
   self.output[self.output:lt(0)] = 0
   return self.output
end
function Gate:updateGradInput(input, gradOutput)
   local passed = torch.cmul(gradOutput, self.output:gt(0):typeAs(gradOutput))
   self.passed = torch.cmul(passed, input[2])
   self.gradInput = { self.modules[1]:updateGradInput(input[1], self.passed),
      torch.cmul(passed, self.modules[1].output) }
   return self.gradInput
end
function Gate:accGradParameters(input, gradOutput, scale)
   self.modules[1]:accGradParameters(input[1], self.passed, scale)
end

local Noise, parent = torch.class('nn.AddNoise', 'nn.Module')
function Noise:updateOutput(input)
   self.noise = torch.randn(input:size()):typeAs(input)
   self.output = torch.cmul(input, self.noise)
   return self.output
end
function Noise:updateGradInput(input, gradOutput)
   self.gradInput = torch.cmul(gradOutput, self.noise)
   return self.gradInput
end
