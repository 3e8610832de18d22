-- Softmax of vectors and rows, its logarithm, and the gradients of both.
local types = require 'torch.core.types'
local memory = require 'torch.core.memory'
local few = require 'torch.luajit.elementwise'
local luajit, no = require('torch.core.ways').of_kernels()
local templates = require 'torch.core.templates'
local gates = require 'nn.shared.luajit.gates'
local numbers = require 'nn.shared.luajit.as_doubles'
local in_one_piece = require('nn.shared.luajit.scratch').in_one_piece
local soft_planes = require 'nn.transfer.luajit.softmax_of_images'

local count, first_element = memory.count, memory.first_element
local exponentiate, room = numbers.exponentiate, numbers.room

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

-- How the elements of two contiguous tensors are read, as PLAIN numbers or by a type's get, and pointers to them.
local PLAIN = 0
local function read(p, k) return p[k] end
local function elements_of(x, y)
   return few.reads_plainly(x, y) and PLAIN or x.T.host.code, first_element(x), first_element(y)
end

-- A function for rows of classes, four rows at a time: their sums do not depend on each other. In each row, s@ starts
-- as $start and becomes $sum for each element (at $at), then $total; then $to becomes $result for each element. One for
-- each way of reading.
local ROWS = [[
   return function(p, q, u, e, rows, classes, factor)
      local first = 0
      $group(4) $group(1)
   end
]]
local GROUP = [[
   while rows >= $1 do
      local $each($1){s@} = $each($1){$start}
      for k = first, first + classes - 1 do $each($1){s@} = $each($1){$sum} end
      $each($1){s@} = $each($1){$total}
      for k = first, first + classes - 1 do $each($1){$to} = $each($1){$result} end
      first, rows = first + $1 * classes, rows - $1
   end
]]
local function of_rows(to, start, sum, result, total)
   return templates.for_each({ PLAIN, unpack(types.codes_of_reals) }, function(code)
      return templates.compile('nn.transfer.luajit.softmax', ROWS, { group = GROUP, to = to, start = start, sum = sum,
         result = result, total = total or 's@' }, { at = 'k + @ * classes', q = '$read(q, $at)', u = '$read(u, $at)',
         read = code == PLAIN and '$1[$2]' or 'get($1, $2)', get = code ~= PLAIN and types[code].get or nil })
   end)
end

-- The differences from the greatest score; softmax of their exponentials, or its logarithm of the differences
local subtract_greatest = of_rows('e[$at]', 'factor * $read(q, first + @ * classes)', 'max(s@, factor * $q)',
   'factor * $q - s@')
local divide_by_sum, subtract_logarithm = of_rows('p[$at]', 0, 's@ + e[$at]', 'e[$at] / s@'),
   of_rows('p[$at]', 0, 's@ + e[$at]', '$read(p, $at) - s@', 'log(s@)')

-- q: the outputs; e: their exponentials, if they are logarithms; u: their gradients
local soft_gradients, log_soft_gradients = of_rows('p[$at]', 0, 's@ + $u * $q', 'factor * $q * ($u - s@)'),
   of_rows('p[$at]', 0, 's@ + $u', '$u - e[$at] * s@')

function luajit.class_softmax(out, x, name)
   if x.nd > 2 then return soft_planes.forward(out, x, SOFT[name], name == 'log_softmax') end
   if not begin(out, x, x, name) then return false end
   x = in_one_piece(x)
   local n, classes, p, e = count(x), x[2 * x.nd - 1], first_element(out), room('exponentials', count(x))
   local rows, kind, q = n / classes, elements_of(x, x)
   subtract_greatest(kind)(nil, q, nil, e, rows, classes, SOFT[name])
   if name == 'log_softmax' then -- the differences are needed later
      for k = 0, n - 1 do p[k] = e[k] end
      exponentiate(e, n)
      subtract_logarithm(kind)(p, nil, nil, e, rows, classes)
   else
      exponentiate(e, n)
      divide_by_sum(PLAIN)(p, nil, nil, e, rows, classes)
   end
   return true
end

function luajit.class_softmax_gradient(gradient, y, grad_output, name)
   if y.nd > 2 then return soft_planes.gradient(gradient, y, grad_output, SOFT[name], name == 'log_softmax') end
   if not begin(gradient, y, grad_output, name, true) then return false end
   y, grad_output = in_one_piece(y), in_one_piece(grad_output)
   local n, classes, p, kind, q, u = count(y), y[2 * y.nd - 1], first_element(gradient), elements_of(y, grad_output)
   if name == 'log_softmax' then
      local e, get = room('exponentials', n), kind == PLAIN and read or y.T.get
      for k = 0, n - 1 do e[k] = get(q, k) end
      exponentiate(e, n)
      log_soft_gradients(kind)(p, nil, u, e, n / classes, classes)
   else
      soft_gradients(kind)(p, q, u, nil, n / classes, classes, SOFT[name])
   end
   return true
end
