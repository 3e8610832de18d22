-- Layers that pass on their input, some with another gradient, and one that ignores it.
local declared = require 'nn.shared.declared'
local Module = torch.getmetatable('nn.Module')

local Identity = torch.class('nn.Identity', 'nn.Module')

function Identity:updateOutput(input)
   self.output = input
   return self.output
end
function Identity:updateGradInput(_, gradOutput)
   self.gradInput = gradOutput
   return self.gradInput
end
function Identity:clearState()
   -- the tensors belong to other modules: drop them without emptying them
   for _, name in ipairs{ 'output', 'gradInput' } do
      if torch.isTensor(self[name]) then self[name] = self[name].new() else self[name] = {} end
   end
   return self
end

-- A copy in another type; the input itself if the types are equal and forceCopy is not set
local Copy = torch.class('nn.Copy', 'nn.Module')
function Copy:__init(intype, outtype, forceCopy, dontCast)
   intype = intype or torch.getdefaulttensortype()
   outtype = outtype or torch.getdefaulttensortype()
   self.dontCast = dontCast
   Module.__init(self)
   self.gradInput = torch.getmetatable(intype).new()
   self.output = torch.getmetatable(outtype).new()
   if not forceCopy and intype == outtype then
      self.updateOutput = function(module, input)
         module.output:set(input)
         return input
      end
      self.updateGradInput = function(module, _, gradOutput)
         module.gradInput:set(gradOutput)
         return gradOutput
      end
   end
end
function Copy:updateOutput(input) return self.output:resize(input:size()):copy(input) end
function Copy:updateGradInput(_, gradOutput) return self.gradInput:resize(gradOutput:size()):copy(gradOutput) end
function Copy:type(name, cache)
   if name and self.dontCast then return self end
   return Module.type(self, name, cache)
end

-- Passes on the input; the gradient is zero
local ZeroGrad = torch.class('nn.ZeroGrad', 'nn.Module')
function ZeroGrad:updateOutput(input) return self.output:set(input) end
function ZeroGrad:updateGradInput(input)
   self.gradInput = nn.utils.recursiveFill(nn.utils.recursiveResizeAs(self.gradInput, input), 0)
   return self.gradInput
end

-- Passes on the input and the gradient, and prints their sizes
local PrintSize = torch.class('nn.PrintSize', 'nn.Module')
declared.construct(PrintSize, 'PrintSize')
local function print_size(self, what, value)
   local size = value
   if value == nil then size = 'missing size' elseif torch.type(value) ~= 'table' then size = value:size() end
   print(self.prefix .. ':' .. what .. '\n', size)
end
function PrintSize:updateOutput(input)
   print_size(self, 'input', input)
   self.output = input
   return self.output
end
function PrintSize:updateGradInput(_, gradOutput)
   print_size(self, 'gradOutput', gradOutput)
   self.gradInput = gradOutput
   return self.gradInput
end

-- A number or tensor, regardless of the input; with nInputDim, repeated for each example of a batch
local Constant = torch.class('nn.Constant', 'nn.Module')
function Constant:__init(value, nInputDim)
   self.value = torch.type(value) == 'number' and torch.Tensor{ value } or value
   assert(torch.isTensor(self.value), 'Expecting number or tensor at arg 1')
   self.nInputDim = nInputDim
   Module.__init(self)
end
function Constant:updateOutput(input)
   if not (self.nInputDim and input:dim() > self.nInputDim) then
      return self.output:resize(self.value:size()):copy(self.value)
   end
   local sizes = self.value:size():totable()
   self.output:resize(input:size(1), unpack(sizes))
   return self.output:copy(self.value:view(1, unpack(sizes)):expandAs(self.output))
end
function Constant:updateGradInput(input) return self.gradInput:resizeAs(input):zero() end

-- Passes on the input; the gradient has a penalty that makes it sparse
local L1Penalty = torch.class('nn.L1Penalty', 'nn.Module')
declared.construct(L1Penalty, 'L1Penalty')
local function penalty(self, input)
   return self.sizeAverage == true and self.l1weight / input:nElement() or self.l1weight
end
function L1Penalty:updateOutput(input)
   self.loss = penalty(self, input) * input:norm(1)
   self.output = input
   return self.output
end
function L1Penalty:updateGradInput(input, gradOutput)
   self.gradInput:resizeAs(input):copy(input):sign():mul(penalty(self, input))
   if self.provideOutput == true then self.gradInput:add(gradOutput) end
   return self.gradInput
end

-- Passes on the input, and the gradient times -lambda
local GradientReversal = torch.class('nn.GradientReversal', 'nn.Module')
GradientReversal.__version = 2
declared.construct(GradientReversal, 'GradientReversal')
function GradientReversal:setLambda(lambda) self.lambda = lambda end
function GradientReversal:updateOutput(input) return self.output:set(input) end
function GradientReversal:updateGradInput(_, gradOutput)
   return self.gradInput:resizeAs(gradOutput):copy(gradOutput):mul(-self.lambda)
end
function GradientReversal:read(file, version)
   Module.read(self, file)
   if version < 2 then self.lambda = 1 end
end
