-- Transfer functions. A row of the table below is a module: its name, its kernel, and:
--    f_in_place(self, input): the kernel for in-place use, if Torch7 treats NaN differently there
--    of_gradient: converts the function's parameters to the gradient's, if they differ
--    of_output: whether the derivative is computed from the output
--    strict: whether Torch7 wants a gradOutput of the same sizes, and not only of as many elements
--    init(self): the rest of the constructor; check(self): raises for invalid fields
local kernel = require('torch.core.kernels').of_layers
local layer = require 'nn.shared.layer'
local sizes = require 'nn.shared.sizes'
local overloads = require 'torch.tensor.overloads'
local rectifiers = require 'nn.transfer.luajit.rectifiers'
local declarations = require 'nn.declarations'
local declared = require 'nn.shared.declared'
declared.ways('transfer', { 'elementwise', 'prelu', 'gated_linear', 'softmax' })
local records = require('torch.core.memory').records
local whole = require('torch.core.arguments').whole

local Module = torch.getmetatable('nn.Module')

local function define(row)
   local name = row.name
   local class = torch.class('nn.' .. name, 'nn.Module')
   local set, values = declared.setter(name), declared.reader(name)
   local is_in_place = declarations.takes(name, 'inplace') and declared.reader(name, 'inplace') or function() end

   function class:__init(...)
      Module.__init(self)
      set(self, ...)
      if row.init then row.init(self) end
      if row.check then row.check(self) end
   end

   local of_gradient = row.of_gradient or function(...) return ... end
   local function f(inplace, input) return inplace and row.f_in_place and row.f_in_place(input) or row.f end

   function class:updateOutput(input)
      if row.check then row.check(self) end
      local inplace = is_in_place(self)
      if inplace then self.output:set(input) end
      kernel.transfer(self.output, input, f(inplace, input), values(self))
      return self.output
   end

   function class:updateGradInput(input, gradOutput)
      if row.check then row.check(self) end
      local inplace, x = is_in_place(self), row.of_output and self.output or input
      gradOutput = sizes.like(gradOutput, x, row.of_output and 'output' or 'input', row.strict)
      if inplace then self.gradInput:set(gradOutput) end
      kernel.transfer_gradient(self.gradInput, x, gradOutput, f(inplace, input), of_gradient(values(self)))
      return self.gradInput
   end

   if row.text then
      function class:__tostring__() return torch.type(self) .. row.text:format(values(self)) end
   end
   return class
end

-- In place, NaN is kept. But for vectors and tensors that are not contiguous, Torch7 then also applies the out-of-place
-- limits.
local function in_place(name)
   return function() return name end
end
local function limited_in_place(name)
   return function(input) return input:dim() > 1 and input:isContiguous() and name or nil end
end

local function check_flag(self)
   if self.inplace and type(self.inplace) ~= 'boolean' then error('in-place flag must be boolean', 3) end
end

for _, row in ipairs{
   { name = 'Abs', f = 'abs' },
   { name = 'Exp', f = 'exp', of_output = true },
   { name = 'Log', f = 'log' },
   { name = 'Sigmoid', f = 'sigmoid', of_output = true },
   { name = 'Square', f = 'square', strict = true },
   { name = 'Sqrt', f = 'sqrt', of_output = true, strict = true, of_gradient = function() end },
   { name = 'Tanh', f = 'tanh', of_output = true, strict = true },
   { name = 'SoftSign', f = 'soft_sign' },
   { name = 'LogSigmoid', f = 'log_sigmoid' },
   { name = 'SoftPlus', f = 'soft_plus',
      -- Torch7's gradient compares the output with the threshold; this is the corresponding input
      of_gradient = function(beta, threshold)
         if threshold <= 0 then return beta, -math.huge end
         return beta, threshold < 40 and math.log(math.exp(threshold) - 1) or threshold
      end },
   { name = 'HardShrink', f = 'hard_shrink' },
   { name = 'SoftShrink', f = 'soft_shrink' },
   { name = 'ELU', f = 'elu', of_output = true, text = ' (alpha:%f)',
      init = function(self)
         assert(type(self.alpha) == 'number')
         check_flag(self)
      end },
   { name = 'LeakyReLU', f = 'leaky_relu', text = '(%g)',
      f_in_place = in_place 'leaky_relu_in_place',
      init = function(self)
         -- a boolean in place of the slope is an in-place flag, which Torch7 ignores
         if type(self.negval) == 'boolean' then self.negval = 1 / 100 end
         if self.negval < 0 then self.inplace = false end
      end },
   { name = 'HardTanh', f = 'hard_tanh',
      f_in_place = limited_in_place 'hard_tanh_in_place',
      init = function(self)
         check_flag(self)
         assert(self.max_val > self.min_val, 'max_value must be larger than min_value')
      end },
   { name = 'ReLU6', f = 'relu6', f_in_place = limited_in_place 'relu6_in_place', init = check_flag },
   { name = 'Threshold', f = 'threshold',
      f_in_place = in_place 'threshold_in_place',
      init = function(self)
         if type(self.threshold) ~= 'number' or type(self.val) ~= 'number' then
            error('nn.Threshold(threshold, value)', 3)
         end
         check_flag(self)
      end,
      check = function(self)
         if self.inplace and self.val > self.threshold then
            error(('in-place processing requires value (%s) not exceed threshold (%s)'):format(self.val,
               self.threshold), 3)
         end
      end },
   { name = 'Power', f = 'power',
      check = function(self)
         if not self.pow then error('nn.Power(power)', 3) end
      end },
} do define(row) end

