-- Comparisons of pairs of rows of few elements.
local memory = require 'torch.core.memory'
local luajit, no = require('torch.core.ways').of_kernels()
local gates = require 'nn.shared.luajit.gates'
local numbers = require 'nn.shared.luajit.as_doubles'
local of_sum = require('torch.luajit.norms').of_sum

local sqrt, max, abs, huge = math.sqrt, math.max, math.abs, math.huge
local of, seen, rows_and_columns = numbers.of, numbers.seen, numbers.rows_and_columns

local EPSILON = 1e-12 -- keeps squared norms above zero

-- Two batches of rows, or two rows, as doubles (numbers.both).
local function both(a, b, numbers_of)
   if a.nd < 1 or a.nd > 2 then return no 'neither a matrix nor a vector' end
   if gates.same_size(a, b) then return numbers.both(a, b, numbers_of) end
end

-- a ^ power, with products for small whole powers: C's function takes ten times as long as a product.
local function raised(a, power)
   if power == 1 then return a end
   if power == 2 then return a * a end
   if power == 3 then return a * a * a end
   if power == 0 then return 1 end
   if power == -1 then return 1 / a end
   return a ^ power
end

-- The dot product of n contiguous elements.
local function dot(p, q, at, n)
   local sum = 0
   for k = at, at + n - 1 do sum = sum + p[k] * q[k] end
   return sum
end

-- Functions of a pair of rows
local function cosine(p, q, at, n)
   return dot(p, q, at, n) / sqrt((dot(p, p, at, n) + EPSILON) * (dot(q, q, at, n) + EPSILON))
end
local function length(p, q, at, n)
   local sum = 0
   for k = at, at + n - 1 do
      local z = p[k] - q[k]
      sum = sum + z * z
   end
   return (sqrt(sum))
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

-- Their gradients times g, which replace p and q.
local function slope_of_dot(p, q, at, n, g)
   for k = at, at + n - 1 do p[k], q[k] = g * q[k], g * p[k] end
end
local function slope_of_cosine(p, q, at, n, g)
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
-- For powers below 2 the derivative is that of a square, as in Torch7.
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
   if not gates.typed(a.T, out) or not gates.apart(out, a, b) then return false end
   local p, q = both(a, b, seen)
   if not q then return false end
   local rows, columns = rows_and_columns(a)
   if out.nd ~= 1 or out[1] ~= rows then memory.resize(out, 1, { rows }) end
   local r, step = out.S.p + out.off, out[2]
   for i = 0, rows - 1 do r[i * step] = f(p, q, i * columns, columns, power) end
   return true
end

-- Writes what was computed in place of the inputs to the gradients.
local function write_both(grad_a, grad_b, a, p, q)
   return gates.resized_as(grad_a, a) and gates.resized_as(grad_b, a) and numbers.write(grad_a, p, 1)
      and numbers.write(grad_b, q, 1)
end

local function may_write(grad_a, grad_b, a, b, y)
   return gates.typed(a.T, grad_a, grad_b) and gates.apart(grad_a, a, b, y) and gates.apart(grad_b, a, b, y)
      and gates.apart(grad_a, grad_b)
end

local function slopes(grad_a, grad_b, a, b, gradient, f, power)
   local rows, columns = rows_and_columns(a)
   if memory.count(gradient) ~= rows then return no 'tensors of different sizes' end
   if not gates.typed(a.T, gradient) or not may_write(grad_a, grad_b, a, b, gradient) then return false end
   local p, q = both(a, b, of)
   local g = q and of('gradient', gradient)
   if not g then return false end
   for i = 0, rows - 1 do f(p, q, i * columns, columns, g[i], power) end
   return write_both(grad_a, grad_b, a, p, q)
end

function luajit.dot_product(out, a, b) return values(out, a, b, dot) end
function luajit.dot_product_gradients(grad_a, grad_b, a, b, gradient)
   return slopes(grad_a, grad_b, a, b, gradient, slope_of_dot)
end
function luajit.cosine_distance(out, a, b) return values(out, a, b, cosine) end
function luajit.cosine_distance_gradients(grad_a, grad_b, a, b, gradient)
   return slopes(grad_a, grad_b, a, b, gradient, slope_of_cosine)
end

local function is_power(p) return p > 0 and p < huge or no 'a norm that is neither finite nor above 0' end
-- For norms 1 and 2, which need no powers
local distances, slopes_of_distances = { distance, length }, { slope_of_distance, slope_of_length }
function luajit.pairwise_distance(out, a, b, p)
   return is_power(p) and values(out, a, b, distances[p] or length_of_power, p)
end
function luajit.pairwise_distance_gradients(grad_a, grad_b, a, b, gradient, p)
   return is_power(p) and slopes(grad_a, grad_b, a, b, gradient, slopes_of_distances[p] or slope_of_power, p)
end

return {
   both = both, raised = raised, dot = dot, may_write = may_write, write_both = write_both,
   cosine = cosine, cosine_slope = slope_of_cosine,
}
