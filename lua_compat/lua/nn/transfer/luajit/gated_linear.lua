-- Gated linear units of few elements: the first half of a dimension times the sigmoid of the second.
local memory = require 'torch.core.memory'
local is_apart = require('torch.core.overlap').is_apart
local ways = require 'torch.core.ways'
local numbers = require 'nn.shared.luajit.as_doubles'

local luajit = ways.luajit
local count, is_contiguous, first_element, resize, resize_as = memory.count, memory.is_contiguous, memory.first_element,
   memory.resize, memory.resize_as
local room = numbers.room

-- How many neighbouring elements of x, in one piece, are a half of dimension d; nil where there are no halves.
local function half_of(x, d)
   if d % 1 ~= 0 or d < 1 or d > x.nd or x[2 * d - 1] % 2 ~= 0 then return nil end
   local half = x[2 * d - 1] / 2
   for k = d + 1, x.nd do half = half * x[2 * k - 1] end
   return half
end

-- Rooms with the first halves of x and the sigmoids of its second, of n numbers; nil where that is for Python.
local function halves_of(x, half, n)
   local p = numbers.of('first', x)
   if not p then return nil end
   local values, gates, at, left = room('values', n), room('gates', n), 0, half
   for k = 0, n - 1 do
      values[k], gates[k] = p[at], p[at + half]
      at, left = at + 1, left - 1
      if left == 0 then at, left = at + half, half end
   end
   numbers.squash(gates, n)
   return values, gates
end

function luajit.gated_linear_unit(out, x, d)
   local half = half_of(x, d)
   if not half or out.T ~= x.T or not is_apart(out, x) then return false end
   local n = count(x) / 2
   local values, gates = halves_of(x, half, n)
   if not values then return false end
   local sizes = {}
   for k = 1, x.nd do sizes[k] = k == d and x[2 * k - 1] / 2 or x[2 * k - 1] end
   resize(out, x.nd, sizes)
   if not is_contiguous(out) then return false end
   local p = first_element(out)
   for k = 0, n - 1 do p[k] = values[k] * gates[k] end
   return true
end

function luajit.gated_linear_unit_gradient(gradient, x, grad_output, d)
   local half = half_of(x, d)
   if not half or gradient.T ~= x.T or grad_output.T ~= x.T or grad_output.nd ~= x.nd
      or not is_apart(gradient, x, grad_output) then
      return false
   end
   for k = 1, x.nd do
      if grad_output[2 * k - 1] * (k == d and 2 or 1) ~= x[2 * k - 1] then return false end
   end
   local n = count(x) / 2
   local g = numbers.of('gradients', grad_output)
   if not g then return false end
   local values, gates = halves_of(x, half, n)
   if not values then return false end
   resize_as(gradient, x)
   if not is_contiguous(gradient) then return false end
   local p, at, left = first_element(gradient), 0, half
   for k = 0, n - 1 do
      local of_value = g[k] * gates[k]
      p[at], p[at + half] = of_value, of_value * (1 - gates[k]) * values[k]
      at, left = at + 1, left - 1
      if left == 0 then at, left = at + half, half end
   end
   return true
end
