-- Losses that compare input and target element by element.
local ffi = require 'ffi'
local types = require 'torch.core.types'
local memory = require 'torch.core.memory'
local few = require 'torch.luajit.elementwise'
local luajit, no = require('torch.core.ways').of_kernels()
local blas = require 'torch.luajit.blas'
local gates = require 'nn.shared.luajit.gates'
local logistic = require 'nn.criterions.luajit.logistic'

local count = memory.count

local MOST = 8 -- times few.LIMIT elements: one loop replaces several operators of PyTorch

local add_up = {
   mse = few.reduction('local z = $x - $y result = result + z * z', false, 'OF_LAYER'),
   absolute = few.reduction('result = result + abs($x - $y)', false, 'OF_LAYER'),
   smooth_l1 = few.reduction('local z = abs($x - $y) local y = min(z, 1) result = result + y * (z - y / 2)', false,
      'OF_LAYER'),
   kl_divergence = few.reduction('local y = $y if y > 0 then result = result + y * (log(y) - $x) end', false,
      'OF_LAYER'),
}
local differentiate = { -- v: the weight of each element
   mse = few.pointwise('2 * v * ($x - $y)', false, 'OF_LAYER'),
   absolute = few.pointwise('$x >= $y and v or -v', false, 'OF_LAYER', 'v * (1 - 2 * $gate($y - $x))'),
   smooth_l1 = few.pointwise('$x - $y < -1 and -v or $x - $y > 1 and v or v * ($x - $y)', false, 'OF_LAYER',
      'v * min(1, max(-1, $x - $y))'),
   kl_divergence = few.pointwise('$y > 0 and v * -$y or 0', false, 'OF_LAYER', 'v * -max($y, 0) + 0'),
}

-- The sum of squared differences of many doubles, in parts that fit the processor's cache: PyTorch would create two
-- tensors of that size. nil if Python has to compute.
local PART = 4096 -- elements
local differences -- buffer for one part

local function squared_distance(x, target)
   local T, n = x.T, count(x)
   if T.host ~= types.Double then return no 'many elements that are not doubles' end
   local routine = gates.plain(x, T) and gates.plain(target, T) and gates.routine(T)
   if not routine then return nil end
   differences = differences or ffi.new('double[?]', PART)
   local p, q, sum = memory.first_element(target), memory.first_element(x), 0
   for first = 0, n - 1, PART do
      local many = math.min(PART, n - first)
      ffi.copy(differences, p + first, many * 8)
      blas.add(routine, many, q + first, differences, -1)
      sum = sum + blas.dot_of(routine, T, many, differences, differences)
   end
   return sum
end

function luajit.elementwise_loss(x, target, name, average)
   if name == 'soft_margin' then return logistic.soft_margin(x, target, average) end
   local f = add_up[name]
   if not f then return no 'a loss that only PyTorch computes' end
   if not gates.typed(x.T, x, target) or not gates.same_elements(x, target) then return false end
   local sum
   if name == 'mse' and not few.small(x, count(x)) then sum = squared_distance(x, target) end
   if not sum then sum = f(x, target, 0) end
   if not sum then return false end
   return true, average and sum / count(x) or sum
end

function luajit.elementwise_loss_gradient(gradient, x, target, name, average)
   if name == 'soft_margin' then return logistic.soft_margin_gradient(gradient, x, target, average) end
   local f, n = differentiate[name], count(x)
   if not f then return no 'a loss that only PyTorch computes' end
   if not (gates.typed(x.T, gradient) and gates.few_for_now(n, MOST * few.LIMIT) and gates.same_elements(x, target)
      and gates.apart(gradient, x, target)) then
      return false
   end
   memory.resize_as(gradient, x)
   return f(gradient, x, target, average and 1 / n or 1, n)
end
