-- Modules that wrap another module.
local declared = require 'nn.shared.declared'
local Container = torch.getmetatable('nn.Container')

local Decorator = torch.class('nn.Decorator', 'nn.Container')

function Decorator:__init(module)
   Container.__init(self)
   self:add(module)
end
function Decorator:updateOutput(input)
   self.output = self.modules[1]:updateOutput(input)
   return self.output
end
function Decorator:updateGradInput(input, gradOutput)
   self.gradInput = self.modules[1]:updateGradInput(input, gradOutput)
   return self.gradInput
end
function Decorator:accGradParameters(input, gradOutput, scale)
   self.modules[1]:accGradParameters(input, gradOutput, scale)
end
function Decorator:accUpdateGradParameters(input, gradOutput, rate)
   self.modules[1]:accUpdateGradParameters(input, gradOutput, rate)
end
function Decorator:sharedAccUpdateGradParameters(input, gradOutput, rate)
   self.modules[1]:sharedAccUpdateGradParameters(input, gradOutput, rate)
end
function Decorator:__tostring__() return torch.type(self) .. ' @ ' .. tostring(self.modules[1]) end

-- The methods, for a class with another parent.
function Decorator.decorate(class)
   for _, method in ipairs{ 'updateOutput', 'updateGradInput', 'accGradParameters', 'accUpdateGradParameters',
      'sharedAccUpdateGradParameters', '__tostring__' } do
      class[method] = Decorator[method]
   end
end

-- Applies a module for inputs of nInputDim dimensions to inputs with more: the first dimensions are viewed as one
local Bottle = torch.class('nn.Bottle', 'nn.Decorator')

local set_bottle, set_profile = declared.setter 'Bottle', declared.setter 'Profile'
function Bottle:__init(module, ...)
   set_bottle(self, module, ...)
   Decorator.__init(self, module)
   self.dimDelta = self.nInputDim - self.nOutputDim
   self.inShape = torch.Tensor(self.nInputDim)
   self.outShape = torch.Tensor(self.nOutputDim)
end

