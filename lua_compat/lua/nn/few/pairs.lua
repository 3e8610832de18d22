-- Rows of few elements compared with each other, or divided by their length, as nn/few.lua says.
local math = require('th.own').math
local memory = require 'torch.memory'
local is_apart = require('torch.apart').is_apart
local kernels = require 'torch.kernels'
local numbers = require 'nn.few.numbers'
local of_sum = require('torch.few_norms').of_sum

local count, is_contiguous, same_size, resize, resize_as = memory.count, memory.is_contiguous, memory.same_size, memory.resize, memory.resize_as
local sqrt, max, abs, huge = math.sqrt, math.max, math.abs, math.huge
local of, seen = numbers.of, numbers.seen
local in_lua = kernels.in_lua

local EPSILON = 1e-12 -- so that no squared length is zero

local function rows_and_columns(x)
   if x.nd == 2 then return x[1], x[3] end
   return 1, x[1]
end

-- Two batches of rows, or two rows, as numbers, read by `numbers_of` (numbers.of where they are written over); nil
-- where that is for Python.
local function both(a, b, numbers_of)
   if a.T ~= b.T or a.nd < 1 or a.nd > 2 or not same_size(a, b) then return nil end
   local p = numbers_of('first', a)
   return p, p and numbers_of('second', b)
end

-- a ^ power: C's function takes ten times as long as a product.
local function raised(a, power)
   if power == 1 then return a end
   if power == 2 then return a * a end
   if power == 3 then return a * a * a end
   if power == 0 then return 1 end
   if power == -1 then return 1 / a end
   return a ^ power
end

-- Products of n neighbouring elements, added up.
local function dot(p, q, at, n)
   local sum = 0
   for k = at, at + n - 1 do sum = sum + p[k] * q[k] end
   return sum
end

-- Functions of a pair's rows: value(p, q, at, columns)
local value = {}
value.dot_product = dot
function value.cosine_distance(p, q, at, n)
   return dot(p, q, at, n) / sqrt((dot(p, p, at, n) + EPSILON) * (dot(q, q, at, n) + EPSILON))
end
local function length(p, q, at, n)
   local sum = 0
   for k = at, at + n - 1 do
      local z = p[k] - q[k]
      sum = sum + z * z
   end
   return sqrt(sum)
end
local function length_of_power(p, q, at, n, power)
   local sum = 0
   for k = at, at + n - 1 do sum = sum + raised(abs(p[k] - q[k]), power) end
   return of_sum(sum, power)
end
local function distance(p, q, at, n)
   local sum = 0
   for k = at, at + n - 1 do sum = sum + abs(p[k] - q[k]) end
   return sum
end

-- Their gradients, which p and q become, times g.
local slope = {}
function slope.dot_product(p, q, at, n, g)
   for k = at, at + n - 1 do p[k], q[k] = g * q[k], g * p[k] end
end
function slope.cosine_distance(p, q, at, n, g)
   local first, second = dot(p, p, at, n) + EPSILON, dot(q, q, at, n) + EPSILON
   local inverse = 1 / sqrt(first * second)
   local cosine = dot(p, q, at, n) * inverse
   local across, along_first, along_second = g * inverse, g * cosine / first, g * cosine / second
   for k = at, at + n - 1 do p[k], q[k] = across * q[k] - along_first * p[k], across * p[k] - along_second * q[k] end
end
local function slope_of_length(p, q, at, n, g)
   local factor = g / (length(p, q, at, n) + 1e-6)
   for k = at, at + n - 1 do
      local z = (p[k] - q[k]) * factor
      p[k], q[k] = z, 0 - z
   end
end
-- Below 2 the slope of a power is taken for that of a square, as in Torch7.
local function slope_of_power(p, q, at, n, g, power)
   local factor, further = g * raised(length_of_power(p, q, at, n, power) + 1e-6, 1 - power), max(power - 2, 0)
   for k = at, at + n - 1 do
      local z = p[k] - q[k]
      z = z * raised(abs(z), further) * factor
      p[k], q[k] = z, 0 - z
   end
end
local function slope_of_distance(p, q, at, n, g)
   for k = at, at + n - 1 do
      local z = p[k] >= q[k] and g or -g
      p[k], q[k] = z, 0 - z
   end
end

-- out = value of each row
local function values(out, a, b, f, power)
   if out.T ~= a.T or not is_apart(out, a, b) then return false end
   local p, q = both(a, b, seen)
   if not q then return false end
   local rows, columns = rows_and_columns(a)
   if out.nd ~= 1 or out[1] ~= rows then resize(out, 1, { rows }) end
   local r, step = out.S.p + out.off, out[2]
   for i = 0, rows - 1 do r[i * step] = f(p, q, i * columns, columns, power) end
   return true
end

-- Gives the gradients what was computed in place of the inputs.
local function write_both(grad_a, grad_b, a, p, q)
   resize_as(grad_a, a)
   resize_as(grad_b, a)
   return is_contiguous(grad_a) and is_contiguous(grad_b) and numbers.write(grad_a, p, 1) and numbers.write(grad_b, q, 1)
end

local function may_write(grad_a, grad_b, a, b, y)
   return grad_a.T == a.T and grad_b.T == a.T and is_apart(grad_a, a, b, y) and is_apart(grad_b, a, b, y) and is_apart(grad_a, grad_b)
end

