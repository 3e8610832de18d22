-- Gated linear units of few elements: the first half of a dimension times the sigmoid of the second.
local memory = require 'torch.core.memory'
local luajit, no = require('torch.core.ways').of_kernels()
local gates = require 'nn.shared.luajit.gates'
local numbers = require 'nn.shared.luajit.as_doubles'

local count, first_element, room = memory.count, memory.first_element, numbers.room

-- The number of contiguous elements of x in half of dimension d; nil if d cannot be halved.
local function half_of(x, d)
   if d % 1 ~= 0 or d < 1 or d > x.nd or x[2 * d - 1] % 2 ~= 0 then return no 'a dimension without halves' end
   local half = x[2 * d - 1] / 2
   for k = d + 1, x.nd do half = half * x[2 * k - 1] end
   return half
end

-- Scratch buffers with the first halves of x and the sigmoids of the second halves, n numbers each; nil if Python has
-- to compute.
local function halves_of(x, half, n)
   local p = numbers.of('first', x)
   if not p then return nil end
   local values, factors, at, left = room('values', n), room('gates', n), 0, half
   for k = 0, n - 1 do
      values[k], factors[k] = p[at], p[at + half]
      at, left = at + 1, left - 1
      if left == 0 then at, left = at + half, half end
   end
   numbers.squash(factors, n)
   return values, factors
end

function luajit.gated_linear_unit(out, x, d)
   local half = half_of(x, d)
   if not half or not gates.typed(x.T, out) or not gates.apart(out, x) then return false end
   local n = count(x) / 2
   local values, factors = halves_of(x, half, n)
   if not values then return false end
   local sizes = {}
   for k = 1, x.nd do sizes[k] = k == d and x[2 * k - 1] / 2 or x[2 * k - 1] end
   if not gates.resized(out, x.nd, sizes) then return false end
   local p = first_element(out)
   for k = 0, n - 1 do p[k] = values[k] * factors[k] end
   return true
end

function luajit.gated_linear_unit_gradient(gradient, x, grad_output, d)
   local half = half_of(x, d)
   if not (half and gates.typed(x.T, gradient, grad_output) and gates.apart(gradient, x, grad_output)) then
      return false
   end
   for k = 1, x.nd do
      if grad_output.nd ~= x.nd or grad_output[2 * k - 1] * (k == d and 2 or 1) ~= x[2 * k - 1] then
         return no 'tensors of different sizes'
      end
   end
   local n = count(x) / 2
   local g = numbers.of('gradients', grad_output)
   if not g then return false end
   local values, factors = halves_of(x, half, n)
   if not values then return false end
   if not gates.resized_as(gradient, x) then return false end
   local p, at, left = first_element(gradient), 0, half
   for k = 0, n - 1 do
      local of_value = g[k] * factors[k]
      p[at], p[at + half] = of_value, of_value * (1 - factors[k]) * values[k]
      at, left = at + 1, left - 1
      if left == 0 then at, left = at + half, half end
   end
   return true
end
