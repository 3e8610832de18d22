-- Makes layers from kernels: lua_compat/kernels/nn/layers.py says which belong together, and under which names.
--    name   the class, without nn.
--    parent its parent class, by default nn.Module
--    init   function(self, ...): sets the fields from the constructor's arguments
--    f      the kernel's name, or what gives it for a module and its input; arguments(self, input) are its numbers
--    any_type  of layer.plain: whether it takes inputs of other types than its own
--    text   function(self): what is printed after the type name
local kernels = require 'torch.core.kernels'
local kernel = kernels.of_layers
local kept = require 'nn.convolution.luajit.kept_windows'
local records = require('torch.core.memory').records
local whole = require('torch.core.arguments').whole
local Module = torch.getmetatable('nn.Module')

local layer = {}

local function none() end

local function chosen(f)
   if type(f) == 'function' then return f end
   return function() return f end
end

local function class_of(row)
   local class = torch.class('nn.' .. row.name, row.parent or 'nn.Module')
   if row.text then
      function class:__tostring__() return torch.type(self) .. row.text(self) end
   end
   return class
end

-- A layer without parameters
function layer.plain(row)
   local class = class_of(row)
   local arguments, f, kernel = row.arguments or none, chosen(row.f), row.any_type and kernels.of_tensors or kernel
   function class:__init(...)
      Module.__init(self)
      if row.init then row.init(self, ...) end
   end
   function class:updateOutput(input)
      kernel[f(self, input)](self.output, input, arguments(self, input))
      return self.output
   end
   function class:updateGradInput(input, gradOutput)
      if not self.gradInput then return end
      kernel[f(self, input) .. '_gradient'](self.gradInput, input, gradOutput, arguments(self, input))
      return self.gradInput
   end
   return class
end

-- A layer of two inputs, a table
function layer.pair(row)
   local class = class_of(row)
   local arguments, f, gradients = row.arguments or none, kernel[row.f], kernel[row.f .. '_gradients']
   function class:__init(...)
      Module.__init(self)
      self.gradInput = { torch.Tensor(), torch.Tensor() }
      if row.init then row.init(self, ...) end
   end
   function class:updateOutput(input)
      f(self.output, input[1], input[2], arguments(self))
      return self.output
   end
   function class:updateGradInput(input, gradOutput)
      self.gradInput[1] = self.gradInput[1] or input[1].new()
      self.gradInput[2] = self.gradInput[2] or input[1].new()
      gradients(self.gradInput[1], self.gradInput[2], input[1], input[2], gradOutput, arguments(self))
      return self.gradInput
   end
   return class
end

-- A layer with a weight, and a bias unless row.bias is nil; with bias_is_optional it has the method
-- noBias. weight(self), bias(self): sizes; fan_in(self): the default initialization is uniform within 1 /
-- sqrt of it; sizes: the fields that say the weight's sizes once more, by dimension, or false; start: what the weights
-- are at first, instead, and reset leaves them alone. keeps_windows: those of the forward pass may be kept for the
-- gradients (nn/convolution/luajit/kept_windows.lua). takes_target: the input may be { tensor, target }, where the
-- target's sizes count (arguments sees the table) and its gradient is zero.
function layer.with_parameters(row)
   local class = class_of(row)
   local arguments = row.arguments or none
   local forward, grad_input = kernel[row.f], kernel[row.f .. '_grad_input']
   local grad_parameters = kernel[row.f .. '_grad_parameters']
   local sizes, last = row.sizes, row.sizes and #row.sizes

   -- Fields that a script has changed must still be the weight's. (nn/THNN.lua gives a module no more than it needs.)
   local function check_sizes(self)
      local weight = records[self.weight]
      if not weight or weight.nd ~= last then return end
      for d = 1, last do
         local name = sizes[d]
         local size = name and self[name]
         if size and whole(size) ~= weight[2 * d - 1] then
            error(('%s: %s is %d in the weight, but the field is %s'):format(torch.type(self), name, weight[2 * d - 1],
               tostring(size)), 0)
         end
      end
   end
   if not sizes then check_sizes = none end
   local tensor_of = row.takes_target and function(input) return torch.isTensor(input) and input or input[1] end
      or function(input) return input end

   function class:__init(...)
      Module.__init(self)
      row.init(self, ...)
      self.weight = torch.Tensor(row.weight(self))
      self.gradWeight = torch.Tensor(row.weight(self))
      if row.bias then
         self.bias = torch.Tensor(row.bias(self))
         self.gradBias = torch.Tensor(row.bias(self))
      end
      if row.start then self.weight:fill(row.start) else self:reset() end
   end

   if not row.start then
      function class:reset(stdv)
         stdv = stdv and stdv * math.sqrt(3) or 1 / math.sqrt(row.fan_in(self))
         self.weight:uniform(-stdv, stdv)
         if self.bias then self.bias:uniform(-stdv, stdv) end
      end
   end

   if row.bias_is_optional then
      function class:noBias()
         self.bias, self.gradBias = nil, nil
         return self
      end
   end

   function class:updateOutput(input)
      check_sizes(self)
      if row.keeps_windows then kept.announce(self) end
      forward(self.output, tensor_of(input), self.weight, self.bias, arguments(self, input))
      return self.output
   end
   function class:updateGradInput(input, gradOutput)
      if not self.gradInput then return end
      if type(self.gradInput) == 'table' then self.gradInput = self.gradInput[1] or gradOutput.new() end
      local tensor = tensor_of(input)
      check_sizes(self)
      grad_input(self.gradInput, tensor, gradOutput, self.weight, self.bias, arguments(self, input))
      if tensor ~= input then
         local target = input[2]
         local ones = torch.LongStorage(target:dim()):fill(1)
         self.gradInput = { self.gradInput, target.new(1):zero():view(ones):expandAs(target) }
      end
      return self.gradInput
   end
   function class:accGradParameters(input, gradOutput, scale)
      check_sizes(self)
      if row.keeps_windows then kept.announce(self) end
      grad_parameters(self.gradWeight, self.gradBias, tensor_of(input), gradOutput, self.weight, self.bias, scale or 1,
         arguments(self, input))
   end
   return class
end

-- For layers of tables: entry i of gradInput as a tensor like input[i]; those beyond the input are dropped.
function layer.gradient_entry(self, input, i)
   self.gradInput[i] = self.gradInput[i] or input[1].new()
   return self.gradInput[i]:resizeAs(input[i])
end
function layer.drop_rest(self, input)
   for i = #input + 1, #self.gradInput do self.gradInput[i] = nil end
   return self.gradInput
end

-- Fields of self from the arguments after it, with defaults: layer.fields(self, { 'kW', 'dW' }, kW, dW or kW)
function layer.fields(self, names, ...)
   for i, name in ipairs(names) do self[name] = (select(i, ...)) end
end

return layer
