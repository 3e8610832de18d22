-- Creates layers from kernels and declarations (nn/declarations.lua). lua_compat/kernels/nn/layers.py says which
-- kernels belong together, and how they are named. A row gives what is not declared, or differs:
--    name   the class, without nn.
--    init   function(self, ...): sets the fields from the constructor's arguments; check(self): raises for invalid ones
--    gradient  the suffix of the gradient's kernel
--    f      the kernel's name, or a function of a module and its input that returns it; arguments(self, input): its
--           numbers
--    any_type  in layer.plain: whether inputs may have another type than the layer
--    text   function(self): what is printed after the type name
local kernels = require 'torch.core.kernels'
local kernel = kernels.of_layers
local declarations = require 'nn.declarations'
local declared = require 'nn.shared.declared'
local kept = require 'nn.convolution.luajit.kept_windows'
local whole_numbers = require 'nn.shared.whole_numbers'
local records = require('torch.core.memory').records
local whole = require('torch.core.arguments').whole
local Module = torch.getmetatable('nn.Module')

local layer = {}

local function none() end

local function chosen(f)
   if type(f) == 'function' then return f end
   return function() return f end
end

-- Creates the class of a row. Returns it with the constructor's and the kernel's functions: init, kernel, arguments
local function class_of(row)
   local name = row.name
   local declaration = declarations.of(name)
   local class = torch.class('nn.' .. name, 'nn.' .. declaration.base)
   if row.text then
      function class:__tostring__() return torch.type(self) .. row.text(self) end
   end
   local arguments = row.arguments or declaration.takes and declared.reader(name) or none
   return class, row.init or declared.setter(name), row.f or declaration.kernel, arguments,
      declaration.gradient_takes and declared.reader(name, declaration.gradient_takes) or arguments
end

-- A layer without parameters
function layer.plain(row)
   local class, init, f, arguments = class_of(row)
   local kernel = row.any_type and kernels.of_tensors or kernel
   local gradient, check = row.gradient or '_gradient', row.check or none
   f = chosen(f)
   function class:__init(...)
      Module.__init(self)
      init(self, ...)
      check(self)
   end
   function class:updateOutput(input)
      kernel[f(self, input)](self.output, input, arguments(self, input))
      return self.output
   end
   function class:updateGradInput(input, gradOutput)
      if not self.gradInput then return end
      kernel[f(self, input) .. gradient](self.gradInput, input, gradOutput, arguments(self, input))
      return self.gradInput
   end
   return class
end

-- A layer with two inputs, in a table
function layer.pair(row)
   local class, init, name, arguments = class_of(row)
   local f, gradients = kernel[name], kernel[name .. '_gradients']
   function class:__init(...)
      Module.__init(self)
      self.gradInput = { torch.Tensor(), torch.Tensor() }
      init(self, ...)
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

-- A layer with a weight, and with a bias unless row.bias is nil; bias_is_optional adds the method noBias. weight(self),
-- bias(self): their sizes. fan_in(self): the default initialisation is uniform within 1 / sqrt of it. start: a constant
-- initial value of the weights instead, which reset does not change. sizes: the fields that repeat the weight's sizes,
-- by dimension, or false. keeps_windows: the forward pass may keep its windows for the gradients
-- (nn/convolution/luajit/kept_windows.lua). takes_target: the input may be { tensor, target }; only the target's sizes
-- are used (`arguments` receives the table), and its gradient is zero.
function layer.with_parameters(row)
   local class, init, name, arguments = class_of(row)
   local check = row.check or none
   local forward, grad_input, grad_parameters = kernel[name], kernel[name .. '_grad_input'],
      kernel[name .. '_grad_parameters']

   -- Fields that a script has changed must still match the weight, where THNN's function takes them. (Modules made by
   -- nn/THNN.lua may lack them.)
   local function checked_sizes(method)
      if not row.sizes then return none end
      local taken = declarations.of(row.name).thnn[method]
      local last, names = #row.sizes, {}
      for d = 1, last do
         local name = row.sizes[d]
         if name and taken:find('%f[%w]' .. name .. '%f[%W]') then names[d] = name end
      end
      if not next(names) then return none end
      return function(self)
         local weight = records[self.weight]
         if not weight or weight.nd ~= last then return end
         for d = 1, last do
            local name = names[d]
            local size
            if name then size = self[name] end
            if size ~= nil and whole(size) ~= weight[2 * d - 1] then
               error(('%s: %s is %d in the weight, but the field is %s'):format(torch.type(self), name,
                  weight[2 * d - 1], tostring(size)), 0)
            end
         end
      end
   end
   local check_forward, check_backward, check_accumulated = checked_sizes 'updateOutput',
      checked_sizes 'updateGradInput', checked_sizes 'accGradParameters'
   local function bias_of(self) return row.bias and self.bias or nil end
   local tensor_of = row.takes_target and function(input) return torch.isTensor(input) and input or input[1] end
      or function(input) return input end

   function class:__init(...)
      Module.__init(self)
      init(self, ...)
      check(self)
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
      check_forward(self)
      if row.keeps_windows then kept.announce(self) end
      forward(self.output, tensor_of(input), self.weight, bias_of(self), arguments(self, input))
      return self.output
   end
   function class:updateGradInput(input, gradOutput)
      if not self.gradInput then return end
      if type(self.gradInput) == 'table' then self.gradInput = self.gradInput[1] or gradOutput.new() end
      local tensor = tensor_of(input)
      check_backward(self)
      grad_input(self.gradInput, tensor, gradOutput, self.weight, bias_of(self), arguments(self, input))
      if tensor ~= input then
         local target = input[2]
         local ones = torch.LongStorage(target:dim()):fill(1)
         self.gradInput = { self.gradInput, target.new(1):zero():view(ones):expandAs(target) }
      end
      return self.gradInput
   end
   function class:accGradParameters(input, gradOutput, scale)
      check_accumulated(self)
      if row.keeps_windows then kept.announce(self) end
      grad_parameters(self.gradWeight, row.bias and self.gradBias or nil, tensor_of(input), gradOutput, self.weight,
         bias_of(self), scale or 1, arguments(self, input))
   end
   return class
end

-- A layer that keeps the positions of maxima in `indices`. before(self, input) is called before the forward pass.
function layer.maxima(row)
   local class, init, name, arguments, of_gradient = class_of(row)
   local forward, gradient, before = kernel[name], kernel[name .. '_grad_input'], row.before or none
   function class:__init(...)
      Module.__init(self)
      init(self, ...)
   end
   function class:updateOutput(input)
      before(self, input)
      self.indices = whole_numbers.beside(input, self.indices)
      forward(self.output, self.indices, input, arguments(self))
      return self.output
   end
   function class:updateGradInput(input, gradOutput)
      if not self.gradInput then return end
      gradient(self.gradInput, input, gradOutput, self.indices, of_gradient(self))
      return self.gradInput
   end
   function class:empty() self:clearState() end
   function class:clearState()
      if self.indices then self.indices:set() end
      return Module.clearState(self)
   end
   return class
end

-- For layers with table inputs: entry i of gradInput as a tensor like input[i]; entries beyond the input are dropped.
function layer.gradient_entry(self, input, i)
   self.gradInput[i] = self.gradInput[i] or input[1].new()
   return self.gradInput[i]:resizeAs(input[i])
end
function layer.drop_rest(self, input)
   for i = #input + 1, #self.gradInput do self.gradInput[i] = nil end
   return self.gradInput
end

return layer
