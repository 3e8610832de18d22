-- SaturatedLU, PixelSort, FunctionWrapper and Probe.
local Module = torch.getmetatable('nn.Module')

-- Replaces elements below one threshold or above another by constants.
local SaturatedLU = torch.class('nn.SaturatedLU', 'nn.Module')
function SaturatedLU:__init(th, v, th2, v2)
   Module.__init(self)
   for _, argument in pairs{ th, v, th2, v2 } do
      if argument and type(argument) ~= 'number' then
         error('nn.SaturatedLU(lower-bound, value, upper-bound, value2)')
      end
   end
   self.threshold, self.val = th or -1, v or -1
   self.threshold2, self.val2 = th2 or 1, v2 or 1
end
function SaturatedLU:updateOutput(input)
   self.output = input:clone()
   self.output[input:lt(self.threshold)] = self.val
   -- of the output: the lower value may exceed the upper threshold
   self.output[self.output:gt(self.threshold2)] = self.val2
   return self.output
end
function SaturatedLU:updateGradInput(input, gradOutput)
   self.gradInput = gradOutput:clone()
   self.gradInput[input:lt(self.threshold)] = 0
   self.gradInput[input:gt(self.threshold2)] = 0
   return self.gradInput
end

-- The pixels of each r x r square as r * r planes.
local PixelSort = torch.class('nn.PixelSort', 'nn.Module')
function PixelSort:__init(downscaleFactor)
   Module.__init(self)
   self.downscaleFactor, self.downscaleFactorSquared = downscaleFactor, downscaleFactor * downscaleFactor
end
local function batch_and_image(input)
   local first = input:nDimension() == 4 and 2 or 1
   return first == 2 and input:size(1) or 1, input:size(first), input:size(first + 1), input:size(first + 2)
end
function PixelSort:updateOutput(input)
   local r = self.downscaleFactor
   local batch, planes, height, width = batch_and_image(input)
   self._shuffleOut = self._shuffleOut or input.new()
   local squares = input:view(batch, planes, height / r, r, width / r, r):permute(1, 2, 4, 6, 3, 5)
   self._shuffleOut:resize(squares:size()):copy(squares)
   local sizes = { planes * r * r, height / r, width / r }
   if input:nDimension() == 4 then table.insert(sizes, 1, batch) end
   self.output = self._shuffleOut:view(torch.LongStorage(sizes))
   return self.output
end
function PixelSort:updateGradInput(input, gradOutput)
   local r = self.downscaleFactor
   local batch, planes, height, width = batch_and_image(input)
   self._shuffleIn = self._shuffleIn or input.new()
   local squares = gradOutput:view(batch, planes, r, r, height / r, width / r):permute(1, 2, 5, 3, 6, 4)
   self._shuffleIn:resize(squares:size()):copy(squares)
   self.gradInput = self._shuffleIn:view(input:size())
   return self.gradInput
end
function PixelSort:clearState()
   nn.utils.clear(self, { '_shuffleIn', '_shuffleOut' })
   return Module.clearState(self)
end

-- A script's functions as a module.
local FunctionWrapper = torch.class('nn.FunctionWrapper', 'nn.Module')
function FunctionWrapper:__init(init, updateOutput, updateGradInput)
   init(self)
   self.fn_updateOutput, self.fn_updateGradInput = updateOutput, updateGradInput
end
function FunctionWrapper:updateOutput(input)
   self.output = self.fn_updateOutput(self, input)
   return self.output
end
function FunctionWrapper:updateGradInput(input, gradOutput)
   self.gradInput = self.fn_updateGradInput(self, input, gradOutput)
   return self.gradInput
end

-- Prints a tensor's size, mean, standard deviation and extrema, and the time since the previous probe.
local Probe = torch.class('nn.Probe', 'nn.Module')
function Probe:__init(name, display)
   Module.__init(self)
   self.name, self.display = name or 'unnamed', display
   nn._ProbeTimer = nn._ProbeTimer or torch.Timer()
end
local function report(legend, t)
   local now = nn._ProbeTimer:time().real
   local since = now - (nn._ProbeLast or 0)
   nn._ProbeLast = now
   print('')
   print(legend)
   print('  + size = ' .. table.concat(t:size():totable(), 'x'))
   for _, name in ipairs{ 'mean', 'std', 'min', 'max' } do print(('  + %s = %s'):format(name, tostring(t[name](t)))) end
   print(('  + time since last probe = %0.1fms'):format(since * 1000))
end
function Probe:updateOutput(input)
   self.output = input
   local legend = ('<%s>.output'):format(self.name)
   report(legend, input)
   if self.display then self.winf = image.display{ image = input, win = self.winf, legend = legend } end
   return self.output
end
function Probe:updateGradInput(_, gradOutput)
   self.gradInput = gradOutput
   local legend = ('layer<%s>.gradInput'):format(self.name)
   report(legend, gradOutput)
   if self.display then self.winb = image.display{ image = gradOutput, win = self.winb, legend = legend } end
   return self.gradInput
end
