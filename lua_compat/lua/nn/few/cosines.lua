-- Cosines of the angles between few rows and the rows of a weight, as nn/few.lua says.
local math = require('th.own').math
local memory = require 'torch.memory'
local is_apart = require('torch.apart').is_apart
local in_lua = require('torch.kernels').in_lua
local numbers = require 'nn.few.numbers'

local count, is_contiguous, resize, resize_as = memory.count, memory.is_contiguous, memory.resize, memory.resize_as
local sqrt, room, seen = math.sqrt, numbers.room, numbers.seen

local MOST = 2 ^ 17   -- products
local EPSILON = 1e-12 -- so that no length is zero

-- The product of the n numbers from p[i] and from q[j] on. (Four sums do not wait for each other.)
local function dot(p, i, q, j, n)
   local s0, s1, s2, s3 = 0, 0, 0, 0
   for k = 0, n - 4, 4 do
      s0, s1 = s0 + p[i + k] * q[j + k], s1 + p[i + k + 1] * q[j + k + 1]
      s2, s3 = s2 + p[i + k + 2] * q[j + k + 2], s3 + p[i + k + 3] * q[j + k + 3]
   end
   for k = n - n % 4, n - 1 do s0 = s0 + p[i + k] * q[j + k] end
   return s0 + s1 + s2 + s3
end

-- A room with the lengths of rows of n numbers.
local function lengths(name, p, rows, n)
   local found = room(name, rows)
   for i = 0, rows - 1 do found[i] = sqrt(dot(p, i * n, p, i * n, n)) + EPSILON end
   return found
end

-- What a layer computes with: rows of the input and of the weight (outputs), their numbers p and w, inputs of each, their lengths, and the cosines of
-- all pairs; nil where that is for Python.
local function begin(x, weight)
   if weight.nd ~= 2 or weight.T ~= x.T or x.nd ~= 1 and x.nd ~= 2 or x[2 * x.nd - 1] ~= weight[3] then return nil end
   local outputs, n = weight[1], weight[3]
   local rows = count(x) / n
   if rows * n * outputs > MOST then return nil end
   local p = seen('first', x)
   local w = p and seen('weight', weight)
   if not w then return nil end
   local t = { rows = rows, outputs = outputs, n = n, p = p, w = w, of_rows = lengths('of_rows', p, rows, n), of_weight = lengths('of_weight', w, outputs, n) }
   t.cosines = room('cosines', rows * outputs)
   for i = 0, rows - 1 do
      for j = 0, outputs - 1 do
         t.cosines[i * outputs + j] = dot(p, i * n, w, j * n, n) / t.of_weight[j] / t.of_rows[i]
      end
   end
   return t
end

function in_lua.cosine(out, x, weight)
   local t = begin(x, weight)
   if not t or out.T ~= x.T or not is_apart(out, x, weight) then return false end
   if x.nd == 2 then resize(out, 2, { t.rows, t.outputs }) else resize(out, 1, { t.outputs }) end
   return is_contiguous(out) and numbers.write(out, t.cosines, 1)
end

-- p[at + k] becomes a * p[at + k] + b * q[from + k], of n.
local function combine(p, at, a, q, from, b, n)
   for k = 0, n - 1 do p[at + k] = a * p[at + k] + b * q[from + k] end
end

-- sums, of n numbers for each of `rows` rows, of which y has the numbers and of_y the lengths, become the gradients of the cosines with respect to these:
-- g[i * g_row + j * g_other] counts for row i and row j of the others, z.
local function gradients(sums, rows, y, of_y, others, z, of_z, n, g, cosines, g_row, g_other, factor)
   for i = 0, rows - 1 do
      local at, along = i * n, 0
      for k = at, at + n - 1 do sums[k] = 0 end
      for j = 0, others - 1 do
         local one = g[i * g_row + j * g_other]
         along = along + one * cosines[i * g_row + j * g_other]
         combine(sums, at, 1, z, j * n, factor * one / of_z[j], n)
      end
      combine(sums, at, 1 / of_y[i], y, at, -along / (of_y[i] * of_y[i]), n)
   end
end

-- The gradients as numbers, of a tensor that may be seen with the output's sizes
local function gradients_of(t, x, grad_output)
   return grad_output.T == x.T and count(grad_output) == t.rows * t.outputs and seen('gradients', grad_output)
end

function in_lua.cosine_grad_input(gradient, x, grad_output, weight)
   local t = begin(x, weight)
   local g = t and gradients_of(t, x, grad_output)
   if not g or gradient.T ~= x.T or not is_apart(gradient, x, grad_output, weight) then return false end
   resize_as(gradient, x)
   if not is_contiguous(gradient) then return false end
   local sums = room('sums', t.rows * t.n)
   gradients(sums, t.rows, t.p, t.of_rows, t.outputs, t.w, t.of_weight, t.n, g, t.cosines, t.outputs, 1, 1)
   return numbers.write(gradient, sums, 1)
end

-- As in Torch7, scale counts only for a vector x, and there for the first term.
function in_lua.cosine_grad_weight(grad_weight, x, grad_output, weight, scale)
   local t = begin(x, weight)
   local g = t and gradients_of(t, x, grad_output)
   if not g or not numbers.takes(grad_weight, weight, x, grad_output) then return false end
   local sums = room('sums', t.outputs * t.n)
   gradients(sums, t.outputs, t.w, t.of_weight, t.rows, t.p, t.of_rows, t.n, g, t.cosines, 1, t.outputs, x.nd == 1 and scale or 1)
   numbers.add_to(grad_weight, sums, 1)
   return true
end
