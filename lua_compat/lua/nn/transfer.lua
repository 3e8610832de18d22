-- Transfer functions: a function of each element. A row of the table below is a module:
--    name, the kernel's function, its parameters as { field, default } in the constructor's order, and:
--    inplace: whether the constructor ends with an in-place flag
--    of_output: whether the derivative is computed from the output
--    init: more fields that Torch7's module has
local kernel = require('torch.kernels').of_tensors

local Module = torch.getmetatable('nn.Module')

local function check_flag(inplace)
   if inplace and type(inplace) ~= 'boolean' then error('in-place flag must be boolean', 3) end
   return inplace or false
end

-- f's values of a module's parameter fields.
local function values(self, parameters)
   local list = {}
   for i, parameter in ipairs(parameters) do list[i] = self[parameter[1]] or parameter[2] end
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

   function class:updateOutput(input)
      if row.check then row.check(self) end
      if self.inplace then self.output:set(input) end
      kernel.transfer(self.output, input, row.f, values(self, parameters))
      return self.output
   end

   function class:updateGradInput(input, gradOutput)
      if self.inplace then self.gradInput:set(gradOutput) end
      kernel.transfer_gradient(self.gradInput, row.of_output and self.output or input, gradOutput, row.f,
         values(self, parameters))
      return self.gradInput
   end

   if row.text then
      function class:__tostring__() return torch.type(self) .. row.text:format(values(self, parameters)) end
   end
   return class
end

for _, row in ipairs{
   { name = 'Abs', f = 'abs' },
   { name = 'Exp', f = 'exp', of_output = true },
   { name = 'Log', f = 'log' },
   { name = 'Sigmoid', f = 'sigmoid', of_output = true },
   { name = 'Square', f = 'square' },
   { name = 'Sqrt', f = 'sqrt', of_output = true, init = function(self) self.eps = 0 end },
   { name = 'Tanh', f = 'tanh', of_output = true },
   { name = 'TanhShrink', f = 'tanh_shrink', init = function(self) self.tanh = nn.Tanh() end },
   { name = 'SoftSign', f = 'soft_sign' },
   { name = 'LogSigmoid', f = 'log_sigmoid' },
   { name = 'SoftPlus', f = 'soft_plus', parameters = { { 'beta', 1 } },
      init = function(self) self.threshold = 20 end },
   { name = 'HardShrink', f = 'hard_shrink', parameters = { { 'lambda', 0.5 } } },
   { name = 'SoftShrink', f = 'soft_shrink', parameters = { { 'lambda', 0.5 } } },
   { name = 'ELU', f = 'elu', parameters = { { 'alpha', 1 } }, inplace = true, of_output = true,
      text = ' (alpha:%f)' },
   { name = 'LeakyReLU', f = 'leaky_relu', parameters = { { 'negval', 1 / 100 } }, inplace = true, text = '(%g)' },
   { name = 'HardTanh', f = 'hard_tanh', parameters = { { 'min_val', -1 }, { 'max_val', 1 } }, inplace = true,
      check = function(self) assert(self.max_val > self.min_val, 'max_value must be larger than min_value') end },
   { name = 'ReLU6', f = 'relu6', inplace = true },
   { name = 'Threshold', f = 'threshold', parameters = { { 'threshold', 1e-6 }, { 'val', 0 } }, inplace = true,
      check = function(self)
         if type(self.threshold) ~= 'number' or type(self.val) ~= 'number' then
            error('nn.Threshold(threshold, value)', 3)
         end
         if self.inplace and self.val > self.threshold then
            error(('in-place processing requires value (%s) not exceed threshold (%s)'):format(self.val,
               self.threshold), 3)
         end
      end },
   { name = 'Power', f = 'power', parameters = { { 'pow' } } },
} do define(row) end

-- f(x) = max(x, 0)
local ReLU, Threshold = torch.class('nn.ReLU', 'nn.Threshold')
function ReLU:__init(inplace) Threshold.__init(self, 0, 0, inplace) end

local Clamp, HardTanh = torch.class('nn.Clamp', 'nn.HardTanh')
function Clamp:__init(low, high) HardTanh.__init(self, low, high) end
