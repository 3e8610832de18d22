-- Cosines of the angles between few rows and the rows of a weight.
local memory = require 'torch.core.memory'
local types = require 'torch.core.types'
local blas = require 'torch.luajit.blas'
local is_apart = require('torch.core.overlap').is_apart
local ways = require 'torch.core.ways'
local numbers = require 'nn.shared.luajit.as_doubles'

local luajit = ways.luajit
local count, is_contiguous, resize, resize_as = memory.count, memory.is_contiguous, memory.resize, memory.resize_as
local sqrt, room, seen = math.sqrt, numbers.room, numbers.seen

local MOST = 2 ^ 17   -- products
local EPSILON = 1e-12 -- so that no length is zero

-- The product of the n numbers from p[at] on with themselves. (Four sums do not wait for each other.)
local function square(p, at, n)
   local s0, s1, s2, s3 = 0, 0, 0, 0
   for k = at, at + n - 4, 4 do
      s0, s1 = s0 + p[k] * p[k], s1 + p[k + 1] * p[k + 1]
      s2, s3 = s2 + p[k + 2] * p[k + 2], s3 + p[k + 3] * p[k + 3]
   end
   for k = at + n - n % 4, at + n - 1 do s0 = s0 + p[k] * p[k] end
   return s0 + s1 + s2 + s3
end

-- A room with the lengths of rows of n numbers.
local function lengths(name, p, rows, n)
   local found = room(name, rows)
   for i = 0, rows - 1 do found[i] = sqrt(square(p, i * n, n)) + EPSILON end
   return found
end

-- What a layer computes with: rows of the input and of the weight (outputs), their numbers p and w, inputs of each,
-- their lengths, and the cosines of all pairs, of products by the BLAS; nil where that is for Python.
local function begin(x, weight)
   if weight.nd ~= 2 or weight.T ~= x.T or x.nd ~= 1 and x.nd ~= 2 or x[2 * x.nd - 1] ~= weight[3] then return nil end
   local outputs, n = weight[1], weight[3]
   local rows = count(x) / n
   local routine = rows * n * outputs <= MOST and blas.of_rows(types.Double)
   local p = routine and seen('first', x)
   local w = p and seen('weight', weight)
   if not w then return nil end
   local t = { routine = routine, rows = rows, outputs = outputs, n = n, p = p, w = w,
      of_rows = lengths('of_rows', p, rows, n), of_weight = lengths('of_weight', w, outputs, n) }
   t.cosines = room('cosines', rows * outputs)
   blas.multiply(routine, t.cosines, outputs, 0, 1, p, 'n', n, w, 't', n, rows, n, outputs)
   for i = 0, rows - 1 do
      for j = 0, outputs - 1 do
         local k = i * outputs + j
         t.cosines[k] = t.cosines[k] / t.of_weight[j] / t.of_rows[i]
      end
   end
   return t
end

function luajit.cosine(out, x, weight)
   local t = begin(x, weight)
   if not t or out.T ~= x.T or not is_apart(out, x, weight) then return false end
   if x.nd == 2 then resize(out, 2, { t.rows, t.outputs }) else resize(out, 1, { t.outputs }) end
   return is_contiguous(out) and numbers.write(out, t.cosines, 1)
end

-- sums, of n numbers for each of `rows` rows, of which y has the numbers and of_y the lengths, become the gradients of
-- the cosines with respect to these:
-- g[i * g_row + j * g_other] counts for row i and row j of the others, z.
local function gradients(routine, sums, rows, y, of_y, others, z, of_z, n, g, cosines, g_row, g_other, factor)
   local slopes, along = room('slopes', rows * others), room('along', rows)
   for i = 0, rows - 1 do
      local sum = 0
      for j = 0, others - 1 do
         local at = i * g_row + j * g_other
         sum, slopes[i * others + j] = sum + g[at] * cosines[at], factor * g[at] / of_z[j]
      end
      along[i] = -sum / (of_y[i] * of_y[i])
   end
   blas.multiply(routine, sums, n, 0, 1, slopes, 'n', others, z, 'n', n, rows, others, n)
   for i = 0, rows - 1 do
      local a, b = 1 / of_y[i], along[i]
      for k = i * n, (i + 1) * n - 1 do sums[k] = a * sums[k] + b * y[k] end
   end
end

-- The gradients as numbers, of a tensor that may be seen with the output's sizes
local function gradients_of(t, x, grad_output)
   return grad_output.T == x.T and count(grad_output) == t.rows * t.outputs and seen('gradients', grad_output)
end

function luajit.cosine_grad_input(gradient, x, grad_output, weight)
   local t = begin(x, weight)
   local g = t and gradients_of(t, x, grad_output)
   if not g or gradient.T ~= x.T or not is_apart(gradient, x, grad_output, weight) then return false end
   resize_as(gradient, x)
   if not is_contiguous(gradient) then return false end
   local sums = room('sums', t.rows * t.n)
   gradients(t.routine, sums, t.rows, t.p, t.of_rows, t.outputs, t.w, t.of_weight, t.n, g, t.cosines,
      t.outputs, 1, 1)
   return numbers.write(gradient, sums, 1)
end

-- As in Torch7, scale counts only for a vector x, and there for the first term.
function luajit.cosine_grad_weight(grad_weight, x, grad_output, weight, scale)
   local t = begin(x, weight)
   local g = t and gradients_of(t, x, grad_output)
   if not g or not numbers.takes(grad_weight, weight, x, grad_output) then return false end
   local sums = room('sums', t.outputs * t.n)
   gradients(t.routine, sums, t.outputs, t.w, t.of_weight, t.rows, t.p, t.of_rows, t.n, g, t.cosines, 1,
      t.outputs, x.nd == 1 and scale or 1)
   numbers.add_to(grad_weight, sums, 1)
   return true
end
