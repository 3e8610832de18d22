-- Rows of few elements divided by their norms.
local luajit, no = require('torch.core.ways').of_kernels()
local gates = require 'nn.shared.luajit.gates'
local numbers = require 'nn.shared.luajit.as_doubles'
local of_sum = require('torch.luajit.norms').of_sum
local pairs_of_rows = require 'nn.similarity.luajit.pairs'

local max, abs, huge = math.max, math.abs, math.huge
local of, both, rows_and_columns = numbers.of, pairs_of_rows.both, numbers.rows_and_columns
local raised, dot = pairs_of_rows.raised, pairs_of_rows.dot

-- Rows divided by (sum of |x|^power + eps)^(1 / power) or, for an infinite power, by the largest |x| + eps.

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

function luajit.normalize(out, x, power, eps)
   if not (power > 0) or x.nd < 1 or x.nd > 2 then return no 'neither a vector nor a matrix, or a power not above 0' end
   if not gates.typed(x.T, out) or not gates.apart(out, x) then return false end
   local p = of('first', x)
   if not p then return false end
   local rows, columns = rows_and_columns(x)
   for i = 0, rows - 1 do
      local divisor = of_sum(sum_of_powers(p, i * columns, columns, power) + eps, power)
      for k = i * columns, (i + 1) * columns - 1 do p[k] = p[k] / divisor end
   end
   return gates.resized_as(out, x) and numbers.write(out, p, 1)
end

-- Only the first of the largest elements contributes to the gradient.
local function slopes_by_largest(p, g, at, n, largest, divisor, along)
   local place = at
   while abs(p[place]) ~= largest do place = place + 1 end
   local slope = along * p[place] / divisor
   for k = at, at + n - 1 do p[k] = g[k] / divisor end
   p[place] = p[place] - slope
end

function luajit.normalize_gradient(gradient, x, grad_output, power, eps)
   if not (power > 0) then return no 'a power that is not above 0' end
   if not gates.typed(x.T, gradient) or not gates.apart(gradient, x, grad_output) then return false end
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
         local more = power < 2 and eps or 0 -- as in Torch7, so that nothing is divided by 0
         for k = at, at + columns - 1 do
            p[k] = g[k] / divisor - along * p[k] * raised(abs(p[k]) + more, power - 2)
         end
      end
   end
   return gates.resized_as(gradient, x) and numbers.write(gradient, p, 1)
end
