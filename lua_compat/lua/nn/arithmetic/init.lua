-- Addition and multiplication: by constants, by parameters, and of two inputs as matrices.
local declared = require 'nn.shared.declared'
local given_sizes = require('nn.shared.sizes').given
local Module = torch.getmetatable('nn.Module')

local function uniform(t, stdv, count)
   stdv = stdv and stdv * math.sqrt(3) or 1 / math.sqrt(count)
   t:uniform(-stdv, stdv)
end

-- The input copied to output.
local function start(self, input) return self.output:resizeAs(input):copy(input) end

-- The same, or the input itself, in place.
local function start_in_place(self, input)
   if self.inplace then return self.output:set(input) end
   return start(self, input)
end

local function check_flag(self)
   if type(self.inplace) ~= 'boolean' then error('in-place flag must be boolean', 3) end
end

-- One bias per element, or one for all
local Add = torch.class('nn.Add', 'nn.Module')

function Add:__init(inputSize, scalar)
   Module.__init(self)
   self.scalar = scalar
   local size = scalar and 1 or inputSize
   self.bias = torch.Tensor(size)
   self.gradBias = torch.Tensor(size)
   self._ones = torch.Tensor{ 1 }
   self:reset()
end

function Add:reset(stdv) uniform(self.bias, stdv, self.bias:size(1)) end

local function ones(self, n)
   if self._ones:size(1) ~= n then self._ones:resize(n):fill(1) end
   return self._ones
end

function Add:updateOutput(input)
   start(self, input)
   if self.scalar then
      self.output:add(self.bias[1])
   elseif input:isSameSizeAs(self.bias) then
      self.output:add(self.bias)
   else
      local n = input:size(1)
      self.output:view(n, -1):addr(1, ones(self, n), self.bias:view(-1))
   end
   return self.output
end

function Add:updateGradInput(_, gradOutput)
   if self.gradInput then return self.gradInput:resizeAs(gradOutput):copy(gradOutput) end
end

function Add:accGradParameters(input, gradOutput, scale)
   scale = scale or 1
   if self.gradBias:size(1) == 1 then
      self.gradBias[1] = self.gradBias[1] + scale * gradOutput:sum()
   elseif input:isSameSizeAs(self.bias) then
      self.gradBias:add(scale, gradOutput)
   else
      local n = input:size(1)
      self.gradBias:view(-1):addmv(scale, gradOutput:contiguous():view(n, -1):t(), ones(self, n))
   end
end

-- One factor for all
local Mul = torch.class('nn.Mul', 'nn.Module')

function Mul:__init()
   Module.__init(self)
   self.weight = torch.Tensor(1)
   self.gradWeight = torch.Tensor(1)
   self:reset()
end

function Mul:reset(stdv) uniform(self.weight, stdv, 1) end

function Mul:updateOutput(input) return start(self, input):mul(self.weight[1]) end

function Mul:updateGradInput(input, gradOutput)
   return self.gradInput:resizeAs(input):zero():add(self.weight[1], gradOutput)
end

function Mul:accGradParameters(input, gradOutput, scale)
   self.gradWeight[1] = self.gradWeight[1] + (scale or 1) * input:dot(gradOutput)
end

-- A tensor of biases or factors of any shape; it is repeated over the batch, or over its dimensions of size 1

-- The parameter as a view that can be expanded to t, and t as a view with as many dimensions.
local function matched(parameter, t)
   if parameter:nElement() == t:nElement() then return parameter:view(t:size()), t end
   if parameter:dim() == t:dim() then return parameter, t end
   return parameter:view(1, -1), t:view(t:size(1), -1)
end

-- The sums of `values` over the dimensions in which the parameter has size 1, in a tensor of self that is reused by the
-- next call.
local function summed(self, values, parameter)
   for d = 1, parameter:dim() do
      if parameter:size(d) == 1 and values:size(d) ~= 1 then
         if values == self._sum then
            values = values:sum(d)
         else
            self._sum = self._sum or values.new()
            values = self._sum:sum(values, d)
         end
      end
   end
   return values
end