-- gradOutput is copied, so it may have another type.
local SoftSign = torch.getmetatable('nn.SoftSign')
local gradient_of_soft_sign = SoftSign.updateGradInput
function SoftSign:updateGradInput(input, gradOutput)
   return gradient_of_soft_sign(self, input, gradOutput:type(self.gradInput:type()))
end

-- f(x) = max(x, 0)
local ReLU = torch.class('nn.ReLU', 'nn.Threshold')
local set_relu = declared.setter 'ReLU'
function ReLU:__init(...)
   Module.__init(self)
   set_relu(self, ...)
   check_flag(self)
end

-- f(x) = x - tanh(x); the gradient uses tanh from the forward pass, as in Torch7
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

-- Bounds that a script has removed get their defaults.
local limit, BOUNDS = HardTanh.updateOutput, { 'min_val', 'max_val' }
function HardTanh:updateOutput(input)
   for _, name in ipairs(BOUNDS) do
      self[name] = self[name] or declarations.field(declarations.of 'HardTanh', name).default
   end
   return limit(self, input)
end

-- Softmax functions over the classes: the last dimension of a vector or matrix, the third last of images
for name, f in pairs{ SoftMax = 'softmax', LogSoftMax = 'log_softmax', SoftMin = 'softmin',
   SpatialSoftMax = 'softmax', SpatialLogSoftMax = 'log_softmax' } do
   local class = torch.class('nn.' .. name, 'nn.Module')
   function class:updateOutput(input)
      local dims = input:dim()
      if dims < 1 or dims > 4 then declared.refuse(2, '1D, 2D, 3D or 4D tensor expected') end
      kernel.class_softmax(self.output, input, f)
      return self.output
   end
   function class:updateGradInput(_, gradOutput)
      kernel.class_softmax_gradient(self.gradInput, self.output, gradOutput, f)
      return self.gradInput
   end
end

-- The first half of dim (by default the last) times the sigmoid of its second half
local halved = declared.reader('GatedLinearUnit', 'dim')
layer.plain{ name = 'GatedLinearUnit',
   arguments = function(self, input)
      local dims = input:dim()
      local dim = halved(self) or dims
      if dim < 1 or dim > dims then declared.refuse(2, 'dimension %d out of range of %dD tensor', dim, dims) end
      return dim
   end }

-- f(x) = x for x > 0, else weight * x
layer.with_parameters{ name = 'PReLU', start = 0.25,
   arguments = function(self, input)
      local planes, expected = input:size(input:dim() > 1 and 2 or 1), whole(self.nOutputPlane)
      if expected ~= 0 and planes ~= expected then
         error(('Wrong number of input planes. Expected %d but got %d.'):format(expected, planes), 0)
      end
   end,
   weight = function(self) return math.max(self.nOutputPlane, 1) end }
local PReLU = torch.getmetatable('nn.PReLU')
for _, name in ipairs{ 'updateGradInput', 'accGradParameters' } do
   local compute = PReLU[name]
   PReLU[name] = function(self, input, gradOutput, scale)
      return compute(self, input, sizes.like(gradOutput, input, 'input'), scale)
   end
end

-- f(x) = x for x > 0, else x times a number drawn between lower and upper (their mean in evaluation)
local RReLU = torch.class('nn.RReLU', 'nn.Module')
local set_slopes, slopes = declared.setter 'RReLU', declared.reader 'RReLU'
function RReLU:__init(...)
   Module.__init(self)
   set_slopes(self, ...)
   assert(self.lower <= self.upper and self.lower >= 0 and self.upper >= 0)
end
-- The bounds in the elements' type, as in Torch7's arithmetic; whether to draw; whether in place
local function fields_of(self, input)
   local cast = records[input].T.cast
   local lower, upper, train, inplace = slopes(self)
   lower, upper = cast(lower), cast(upper)
   return lower, upper, cast(upper - lower), cast(lower + upper) / 2, train, inplace
end
local ALIKE = 1e-6 -- bounds closer than this count as equal in the gradient

function RReLU:updateOutput(input)
   local lower, upper, _, mean, train, inplace = fields_of(self, input)
   local output = inplace and input or self.output
   if train then
      local noise = self.noise:resizeAs(input)
      if not noise:isContiguous() then
         noise = noise:clone()
         self.noise = noise
      end
      rectifiers.draw_slopes(records[noise], records[input:contiguous()], overloads.default_generator(), lower, upper)
      output:cmul(input, noise)
   else
      kernel.transfer(output, input, 'leaky_relu_in_place', mean)
   end
   return inplace and self.output:set(input) or output
end
function RReLU:updateGradInput(input, gradOutput)
   sizes.check_counts(input, 'input', gradOutput, 'gradOutput')
   local _, _, apart, mean, train, inplace = fields_of(self, input)
   local gradient = inplace and gradOutput or self.gradInput
   if train and apart > ALIKE then
      gradient:cmul(gradOutput, self.noise)
   else
      gradOutput = sizes.like(gradOutput, input, 'input')
      kernel.transfer_gradient(inplace and gradOutput or gradient, input, gradOutput, 'leaky_relu_in_place', mean)
   end
   return inplace and self.gradInput:set(gradOutput) or gradient
end
function RReLU:clearState()
   if self.noise then self.noise:set() end
   return Module.clearState(self)
end
function RReLU:__tostring__() return ('%s (l:%f, u:%f)'):format(torch.type(self), self.lower, self.upper) end

-- max(x, 0) and max(-x, 0), concatenated
local CReLU, Sequential = torch.class('nn.CReLU', 'nn.Sequential')
local set_dimensions = declared.setter 'CReLU'
function CReLU:__init(...)
   Sequential.__init(self)
   set_dimensions(self, ...)
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
