-- Random dropout of elements during training, and noise.
local declared = require 'nn.shared.declared'

local Dropout, Module = torch.class('nn.Dropout', 'nn.Module')

-- p: the probability of dropping an element. v1: scale in evaluation instead of training. stochastic: drop in
-- evaluation, too.
local set = declared.setter 'Dropout'
function Dropout:__init(p, v1, ...)
   Module.__init(self)
   set(self, p, v1, ...)
   self.v2 = not v1
   if self.p >= 1 or self.p < 0 then error('<Dropout> illegal percentage, must be 0 <= p < 1', 2) end
end

function Dropout:updateOutput(input)
   if self.inplace then self.output:set(input) else self.output:resizeAs(input):copy(input) end
   if self.p > 0 then
      if self.train or self.stochastic_inference then
         self.noise:resizeAs(input):bernoulli(1 - self.p)
         if self.v2 then self.noise:div(1 - self.p) end
         self.output:cmul(self.noise)
      elseif not self.v2 then
         self.output:mul(1 - self.p)
      end
   end
   return self.output
end

function Dropout:updateGradInput(_, gradOutput)
   if self.inplace then self.gradInput:set(gradOutput) else self.gradInput:resizeAs(gradOutput):copy(gradOutput) end
   if self.p > 0 then
      if self.train then self.gradInput:cmul(self.noise)
      elseif not self.v2 then self.gradInput:mul(1 - self.p) end
   end
   return self.gradInput
end

function Dropout:setp(p) self.p = p end

function Dropout:clearState()
   if self.noise then self.noise:set() end
   return Module.clearState(self)
end

function Dropout:__tostring__() return ('%s(%f)'):format(torch.type(self), self.p) end

-- Drops whole planes; never scales in training
for name, row in pairs{ SpatialDropout = { 4, 'h, w' }, VolumetricDropout = { 5, 't, h, w' } } do
   local dims, axes = row[1], row[2]
   local class = torch.class('nn.' .. name, 'nn.Module')
   declared.construct(class, name)
   function class:updateOutput(input)
      self.output:resizeAs(input):copy(input)
      if not (self.train or self.stochastic_inference) then return self.output:mul(1 - self.p) end
      if input:dim() ~= dims and input:dim() ~= dims - 1 then
         error(('Input must be %dD (nbatch, nfeat, %s) or %dD (nfeat, %s)'):format(dims, axes, dims - 1, axes))
      end
      local sizes = input:size()
      for d = input:dim() - dims + 3, input:dim() do sizes[d] = 1 end
      self.noise:resize(sizes):bernoulli(1 - self.p)
      return self.output:cmul(torch.expandAs(self.noise, input))
   end
   function class:updateGradInput(input, gradOutput)
      if not self.train then error('backprop only defined while training') end
      return self.gradInput:resizeAs(gradOutput):copy(gradOutput):cmul(torch.expandAs(self.noise, input))
   end
   class.setp, class.clearState, class.__tostring__ = Dropout.setp, Dropout.clearState, Dropout.__tostring__
end

-- Normally distributed noise in training, its mean in evaluation
local WhiteNoise = torch.class('nn.WhiteNoise', 'nn.Module')
declared.construct(WhiteNoise, 'WhiteNoise')
function WhiteNoise:updateOutput(input)
   self.output:resizeAs(input):copy(input)
   if self.train == false then return self.mean ~= 0 and self.output:add(self.mean) or self.output end
   return self.output:add(self.noise:resizeAs(input):normal(self.mean, self.std))
end
function WhiteNoise:updateGradInput(_, gradOutput)
   if self.train == false then error('backprop only defined while training') end
   return self.gradInput:resizeAs(gradOutput):copy(gradOutput)
end
function WhiteNoise:clearState()
   self.noise:set()
   return Module.clearState(self)
end
function WhiteNoise:__tostring__()
   return ('%s mean: %f, std: %f'):format(torch.type(self), self.mean, self.std)
end
