-- Cosines of the angles between few rows and the rows of a weight.
local memory = require 'torch.core.memory'
local types = require 'torch.core.types'
local luajit, no = require('torch.core.ways').of_kernels()
local gates = require 'nn.shared.luajit.gates'
local numbers = require 'nn.shared.luajit.as_doubles'
local dot = require('nn.similarity.luajit.pairs').dot

local count, sqrt, room, seen = memory.count, math.sqrt, numbers.room, numbers.seen

local MOST = 2 ^ 17   -- products
local EPSILON = 1e-12 -- so that no length is zero

-- A scratch buffer with the norms of rows of n numbers.
local function lengths(name, p, rows, n)
   local found = room(name, rows)
   for i = 0, rows - 1 do found[i] = sqrt(dot(p, p, i * n, n)) + EPSILON end
   return found
end

-- The record that a layer computes with: the numbers of rows of the input (rows) and of the weight (outputs), of n
-- numbers; the rows themselves (inputs, weight) with their norms; and the cosines of all pairs, from products by BLAS.
-- nil if Python has to compute.
local function begin(x, weight)
   if weight.nd ~= 2 or x.nd ~= 1 and x.nd ~= 2 or x[2 * x.nd - 1] ~= weight[3] then return no 'rows of other sizes' end
   local outputs, n = weight[1], weight[3]
   local rows = count(x) / n
   local routine = gates.typed(x.T, x, weight) and gates.within(rows * n * outputs, MOST, 'more than %d products')
      and gates.routine(types.Double)
   local p = routine and seen('first', x)
   local w = p and seen('weight', weight)
   if not w then return nil end
   local inputs = { p = p, rows = rows, lengths = lengths('of_rows', p, rows, n), step = outputs }
   local others = { p = w, rows = outputs, lengths = lengths('of_weight', w, outputs, n), step = 1 }
   local cosines = room('cosines', rows * outputs)
   routine.multiply_transposed(cosines, 0, 1, p, w, rows, n, outputs)
   for i = 0, rows - 1 do
      for j = 0, outputs - 1 do
         local k = i * outputs + j
         cosines[k] = cosines[k] / others.lengths[j] / inputs.lengths[i]
      end
   end
   return { routine = routine, rows = rows, outputs = outputs, n = n, cosines = cosines, inputs = inputs,
      weight = others }
end

function luajit.cosine(out, x, weight)
   local t = begin(x, weight)
   return t and gates.typed(x.T, out) and gates.apart(out, x, weight)
      and gates.resized(out, x.nd, x.nd == 2 and { t.rows, t.outputs } or { t.outputs })
      and numbers.write(out, t.cosines, 1)
end

-- Sets `sums`, n numbers for each row of y (p of the record), to the gradients of the cosines with respect to y. The
-- output's gradient for row i of y and row j of the others, z, is g[i * y.step + j * z.step].
local function gradients(t, sums, y, z, g, factor)
   local n, cosines = t.n, t.cosines
   local slopes, along = room('slopes', y.rows * z.rows), room('along', y.rows)
   for i = 0, y.rows - 1 do
      local sum = 0
      for j = 0, z.rows - 1 do
         local at = i * y.step + j * z.step
         sum, slopes[i * z.rows + j] = sum + g[at] * cosines[at], factor * g[at] / z.lengths[j]
      end
      along[i] = -sum / (y.lengths[i] * y.lengths[i])
   end
   t.routine.multiply(sums, 0, 1, slopes, z.p, y.rows, z.rows, n)
   for i = 0, y.rows - 1 do
      local a, b = 1 / y.lengths[i], along[i]
      for k = i * n, (i + 1) * n - 1 do sums[k] = a * sums[k] + b * y.p[k] end
   end
end

-- The gradients as doubles, from a tensor that can be viewed with the output's sizes
local function gradients_of(t, x, grad_output)
   if count(grad_output) ~= t.rows * t.outputs then return no 'tensors of different sizes' end
   return gates.typed(x.T, grad_output) and seen('gradients', grad_output)
end

function luajit.cosine_grad_input(gradient, x, grad_output, weight)
   local t = begin(x, weight)
   local g = t and gradients_of(t, x, grad_output)
   if not (g and gates.typed(x.T, gradient) and gates.apart(gradient, x, grad_output, weight)
      and gates.resized_as(gradient, x)) then
      return false
   end
   local sums = room('sums', t.rows * t.n)
   gradients(t, sums, t.inputs, t.weight, g, 1)
   return numbers.write(gradient, sums, 1)
end

-- As in Torch7, scale applies only for a vector x, and there only to the first term.
function luajit.cosine_grad_weight(grad_weight, x, grad_output, weight, scale)
   local t = begin(x, weight)
   local g = t and gradients_of(t, x, grad_output)
   if not g or not numbers.takes(grad_weight, weight, x, grad_output) then return false end
   local sums = room('sums', t.outputs * t.n)
   gradients(t, sums, t.weight, t.inputs, g, x.nd == 1 and scale or 1)
   numbers.add_to(grad_weight, sums, 1)
   return true
end
