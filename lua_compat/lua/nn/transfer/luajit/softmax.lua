-- Softmax of vectors and rows, its logarithm, and the gradients of both.
local ffi = require 'ffi'
local types = require 'torch.core.types'
local vectors = require 'torch.luajit.vectors'
local memory = require 'torch.core.memory'
local few = require 'torch.luajit.elementwise'
local ways = require 'torch.core.ways'
local templates = require 'torch.core.templates'
local blas = require 'torch.luajit.blas'
local gates = require 'nn.shared.luajit.gates'
local soft_planes = require 'nn.transfer.luajit.softmax_of_images'

local luajit, no = ways.luajit, ways.no
local count, is_contiguous, first_element = memory.count, memory.is_contiguous, memory.first_element
local exp, log, max, reads_plainly = math.exp, math.log, math.max, blas.reads_plainly

-- The rows and classes for softmax over the last dimension of a vector or matrix, and their strides.
local function rows_of(t)
   if t.nd == 1 then return 1, t[1], 0, t[2] end
   return t[1], t[3], t[2], t[4]
end

-- elements, for logarithms and for gradients of doubles; PyTorch computes the others faster from this size on
local MOST_OF_SOFT = 2 ^ 13
local SOFT = { softmax = 1, log_softmax = 1, softmin = -1 } -- the factor of the scores

-- Resizes out to x's sizes if Lua can compute it, from two tensors of these sizes. The result has contiguous rows.
local function begin(out, x, y, name, is_gradient)
   if not SOFT[name] then return no 'a function that only PyTorch computes' end
   local most = (name == 'log_softmax' or is_gradient and x.T.size == 8) and MOST_OF_SOFT or few.LIMIT
   return gates.typed(x.T, x, out, y) and gates.few(count(x), most) and gates.apart(out, x, y) and gates.same_size(x, y)
      and gates.resized_as(out, x)
end

local exponentials = ffi.new('double[?]', MOST_OF_SOFT)

-- Replaces exponentials[0] to [n - 1] by their exponentials.
local function exponentiate(n)
   local of_many = n > few.LIMIT_OF_FUNCTIONS and vectors.routine(types.Double, 'exp', n)
   if of_many then
      of_many(exponentials, exponentials, n)
   else
      for i = 0, n - 1 do exponentials[i] = exp(exponentials[i]) end
   end
end

-- The softmax of contiguous rows of finite numbers at q, four rows at a time: their sums do not depend on each other.
-- (q is not p.)
local function soft_rows(p, q, rows, classes, factor, of_logarithms)
   local e = exponentials
   local whole, last = rows - rows % 4, rows * classes - 1
   for first = 0, whole * classes - 1, 4 * classes do
      local second, third, fourth = first + classes, first + 2 * classes, first + 3 * classes
      local a, b, c, d = factor * q[first], factor * q[second], factor * q[third], factor * q[fourth]
      for k = first, second - 1 do
         a, b = max(a, factor * q[k]), max(b, factor * q[k + classes])
         c, d = max(c, factor * q[k + 2 * classes]), max(d, factor * q[k + 3 * classes])
      end
      for k = first, second - 1 do
         e[k], e[k + classes] = factor * q[k] - a, factor * q[k + classes] - b
         e[k + 2 * classes], e[k + 3 * classes] = factor * q[k + 2 * classes] - c, factor * q[k + 3 * classes] - d
      end
   end
   for first = whole * classes, last, classes do
      local a = factor * q[first]
      for k = first, first + classes - 1 do a = max(a, factor * q[k]) end
      for k = first, first + classes - 1 do e[k] = factor * q[k] - a end
   end
   if of_logarithms then
      for k = 0, last do p[k] = e[k] end
   end
   exponentiate(rows * classes)
   for first = 0, whole * classes - 1, 4 * classes do
      local a, b, c, d = 0, 0, 0, 0
      for k = first, first + classes - 1 do
         a, b, c, d = a + e[k], b + e[k + classes], c + e[k + 2 * classes], d + e[k + 3 * classes]
      end
      if of_logarithms then
         a, b, c, d = log(a), log(b), log(c), log(d)
         for k = first, first + classes - 1 do
            p[k], p[k + classes] = p[k] - a, p[k + classes] - b
            p[k + 2 * classes], p[k + 3 * classes] = p[k + 2 * classes] - c, p[k + 3 * classes] - d
         end
      else
         for k = first, first + classes - 1 do
            p[k], p[k + classes] = e[k] / a, e[k + classes] / b
            p[k + 2 * classes], p[k + 3 * classes] = e[k + 2 * classes] / c, e[k + 3 * classes] / d
         end
      end
   end
   for first = whole * classes, last, classes do
      local a = 0
      for k = first, first + classes - 1 do a = a + e[k] end
      if of_logarithms then
         a = log(a)
         for k = first, first + classes - 1 do p[k] = p[k] - a end
      else
         for k = first, first + classes - 1 do p[k] = e[k] / a end
      end
   end
   return true