local function elementwise(name, parameter_name, gradient_name)
   local class = torch.class(name, 'nn.Module')

   function class:__init(...)
      Module.__init(self)
      self.size = given_sizes(...)
      self[parameter_name] = torch.Tensor(self.size)
      self[gradient_name] = torch.Tensor(self.size)
      self.output:resize(self.size)
      self:reset()
   end

   function class:reset(stdv) uniform(self[parameter_name], stdv, self[parameter_name]:nElement()) end

   -- gradient += scale * values, values of the input's shape
   function class:accumulate(values, scale)
      local gradient, viewed = matched(self[gradient_name], values:contiguous())
      gradient:add(scale, summed(self, viewed, gradient))
   end

   function class:clearState()
      nn.utils.clear(self, '_repeat', '_sum')
      return Module.clearState(self)
   end
   return class
end

local CAdd = elementwise('nn.CAdd', 'bias', 'gradBias')

function CAdd:updateOutput(input)
   start(self, input)
   local bias, output = matched(self.bias, self.output)
   output:add(bias:expandAs(output))
   return self.output
end

function CAdd:updateGradInput(_, gradOutput)
   self.gradInput = self.gradInput or gradOutput.new()
   return self.gradInput:resizeAs(gradOutput):copy(gradOutput)
end

function CAdd:accGradParameters(_, gradOutput, scale) self:accumulate(gradOutput, scale or 1) end

local CMul = elementwise('nn.CMul', 'weight', 'gradWeight')

function CMul:updateOutput(input)
   start(self, input)
   local weight, output = matched(self.weight, self.output)
   output:cmul(weight:expandAs(output))
   return self.output
end

function CMul:updateGradInput(input, gradOutput)
   if not self.gradInput then return end
   self.gradInput:resizeAs(input):copy(gradOutput)
   local weight, gradient = matched(self.weight, self.gradInput)
   gradient:cmul(weight:expandAs(gradient))
   return self.gradInput
end

function CMul:accGradParameters(input, gradOutput, scale)
   scale = scale or 1
   if self.weight:nElement() == gradOutput:nElement() then
      self.gradWeight:addcmul(scale, input, gradOutput)
   else
      self._repeat = (self._repeat or input.new()):cmul(input, gradOutput)
      if self.weight:dim() == input:dim() then
         self:accumulate(self._repeat, scale)
      else -- as in Torch7, one factor for all elements of an example has no gradient
         local sums = self._repeat:view(input:size(1), -1):sum(1)
         self.gradWeight:view(1, -1):add(scale, sums)
      end
   end
end

-- Constants
local AddConstant = torch.class('nn.AddConstant', 'nn.Module')

local set_added, set_factor = declared.setter 'AddConstant', declared.setter 'MulConstant'
function AddConstant:__init(...)
   Module.__init(self)
   set_added(self, ...)
   check_flag(self)
end

function AddConstant:updateOutput(input)
   local constant = self.constant_scalar
   if torch.isTensor(constant) then
      assert(input:dim() <= 2 and input:size(input:dim()) == constant:size(1),
         "input is not scalar or doesn't match with the dimension of constant!")
      if input:dim() == 2 then constant = constant:view(1, -1):expandAs(input) end
   end
   return start_in_place(self, input):add(constant)
end

function AddConstant:updateGradInput(input, gradOutput)
   if self.inplace then
      input:add(-self.constant_scalar) -- restores the input
      return self.gradInput:set(gradOutput)
   end
   return self.gradInput:resizeAs(gradOutput):copy(gradOutput)
end

local MulConstant = torch.class('nn.MulConstant', 'nn.Module')

function MulConstant:__init(...)
   Module.__init(self)
   set_factor(self, ...)
   assert(type(self.constant_scalar) == 'number', 'input is not scalar!')
   check_flag(self)
end

function MulConstant:updateOutput(input) return start_in_place(self, input):mul(self.constant_scalar) end

function MulConstant:updateGradInput(input, gradOutput)
   if not self.gradInput then return end
   if self.inplace then
      input:div(self.constant_scalar) -- restores the input
      return self.gradInput:set(gradOutput:mul(self.constant_scalar))
   end
   return self.gradInput:resizeAs(gradOutput):copy(gradOutput):mul(self.constant_scalar)
