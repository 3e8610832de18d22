-- Transfer functions: a function of each element. A row of the table below is a module:
--    name, the kernel's function, its parameters as { field, default } in the constructor's order (convert: what makes a
--    number of a field that Torch7 gives to a function of torch, not to THNN), and:
--    inplace: whether the constructor ends with an in-place flag
--    f_in_place(self, input): the kernel's function in place, where Torch7's does otherwise with a NaN
--    of_output: whether the derivative is computed from the output
--    init: more fields that Torch7's module has
for _, part in ipairs{ 'elementwise', 'prelu', 'gated_linear', 'softmax' } do require('nn.transfer.luajit.' .. part) end
local math = require('th.own').math
local select = require('th.own').select
local kernel = require('torch.core.kernels').of_layers
local layer = require 'nn.shared.layer'
local overloads = require 'torch.tensor.overloads'
local rectifiers = require 'nn.transfer.luajit.rectifiers'
local arguments = require 'torch.core.arguments'
local records = require('torch.core.memory').records
local number, flag, scalar = arguments.number, arguments.flag, arguments.scalar

local Module = torch.getmetatable('nn.Module')

local function check_flag(inplace)
   if inplace and type(inplace) ~= 'boolean' then error('in-place flag must be boolean', 3) end
   return inplace or false
end