end

-- The gradients p from the gradients at u and the numbers at q, in the same way. $term(k): the term of the sum;
-- $result(k, sum): the result.
local SOFT_GRADIENTS = [[
   return function(p, q, u, rows, classes, factor)
      local whole, last = rows - rows % 4, rows * classes - 1
      for first = 0, whole * classes - 1, 4 * classes do
         local a, b, c, d = 0, 0, 0, 0
         for k = first, first + classes - 1 do
            local l, m, n = k + classes, k + 2 * classes, k + 3 * classes
            a, b, c, d = a + $term(k), b + $term(l), c + $term(m), d + $term(n)
         end
         for k = first, first + classes - 1 do
            local l, m, n = k + classes, k + 2 * classes, k + 3 * classes
            p[k], p[l], p[m], p[n] = $result(k, a), $result(l, b), $result(m, c), $result(n, d)
         end
      end
      for first = whole * classes, last, classes do
         local a = 0
         for k = first, first + classes - 1 do a = a + $term(k) end
         for k = first, first + classes - 1 do p[k] = $result(k, a) end
      end
      return true
   end
]]
local function soft_gradients_of(term, result)
   return templates.compile('nn.transfer.luajit.softmax', SOFT_GRADIENTS, { term = term, result = result })
end

-- q: the output y, or its exponentials if y is logarithms
local soft_gradients = soft_gradients_of('u[$1] * q[$1]', 'factor * q[$1] * (u[$1] - $2)')
local log_soft_gradients = soft_gradients_of('u[$1]', 'u[$1] - q[$1] * $2')

function luajit.class_softmax(out, x, name)
   if x.nd > 2 then return soft_planes.forward(out, x, SOFT[name], name == 'log_softmax') end
   if not begin(out, x, x, name) then return false end
   local rows, classes, row, column = rows_of(x)
   local p, q, get, factor = first_element(out), first_element(x), x.T.get, SOFT[name]
   if is_contiguous(x) and reads_plainly(x) then
      return soft_rows(p, q, rows, classes, factor, name == 'log_softmax')
   end
   for i = 0, rows - 1 do
      local greatest = factor * get(q, i * row)
      for j = 1, classes - 1 do
         local value = factor * get(q, i * row + j * column)
         if not (value <= greatest) then greatest = value end
      end
      for j = 0, classes - 1 do exponentials[i * classes + j] = factor * get(q, i * row + j * column) - greatest end
   end
   if name == 'log_softmax' then -- the differences are needed again
      for k = 0, rows * classes - 1 do p[k] = exponentials[k] end
   end
   exponentiate(rows * classes)
   for i = 0, rows - 1 do
      local first, sum = i * classes, 0
      for k = first, first + classes - 1 do sum = sum + exponentials[k] end
      if name == 'log_softmax' then
         local logarithm = log(sum)
         for k = first, first + classes - 1 do p[k] = get(p, k) - logarithm end
      else
         for k = first, first + classes - 1 do p[k] = exponentials[k] / sum end
      end
   end
   return true
end

function luajit.class_softmax_gradient(gradient, y, grad_output, name)
   if y.nd > 2 then return soft_planes.gradient(gradient, y, grad_output, SOFT[name], name == 'log_softmax') end
   if not begin(gradient, y, grad_output, name, true) then return false end
   local rows, classes, row, column = rows_of(y)
   local _, _, grad_row, grad_column = rows_of(grad_output)
   local p, q, u, get, factor = first_element(gradient), first_element(y), first_element(grad_output), y.T.get,
      SOFT[name]
   if is_contiguous(y) and is_contiguous(grad_output) and reads_plainly(y) and reads_plainly(grad_output) then
      if name == 'log_softmax' then
         for k = 0, rows * classes - 1 do exponentials[k] = q[k] end
         exponentiate(rows * classes)
         return log_soft_gradients(p, exponentials, u, rows, classes)
      end
      return soft_gradients(p, q, u, rows, classes, factor)
   end
   if name == 'log_softmax' then
      for i = 0, rows - 1 do
         for j = 0, classes - 1 do exponentials[i * classes + j] = get(q, i * row + j * column) end
      end
      exponentiate(rows * classes)
      for i = 0, rows - 1 do
         local sum = 0
         for j = 0, classes - 1 do sum = sum + get(u, i * grad_row + j * grad_column) end
         for j = 0, classes - 1 do
            p[i * classes + j] = get(u, i * grad_row + j * grad_column) - exponentials[i * classes + j] * sum
         end
      end
      return true
   end
   for i = 0, rows - 1 do
      local sum = 0
      for j = 0, classes - 1 do sum = sum + get(u, i * grad_row + j * grad_column) * get(q, i * row + j * column) end
      for j = 0, classes - 1 do
         p[i * classes + j] = factor * get(q, i * row + j * column) * (get(u, i * grad_row + j * grad_column) - sum)
      end
   end
   return true
end