end

-- Products of two inputs: matrices, or batches of them
local MM = torch.class('nn.MM', 'nn.Module')

local set_matrices, set_vector = declared.setter 'MM', declared.setter 'MV'
function MM:__init(...)
   Module.__init(self)
   set_matrices(self, ...)
   self.gradInput = { torch.Tensor(), torch.Tensor() }
end

local function transposed(t, flag)
   if not flag then return t end
   return t:transpose(t:dim() - 1, t:dim())
end

-- result = a * b for matrices or batches
local function multiply(result, a, b)
   assert(a:size(a:dim()) == b:size(b:dim() - 1), 'matrix sizes do not match')
   if a:dim() == 2 then return result:resize(a:size(1), b:size(2)):mm(a, b) end
   return result:resize(a:size(1), a:size(2), b:size(3)):bmm(a, b)
end

function MM:updateOutput(input)
   assert(#input == 2, 'input must be a pair of minibatch matrices')
   local a, b = unpack(input)
   assert(a:dim() == 2 or a:dim() == 3, 'input tensors must be 2D or 3D')
   assert(a:dim() == b:dim(), ('second input tensor must be %dD'):format(a:dim()))
   assert(a:dim() == 2 or a:size(1) == b:size(1), 'inputs must contain the same number of minibatches')
   return multiply(self.output, transposed(a, self.transA), transposed(b, self.transB))
end

-- The gradients' tensors; new ones after clearState.
local function pair(self, input)
   for i = 1, 2 do self.gradInput[i] = self.gradInput[i] or input[i].new() end
   return unpack(self.gradInput)
end

function MM:updateGradInput(input, gradOutput)
   local a, b = unpack(input)
   local grad_a, grad_b = pair(self, input)
   local left, right = transposed(a, self.transA), transposed(b, self.transB)
   if self.transA then
      multiply(grad_a, right, transposed(gradOutput, true))
   else
      multiply(grad_a, gradOutput, transposed(right, true))
   end
   if self.transB then
      multiply(grad_b, transposed(gradOutput, true), left)
   else
      multiply(grad_b, transposed(left, true), gradOutput)
   end
   return self.gradInput
end

local MV = torch.class('nn.MV', 'nn.Module')

function MV:__init(...)
   Module.__init(self)
   set_vector(self, ...)
   self.gradInput = { torch.Tensor(), torch.Tensor() }
end

local function as_column(v)
   return v:contiguous():view(v:size(1), v:dim() == 2 and v:size(2) or 1, v:dim() == 2 and 1 or nil)
end

function MV:updateOutput(input)
   assert(#input == 2, 'input must be a pair of minibatch matrices')
   local m, v = unpack(input)
   assert(m:dim() == 2 or m:dim() == 3, 'input matrix must be 2D or 3D')
   assert(v:dim() == m:dim() - 1, ('input vector must be %dD'):format(m:dim() - 1))
   m = transposed(m, self.trans)
   assert(m:dim() == 2 or m:size(1) == v:size(1), 'inputs must contain the same number of minibatches')
   assert(m:size(m:dim()) == v:size(v:dim()), 'matrix row count and vector length do not match')
   if m:dim() == 2 then return self.output:resize(m:size(1)):mv(m, v) end
   multiply(self.output, m, as_column(v))
   return self.output:resize(m:size(1), m:size(2))
end

function MV:updateGradInput(input, gradOutput)
   local m, v = unpack(input)
   local grad_m, grad_v = pair(self, input)
   local matrix = transposed(m, self.trans)
   local left, right = gradOutput, v -- factors of the outer products
   if self.trans then left, right = v, gradOutput end
   if m:dim() == 2 then
      grad_m:resizeAs(m):ger(left, right)
      grad_v:resizeAs(v):mv(matrix:t(), gradOutput)
   else
      multiply(grad_m, as_column(left), transposed(as_column(right), true))
      local column = as_column(gradOutput)
      multiply(grad_v, transposed(matrix, true), column)
      grad_v:resizeAs(v)
   end
   return self.gradInput
end