function Bottle:updateOutput(input)
   local extra = input:dim() - self.nInputDim
   if extra <= 0 then return self.output:set(self.modules[1]:updateOutput(input)) end
   if self.nInputDim - self.dimDelta ~= self.nOutputDim then
      error(('nInputDim %s and nOutputDim %s differ by another number than dimDelta, %s'):format(self.nInputDim,
         self.nOutputDim, self.dimDelta), 0)
   end
   local sizes = input:size():totable()
   local inner = { -1 }
   for d = extra + 2, #sizes do inner[#inner + 1] = sizes[d] end
   local viewed = input:view(unpack(inner))
   self.inShape:copy(torch.Tensor(viewed:size():totable()))
   local output = self.modules[1]:updateOutput(viewed)
   assert(output:dim() == self.nOutputDim, ('Wrong number of output dims on module. Expected: %d but got %d'):format(
      self.nOutputDim, output:dim()))
   self.outShape:copy(torch.Tensor(output:size():totable()))
   local outer = {}
   for d = 1, extra + 1 do outer[d] = sizes[d] end
   for d = 2, output:dim() do outer[#outer + 1] = output:size(d) end
   return self.output:set(output:view(unpack(outer)))
end

local function bottled(self, input, gradOutput)
   if input:dim() <= self.nInputDim then return input, gradOutput end
   return input:view(unpack(self.inShape:totable())), gradOutput:contiguous():view(unpack(self.outShape:totable()))
end

function Bottle:updateGradInput(input, gradOutput)
   local gradient = self.modules[1]:updateGradInput(bottled(self, input, gradOutput))
   if not gradient then
      self.gradInput = nil
      return nil
   end
   return self.gradInput:set(input:dim() > self.nInputDim and gradient:viewAs(input) or gradient)
end
function Bottle:accGradParameters(input, gradOutput, scale)
   local inner_input, inner_gradient = bottled(self, input, gradOutput)
   self.modules[1]:accGradParameters(inner_input, inner_gradient, scale)
end

-- Raises an error when a NaN appears.
local NaN = torch.class('nn.NaN', 'nn.Decorator')
local last_id = 0
function NaN.newId()
   last_id = last_id + 1
   return last_id
end
function NaN:__init(module, id)
   Decorator.__init(self, module)
   self.id = id or NaN.newId()
end
-- Whether a tensor, or nested tables of tensors, contain a NaN.
function NaN:recursiveIsNaN(value)
   if torch.type(value) == 'table' then
      for _, inner in pairs(value) do
         if self:recursiveIsNaN(inner) then return true end
      end
      return false
   end
   local sum = torch.isTensor(value) and value:nElement() > 0 and value:sum() or 0
   return sum ~= sum
end
local function complain(self, place) error(('NaN found in %s of module :\n%s'):format(place, tostring(self))) end
function NaN:updateOutput(input)
   self.output = self.modules[1]:updateOutput(input)
   if self:recursiveIsNaN(self.output) then
      if self:recursiveIsNaN(input) then complain(self, 'input') end
      complain(self, self:recursiveIsNaN((self:parameters())) and 'parameters' or 'output')
   end
   return self.output
end
function NaN:updateGradInput(input, gradOutput)
   self.gradInput = self.modules[1]:updateGradInput(input, gradOutput)
   if self:recursiveIsNaN(self.gradInput) then
      complain(self, self:recursiveIsNaN(gradOutput) and 'gradOutput' or 'gradInput')
   end
   return self.gradInput
end
function NaN:accGradParameters(input, gradOutput, scale)
   self.modules[1]:accGradParameters(input, gradOutput, scale)
   local _, gradients = self:parameters()
   if self:recursiveIsNaN(gradients) then complain(self, 'gradParameters') end
end
function NaN:__tostring__() return torch.type(self) .. '(' .. self.id .. ') @ ' .. tostring(self.modules[1]) end

-- Prints the time after every print_interval passes.
local Profile = torch.class('nn.Profile', 'nn.Decorator')
function Profile:__init(module, ...)
   set_profile(self, module, ...)
   Decorator.__init(self, module)
   self.name = self.name or torch.type(module)
   self.numFwds, self.numBwds, self.summedFwdTime, self.summedBwdTime = 0, 0, 0, 0
   self.timer = torch.Timer()
end
for method, row in pairs{ updateOutput = { 'output', 'numFwds', 'summedFwdTime', 'forward' },
   updateGradInput = { 'gradInput', 'numBwds', 'summedBwdTime', 'backward' } } do
   local result, count, seconds, pass = unpack(row)
   Profile[method] = function(self, ...)
      self.timer:reset()
      self[result] = self.module[method](self.module, ...)
      self[seconds] = self[seconds] + self.timer:time().real
      self[count] = self[count] + 1
      if self[count] % self.print_interval == 0 then
         print(('%s took %.3f seconds for %d %s passes'):format(self.name, self[seconds], self.print_interval, pass))
         self[count], self[seconds] = 0, 0
      end
      return self[result]
   end
end
-- A saved profile contains a timer, which starts anew when read.
local Timer = torch.getmetatable('torch.Timer')
Timer.__factory = torch.Timer
function Timer.write() end
function Timer.read() end

-- The wrapped module keeps its type when the net is cast; castin and castout convert its inputs to its type and its
-- outputs to the net's.
local DontCast = torch.class('nn.DontCast', 'nn.Decorator')

-- The type of the first tensor found in nested tables
local function tensor_type(value)
   if torch.isTensor(value) then return torch.type(value) end
   if type(value) == 'table' then
      for _, inner in pairs(value) do
         local found = tensor_type(inner)
         if found then return found end
      end
   end
end
-- Copies the tensors in source to a type, into target where it has a tensor already
local function cast_copy(target, source, name)
   if torch.type(source) == 'table' then
      target = torch.type(target) == 'table' and target or {}
      for key, value in pairs(source) do target[key] = cast_copy(target[key], value, name) end
   elseif torch.isTensor(source) then
      if torch.type(target) ~= name then target = torch.getmetatable(name).new() end
      target:resize(source:size())
      if source:nElement() > 0 then target:copy(source) end
   end
   return target
end

local set_casts = declared.setter 'DontCast'
function DontCast:__init(module, ...)
   set_casts(self, module, ...)
   Decorator.__init(self, module)
   if (self.castin or self.castout) and not self.moduleType then
      self.moduleType = tensor_type(module.output) or tensor_type((module:parameters()))
         or error('Cannot extrapolate moduleType. Provide constructor argument 4')
   end
end
-- Converts an argument to the module's type; `field` keeps the copy.
local function cast_in(self, flag, field, value)
   if not flag or tensor_type(value) == self.moduleType then return value end
   self[field] = cast_copy(self[field], value, self.moduleType)
   return self[field]
end
function DontCast:updateOutput(input)
   local output = self.modules[1]:updateOutput(cast_in(self, self.castin, '_input', input))
   if self.castout then
      self.output = cast_copy(self.output, output, tensor_type(self.output))
   else
      self.output = output
   end
   return self.output
end
function DontCast:updateGradInput(input, gradOutput)
   local gradInput = self.modules[1]:updateGradInput(cast_in(self, self.castin, '_input', input),
      cast_in(self, self.castout, '_gradOutput', gradOutput))
   if self.castin then
      self.gradInput = cast_copy(self.gradInput, gradInput, tensor_type(self.gradInput))
   else
      self.gradInput = gradInput
   end
   return self.gradInput
end
for _, method in ipairs{ 'accGradParameters', 'accUpdateGradParameters' } do
   DontCast[method] = function(self, input, gradOutput, scale)
      self.modules[1][method](self.modules[1], cast_in(self, self.castin, '_input', input),
         cast_in(self, self.castout, '_gradOutput', gradOutput), scale)
   end
end
function DontCast:type(name)
   if not name then return self._type end
   if self.castout and tensor_type(self.output) ~= name then self.output = cast_copy(nil, self.output, name) end
   if self.castin and tensor_type(self.gradInput) ~= name then self.gradInput = cast_copy(nil, self.gradInput, name) end
   return self
end

-- A weight as direction and length: g * v / |v| for each index along outputDim
local WeightNorm = torch.class('nn.WeightNorm', 'nn.Decorator')
local SMALL = 1e-4 -- added to |v|^2

local set_dimension = declared.setter 'WeightNorm'
function WeightNorm:__init(module, ...)
   set_dimension(self, module, ...)
   Decorator.__init(self, module)
   assert(module.weight)
   self.weight, self.gradWeight = module.weight, module.gradWeight
   self.bias, self.gradBias = module.bias, module.gradBias
   local outputs = self.weight:size(self.outputDim)
   self.otherDims = self.weight:nElement() / outputs
   self.viewIn = torch.LongStorage{ outputs, self.otherDims }
   self.viewOut = self:permuteIn(self.weight):size()
   self.weightSize = self.weight:size()
   self.v, self.gradV = torch.Tensor(self.viewIn), torch.Tensor(self.viewIn)
   self.g, self.gradG = torch.Tensor(outputs), torch.Tensor(outputs):zero()
   self._norm, self._scale = torch.Tensor(outputs), torch.Tensor(outputs)
   self:resetInit()
end

-- Moves outputDim to the front, and back
function WeightNorm:permuteIn(t)
   for d = self.outputDim - 1, 1, -1 do t = t:transpose(d, d + 1) end
   return t
end
function WeightNorm:permuteOut(t)
   for d = 1, self.outputDim - 1 do t = t:transpose(d, d + 1) end
   return t
end

function WeightNorm:resetInit()
   self.v:normal(0, math.sqrt(2 / self.viewIn[2]))
   self.g:norm(self.v, 2, 2)
   if self.bias then self.bias:zero() end
end

-- A number for each output, viewed as a matrix like v
local function per_output(self, t) return t:view(self.viewIn[1], 1):expandAs(self.v) end

function WeightNorm:updateWeight()
   self._norm:norm(self.v, 2, 2):pow(2):add(SMALL):sqrt()
   self._scale:copy(self.g):cdiv(self._norm)
   local weight = torch.cmul(self.v, per_output(self, self._scale))
   self.weight:copy(self:permuteOut(weight:view(self.viewOut)))
end

function WeightNorm:evaluate()
   if self.train ~= false then
      self:updateWeight()
      Decorator.evaluate(self)
   end
end

function WeightNorm:updateOutput(input)
   if self.train ~= false then self:updateWeight() end
   return self.output:set(self.modules[1]:updateOutput(input))
end

function WeightNorm:updateGradInput(input, gradOutput)
   return self.gradInput:set(self.modules[1]:updateGradInput(input, gradOutput))
end

-- Converts the module's own weight gradient to the gradients of v and g.
function WeightNorm:accGradParameters(input, gradOutput, scale)
   self.modules[1]:accGradParameters(input, gradOutput, scale or 1)
   local norm, factor = per_output(self, self._norm), per_output(self, self._scale)
   local gradient = self:permuteIn(self.gradWeight):contiguous():view(self.viewIn)
   self.gradG:sum(torch.cmul(gradient, self.v):cdiv(norm), 2)
   local along = torch.cmul(self.v, factor):cdiv(norm):cmul(per_output(self, self.gradG))
   self.gradV:copy(torch.cmul(gradient, factor):add(-1, along))
   self.gradV = self.gradV:view(self.viewOut)
   self.gradWeight:copy(self:permuteOut(self.gradV))
end

function WeightNorm:zeroGradParameters()
   self.modules[1]:zeroGradParameters()
   self.gradV:zero()
   self.gradG:zero()
end

function WeightNorm:updateParameters(rate)
   self.modules[1]:updateParameters(rate)
   self.g:add(-rate, self.gradG)
   self.v:add(-rate, self.gradV)
end

function WeightNorm:parameters()
   return { self.v, self.g, self.bias }, { self.gradV, self.gradG, self.gradBias }
end

-- weight and gradWeight are not saved, because v and g determine them.
function WeightNorm:write(file)
   local module, weight, gradWeight = self.modules[1], self.weight, self.gradWeight
   self.weight, self.gradWeight, module.weight, module.gradWeight = nil, nil, nil, nil
   self.weightSize = self.weightSize or weight:size()
   Decorator.write(self, file)
   self.weight, self.gradWeight, module.weight, module.gradWeight = weight, gradWeight, weight, gradWeight
end
function WeightNorm:read(file)
   Decorator.read(self, file)
   if self.weight then return end -- saved by an early version
   local module = self.modules[1]
   module.weight, module.gradWeight = self.v.new(self.weightSize), self.v.new(self.weightSize)
   self.weight, self.gradWeight = module.weight, module.gradWeight
   self:updateWeight()
   self.gradWeight:copy(self:permuteOut(self.gradV:view(self.viewOut)))
end

-- In Torch7, runs a module on one GPU. Here every module runs where its tensors are; the number is only stored.
local GPU = torch.class('nn.GPU', 'nn.Container')
local set_devices = declared.setter 'GPU'
function GPU:__init(...)
   Container.__init(self)
   local module = set_devices(self, ...)
   assert(torch.type(self.device) == 'number')
   assert(torch.isTypeOf(module, 'nn.Module'))
   self.modules[1] = module
end
for _, method in ipairs{ 'updateOutput', 'updateGradInput', 'accGradParameters' } do GPU[method] = Decorator[method] end
for _, method in ipairs{ 'accUpdateGradParameters', 'sharedAccUpdateGradParameters' } do
   GPU[method] = function(self) error('Not Implemented for ' .. torch.type(self)) end
end
function GPU:setDevice(device)
   self.device = device or self.device
   return self
end
function GPU:type(name, cache)
   if not name then return self._type end
   self.output, self.gradInput = nil, nil
   return Container.type(self, name, cache)
end
-- In a file, the type and the device come first.
function GPU:write(file)
   file:writeObject{ self._type, self.device }
   Container.write(self, file)
end
function GPU:read(file)
   file:readObject()
   Container.read(self, file)
end
function GPU:__tostring__() return ('%s(%s) @ %s'):format(torch.type(self), self.device, tostring(self.modules[1])) end