-- f's values of a module's parameter fields.
local function values(self, parameters)
   local list = {}
   for i, parameter in ipairs(parameters) do
      local value = self[parameter[1]]
      if type(value) == 'nil' then value = parameter[2] end
      if parameter.convert then value = parameter.convert(value) end
      list[i] = value
   end
   return unpack(list, 1, #parameters)
end

local function define(row)
   local parameters = row.parameters or {}
   local class = torch.class('nn.' .. row.name, 'nn.Module')

   function class:__init(...)
      Module.__init(self)
      for i, parameter in ipairs(parameters) do
         local value = select(i, ...)
         if value == nil then value = parameter[2] end
         self[parameter[1]] = value
      end
      if row.inplace then self.inplace = check_flag((select(#parameters + 1, ...))) end
      if row.init then row.init(self) end
      if row.check then row.check(self) end
   end

   local function is_in_place(self)
      local inplace = self.inplace
      return inplace and flag(inplace)
   end

   local function f(inplace, input) return inplace and row.f_in_place and row.f_in_place(input) or row.f end

   function class:updateOutput(input)
      if row.check then row.check(self) end
      local inplace = is_in_place(self)
      if inplace then self.output:set(input) end
      kernel.transfer(self.output, input, f(inplace, input), values(self, parameters))
      return self.output
   end

   function class:updateGradInput(input, gradOutput)
      local inplace = is_in_place(self)
      if inplace then self.gradInput:set(gradOutput) end
      kernel.transfer_gradient(self.gradInput, row.of_output and self.output or input, gradOutput, f(inplace, input),
         values(self, parameters))
      return self.gradInput
   end

   if row.text then
      function class:__tostring__() return torch.type(self) .. row.text:format(values(self, parameters)) end
   end
   return class
end

-- In place a NaN stays, except that Torch7 then limits a vector, and what lies apart, once more as if it were not in place.
local function in_place(name)
   return function() return name end
end
local function limited_in_place(name)
   return function(input) return input:dim() > 1 and input:isContiguous() and name or nil end
end

for _, row in ipairs{
   { name = 'Abs', f = 'abs' },
   { name = 'Exp', f = 'exp', of_output = true },
   { name = 'Log', f = 'log' },
   { name = 'Sigmoid', f = 'sigmoid', of_output = true },
   { name = 'Square', f = 'square' },
   { name = 'Sqrt', f = 'sqrt', of_output = true, init = function(self) self.eps = 0 end },
   { name = 'Tanh', f = 'tanh', of_output = true },
   { name = 'SoftSign', f = 'soft_sign' },
   { name = 'LogSigmoid', f = 'log_sigmoid' },
   { name = 'SoftPlus', f = 'soft_plus', parameters = { { 'beta', 1 } },
      init = function(self) self.threshold = 20 end },
   { name = 'HardShrink', f = 'hard_shrink', parameters = { { 'lambda', 0.5 } } },
   { name = 'SoftShrink', f = 'soft_shrink', parameters = { { 'lambda', 0.5 } } },
   { name = 'ELU', f = 'elu', parameters = { { 'alpha', 1 } }, inplace = true, of_output = true,
      text = ' (alpha:%f)' },
   { name = 'LeakyReLU', f = 'leaky_relu', parameters = { { 'negval', 1 / 100 } }, inplace = true, text = '(%g)',
      f_in_place = in_place 'leaky_relu_in_place',
      init = function(self)
         -- a flag in the slope's place is an in-place flag that Torch7 drops
         if type(self.negval) == 'boolean' then self.negval = 1 / 100 end
         if self.negval < 0 then self.inplace = false end
      end },
   { name = 'HardTanh', f = 'hard_tanh', parameters = { { 'min_val', -1 }, { 'max_val', 1 } }, inplace = true,
      f_in_place = limited_in_place 'hard_tanh_in_place',
      init = function(self) assert(self.max_val > self.min_val, 'max_value must be larger than min_value') end },
   { name = 'ReLU6', f = 'relu6', inplace = true, f_in_place = limited_in_place 'relu6_in_place' },
   { name = 'Threshold', f = 'threshold', parameters = { { 'threshold', 1e-6 }, { 'val', 0 } }, inplace = true,
      f_in_place = in_place 'threshold_in_place',
      check = function(self)
         if type(self.threshold) ~= 'number' or type(self.val) ~= 'number' then
            error('nn.Threshold(threshold, value)', 3)
         end
         if self.inplace and self.val > self.threshold then
            error(('in-place processing requires value (%s) not exceed threshold (%s)'):format(self.val,
               self.threshold), 3)
         end
      end },
   { name = 'Power', f = 'power', parameters = { { 'pow', convert = scalar } },
      check = function(self)
         if not self.pow then error('nn.Power(power)', 3) end
      end },
} do define(row) end

-- f(x) = max(x, 0)
local ReLU, Threshold = torch.class('nn.ReLU', 'nn.Threshold')
function ReLU:__init(inplace) Threshold.__init(self, 0, 0, inplace) end

-- f(x) = x - tanh(x); the gradient is that of the tanh of the forward pass, as under Torch7
local TanhShrink = torch.class('nn.TanhShrink', 'nn.Module')
function TanhShrink:__init()
   Module.__init(self)
   self.tanh = nn.Tanh()
end
function TanhShrink:updateOutput(input) return self.output:add(input, -1, self.tanh:updateOutput(input)) end
function TanhShrink:updateGradInput(input, gradOutput)
   return self.gradInput:add(gradOutput, -1, self.tanh:updateGradInput(input, gradOutput))
end

local Clamp, HardTanh = torch.class('nn.Clamp', 'nn.HardTanh')
function Clamp:__init(low, high) HardTanh.__init(self, low, high) end

-- Soft maxima over the classes: the last dimension of a vector or matrix, the third last of images
for name, f in pairs{ SoftMax = 'softmax', LogSoftMax = 'log_softmax', SoftMin = 'softmin',
   SpatialSoftMax = 'softmax', SpatialLogSoftMax = 'log_softmax' } do
   local class = torch.class('nn.' .. name, 'nn.Module')
   function class:updateOutput(input)
      kernel.class_softmax(self.output, input, f)
      return self.output
   end
   function class:updateGradInput(_, gradOutput)
      kernel.class_softmax_gradient(self.gradInput, self.output, gradOutput, f)
      return self.gradInput
   end
end

-- The first half of dim (by default the last) times the sigmoid of its second half
layer.plain{ name = 'GatedLinearUnit', f = 'gated_linear_unit', init = function(self, dim) self.dim = dim end,
   arguments = function(self, input) return self.dim or input:dim() end }

-- f(x) = x for x > 0, else weight * x
layer.with_parameters{ name = 'PReLU', f = 'prelu', start = 0.25,
   init = function(self, planes) self.nOutputPlane = planes or 0 end,
   arguments = function(self, input)
      local planes = input:size(input:dim() > 1 and 2 or 1)
      if self.nOutputPlane > 0 and planes ~= self.nOutputPlane then
         error(('Wrong number of input planes. Expected %d but got %d.'):format(self.nOutputPlane, planes), 0)
      end
   end,
   weight = function(self) return math.max(self.nOutputPlane, 1) end }

-- f(x) = x for x > 0, else x times a number drawn between lower and upper (their mean when evaluating)
local RReLU = torch.class('nn.RReLU', 'nn.Module')
function RReLU:__init(lower, upper, inplace)
   Module.__init(self)
   self.lower, self.upper = lower or 1 / 8, upper or 1 / 3
   assert(self.lower <= self.upper and self.lower >= 0 and self.upper >= 0)
   self.noise = torch.Tensor()
   self.train = true
   self.inplace = inplace or false
end
function RReLU:updateOutput(input)
   local lower, upper, train, noise = number(self.lower), number(self.upper), flag(self.train), self.noise:resizeAs(input)
   if train then
      if not noise:isContiguous() then
         noise = noise:clone()
         self.noise = noise
      end
      rectifiers.draw_slopes(records[noise], records[input:contiguous()], overloads.default_generator(), lower, upper)
   else
      local cast = records[noise].T.cast -- the bounds are numbers of the type
      kernel.transfer_gradient(noise, input, noise:fill(1), 'leaky_relu', cast(cast(lower) + cast(upper)) / 2)
   end
   if self.inplace then return self.output:set(input:cmul(self.noise)) end
   return self.output:cmul(input, self.noise)
end
function RReLU:updateGradInput(_, gradOutput)
   if self.inplace then return self.gradInput:set(gradOutput:cmul(self.noise)) end
   return self.gradInput:cmul(gradOutput, self.noise)
end
function RReLU:clearState()
   if self.noise then self.noise:set() end
   return Module.clearState(self)
end
function RReLU:__tostring__() return ('%s (l:%f, u:%f)'):format(torch.type(self), self.lower, self.upper) end

-- max(x, 0) and max(-x, 0) side by side
local CReLU, Sequential = torch.class('nn.CReLU', 'nn.Sequential')
function CReLU:__init(nInputDims, inplace)
   Sequential.__init(self)
   self.nInputDims, self.inplace = nInputDims, inplace or false
   self:add(nn.ConcatTable():add(nn.Identity()):add(nn.MulConstant(-1)))
   self:add(nn.JoinTable(2))
   self:add(nn.ReLU(self.inplace))
end
local function flat(self, t, input)
   return t:contiguous():view(input:dim() == self.nInputDims + 1 and input:size(1) or 1, -1)
end
function CReLU:updateOutput(input)
   Sequential.updateOutput(self, flat(self, input, input))
   local sizes = input:size()
   local d = input:dim() == self.nInputDims + 1 and 2 or 1
   sizes[d] = 2 * sizes[d]
   return self.output:resize(sizes)
end
function CReLU:updateGradInput(input, gradOutput)
   Sequential.updateGradInput(self, flat(self, input, input), flat(self, gradOutput, input))
   return self.gradInput:resizeAs(input)
end
function CReLU:backward(input, gradOutput) return self:updateGradInput(input, gradOutput) end
function CReLU:__tostring__() return 'CReLU()' end
