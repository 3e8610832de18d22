-- Pooling of images: input (batch x) planes x height x width.
local kernel = require('torch.kernels').of_tensors
local whole_numbers = require 'nn.whole_numbers'
local Module = torch.getmetatable('nn.Module')

-- kW, kH, dW, dH, padW, padH as fields; ceil() and floor() choose how output sizes are rounded.
local function define(name)
   local class = torch.class(name, 'nn.Module')

   function class:__init(kW, kH, dW, dH, padW, padH)
      Module.__init(self)
      self.kW, self.kH = kW, kH
      self.dW, self.dH = dW or self.default_step or kW, dH or self.default_step or kH
      self.padW, self.padH = padW or 0, padH or 0
      self.ceil_mode = false
   end

   function class:ceil()
      self.ceil_mode = true
      return self
   end
   function class:floor()
      self.ceil_mode = false
      return self
   end

   function class:__tostring__()
      local text = ('%s(%dx%d, %d,%d'):format(torch.type(self), self.kW, self.kH, self.dW, self.dH)
      if self.padW ~= 0 or self.padH ~= 0 then text = text .. ', ' .. self.padW .. ',' .. self.padH end
      return text .. ')'
   end
   return class
end

local function geometry(self)
   return self.kW, self.kH, self.dW, self.dH, self.padW or 0, self.padH or 0
end

local Max = define('nn.SpatialMaxPooling')
local init = Max.__init

function Max:__init(...)
   init(self, ...)
   self.indices = torch.LongTensor()
end

function Max:updateOutput(input)
   self.indices = whole_numbers.beside(input, self.indices)
   self.iheight, self.iwidth = input:size(input:dim() - 1), input:size(input:dim())
   local kW, kH, dW, dH, padW, padH = geometry(self)
   kernel.spatial_max_pooling(self.output, self.indices, input, kW, kH, dW, dH, padW, padH, self.ceil_mode or false)
   return self.output
end

function Max:updateGradInput(input, gradOutput)
   local kW, kH, dW, dH, padW, padH = geometry(self)
   kernel.spatial_max_pooling_grad_input(self.gradInput, input, gradOutput, self.indices, kW, kH, dW, dH, padW, padH,
      self.ceil_mode or false)
   return self.gradInput
end

function Max:empty() self:clearState() end

function Max:clearState()
   if self.indices then self.indices:set() end
   return Module.clearState(self)
end

local Average = define('nn.SpatialAveragePooling')
Average.default_step = 1
local init_average = Average.__init

function Average:__init(...)
   init_average(self, ...)
   self.count_include_pad = true
   self.divide = true
end

function Average:setCountIncludePad()
   self.count_include_pad = true
   return self
end
function Average:setCountExcludePad()
   self.count_include_pad = false
   return self
end

-- Sums in place of means, if divide is false.
local function averaging(self)
   local kW, kH, dW, dH, padW, padH = geometry(self)
   return kW, kH, dW, dH, padW, padH, self.ceil_mode or false, self.count_include_pad ~= false
end

function Average:updateOutput(input)
   kernel.spatial_average_pooling(self.output, input, averaging(self))
   if self.divide == false then self.output:mul(self.kW * self.kH) end
   return self.output
end

function Average:updateGradInput(input, gradOutput)
   kernel.spatial_average_pooling_grad_input(self.gradInput, input, gradOutput, averaging(self))
   if self.divide == false then self.gradInput:mul(self.kW * self.kH) end
   return self.gradInput
end