local function slopes(grad_a, grad_b, a, b, gradient, f, power)
   local rows, columns = rows_and_columns(a)
   if gradient.T ~= a.T or count(gradient) ~= rows or not may_write(grad_a, grad_b, a, b, gradient) then return false end
   local p, q = both(a, b, of)
   local g = q and of('gradient', gradient)
   if not g then return false end
   for i = 0, rows - 1 do f(p, q, i * columns, columns, g[i], power) end
   return write_both(grad_a, grad_b, a, p, q)
end

for _, name in ipairs{ 'dot_product', 'cosine_distance' } do
   local f, f_slope = value[name], slope[name]
   in_lua[name] = function(out, a, b) return values(out, a, b, f) end
   in_lua[name .. '_gradients'] = function(grad_a, grad_b, a, b, gradient) return slopes(grad_a, grad_b, a, b, gradient, f_slope) end
end

local function is_power(p) return p > 0 and p < huge end
-- Those of the norms 1 and 2, which need no powers
local distances, slopes_of_distances = { distance, length }, { slope_of_distance, slope_of_length }
function in_lua.pairwise_distance(out, a, b, p)
   return is_power(p) and values(out, a, b, distances[p] or length_of_power, p)
end
function in_lua.pairwise_distance_gradients(grad_a, grad_b, a, b, gradient, p)
   return is_power(p) and slopes(grad_a, grad_b, a, b, gradient, slopes_of_distances[p] or slope_of_power, p)
end

-- A pair's loss: 1 - the cosine where y is 1, else what it exceeds margin by, at least 0
local function embedding_loss(cosine, y, margin)
   if y == 1 then return 1 - cosine end
   return max(0, cosine - margin)
end

function in_lua.cosine_embedding(a, b, y, margin, average)
   local rows, columns = rows_and_columns(a)
   local p, q = both(a, b, seen)
   local sign = q and count(y) == rows and of('gradient', y)
   if not sign then return false end
   local sum = 0
   for i = 0, rows - 1 do
      sum = sum + embedding_loss(value.cosine_distance(p, q, i * columns, columns), sign[i], margin)
   end
   return true, average and sum / rows or sum
end
function in_lua.cosine_embedding_gradients(grad_a, grad_b, a, b, y, margin, average)
   if not may_write(grad_a, grad_b, a, b, y) then return false end
   local rows, columns = rows_and_columns(a)
   local p, q = both(a, b, of)
   local sign = q and count(y) == rows and of('gradient', y)
   if not sign then return false end
   local each = average and 1 / rows or 1
   for i = 0, rows - 1 do
      local at, g = i * columns, sign[i] == 1 and -each or each
      if embedding_loss(value.cosine_distance(p, q, at, columns), sign[i], margin) <= 0 then g = 0 end -- no loss, no slope
      slope.cosine_distance(p, q, at, columns, g)
   end
   return write_both(grad_a, grad_b, a, p, q)
end

-- Rows divided by (the sum of the powers of their elements' sizes + eps) ^ (1 / power), or where that is infinite by
-- the largest size + eps.

local function sum_of_powers(p, at, n, power)
   if power == 2 then return dot(p, p, at, n) end
   local sum, last = 0, at + n - 1
   if power == huge then
      for k = at, last do sum = max(sum, abs(p[k])) end
   else
      for k = at, last do sum = sum + raised(abs(p[k]), power) end
   end
   return sum
end

function in_lua.normalize(out, x, power, eps)
   if not (power > 0) or out.T ~= x.T or x.nd < 1 or x.nd > 2 or not is_apart(out, x) then return false end
   local p = of('first', x)
   if not p then return false end
   local rows, columns = rows_and_columns(x)
   for i = 0, rows - 1 do
      local divisor = of_sum(sum_of_powers(p, i * columns, columns, power) + eps, power)
      for k = i * columns, (i + 1) * columns - 1 do p[k] = p[k] / divisor end
   end
   resize_as(out, x)
   return is_contiguous(out) and numbers.write(out, p, 1)
end

-- Only the first of the largest has a slope.
local function slopes_by_largest(p, g, at, n, largest, divisor, along)
   local place = at
   while abs(p[place]) ~= largest do place = place + 1 end
   local slope = along * p[place] / divisor
   for k = at, at + n - 1 do p[k] = g[k] / divisor end
   p[place] = p[place] - slope
end

-- Below a power of 2 eps is added as in Torch7, so that nothing is divided by 0.
local function slopes_by_power(p, g, at, n, power, divisor, along, eps)
   local more = power < 2 and eps or 0
   for k = at, at + n - 1 do p[k] = g[k] / divisor - along * p[k] * raised(abs(p[k]) + more, power - 2) end
end

function in_lua.normalize_gradient(gradient, x, grad_output, power, eps)
   if not (power > 0) or gradient.T ~= x.T or not is_apart(gradient, x, grad_output) then return false end
   local p, g = both(x, grad_output, of)
   if not g then return false end
   local rows, columns = rows_and_columns(x)
   for i = 0, rows - 1 do
      local at = i * columns
      local sum = sum_of_powers(p, at, columns, power)
      local divisor = of_sum(sum + eps, power)
      local along = dot(p, g, at, columns) / ((sum + eps) * divisor)
      if power == huge then
         slopes_by_largest(p, g, at, columns, sum, divisor, along)
      else
         slopes_by_power(p, g, at, columns, power, divisor, along, eps)
      end
   end
   resize_as(gradient, x)
   return is_contiguous(gradient) and numbers.write(gradient, p, 1)
end
