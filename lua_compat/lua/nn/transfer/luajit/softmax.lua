-- Softmax over the classes of vectors, rows and pixels (the planes of images), its logarithm, and the gradients.
local types = require 'torch.core.types'
local memory = require 'torch.core.memory'
local few = require 'torch.luajit.elementwise'
local luajit, no = require('torch.core.ways').of_kernels()
local templates = require 'torch.core.templates'
local gates = require 'nn.shared.luajit.gates'
local numbers = require 'nn.shared.luajit.as_doubles'
local in_one_piece = require('nn.shared.luajit.scratch').in_one_piece

local count, first_element = memory.count, memory.first_element
local exponentiate, room = numbers.exponentiate, numbers.room

-- elements: for logarithms, for gradients of doubles, and for images; PyTorch computes the others faster from this size
-- on
local MOST_OF_SOFT = 2 ^ 13
local SOFT = { softmax = 1, log_softmax = 1, softmin = -1 } -- the factor of the scores

-- Resizes out to x's sizes if Lua can compute it, from two tensors of these sizes. The result is contiguous.
local function begin(out, x, y, name, is_gradient)
   if not SOFT[name] then return no 'a function that only PyTorch computes' end
   local n, is_large = count(x), name == 'log_softmax' or is_gradient and x.T.size == 8
   return gates.typed(x.T, x, out, y)
      and (x.nd > 2 and gates.planes(x, 2) and gates.few_for_now(n, MOST_OF_SOFT)
      or x.nd <= 2 and gates.few(n, is_large and MOST_OF_SOFT or few.LIMIT))
      and gates.apart(out, x, y) and gates.same_size(x, y) and gates.resized_as(out, x)
end

-- How the elements of two tensors are read: as plain numbers of PIXELS or of ROWS, or by a type's get; and pointers to
-- them. nil if Python has to compute.
local PIXELS, ROWS = -1, 0
local function read(p, k) return p[k] end
local function elements_of(x, y)
   local is_plain = gates.plain(x, x.T) and gates.plain(y, x.T) and few.reads_plainly(x, y)
   if x.nd > 2 and not is_plain then return no 'numbers that are not finite, or not contiguous' end
   return x.nd > 2 and PIXELS or is_plain and ROWS or x.T.host.code, first_element(x), first_element(y)
end

-- The numbers of images, of rows of classes in each, and of classes. (Vectors and matrices are one image.)
local function sizes_of(x)
   if x.nd <= 2 then return 1, x.nd == 2 and x[1] or 1, x[2 * x.nd - 1] end
   local last = 2 * x.nd - 1
   return x.nd == 4 and x[1] or 1, x[last - 2] * x[last], x[last - 4]
end

-- A function for rows of classes, four rows at a time: their sums do not depend on each other. In each row, s@ starts
-- as $start and becomes $sum for each element (at $at), then $total; then $to becomes $result for each element. One for
-- each way of reading. $row, $step: the distances of rows and of classes; $gap: what follows an image's rows
local LOOP = [[
   return function(p, q, u, e, images, rows, classes, factor)
      local first = 0
      for _ = 1, images do
         local left = rows
         $groups
         first = first + $gap
      end
   end
]]
local GROUP = [[
   while left >= $1 do
      local last = first + (classes - 1) * $step
      local $each($1){s@} = $each($1){$start}
      for k = first, last, $step do $each($1){s@} = $each($1){$sum} end
      $each($1){s@} = $each($1){$total}
      for k = first, last, $step do $each($1){$to} = $each($1){$result} end
      first, left = first + $1 * $row, left - $1
   end
]]
local OF_PIXELS = { row = 1, step = 'rows', gap = '(classes - 1) * rows', groups = '$group(8) $group(4) $group(1)' }
local OF_ROWS = { row = 'classes', step = 1, gap = 0, groups = '$group(4) $group(1)' }
local function of_rows(to, start, sum, result, total)
   return templates.for_each({ PIXELS, ROWS, unpack(types.codes_of_reals) }, function(kind)
      local layout = kind == PIXELS and OF_PIXELS or OF_ROWS
      return templates.compile('nn.transfer.luajit.softmax', LOOP, { group = GROUP, to = to, start = start, sum = sum,
         result = result, total = total or 's@', groups = layout.groups, row = layout.row, step = layout.step,
         gap = layout.gap }, { at = 'k + @ * $row', q = '$read(q, $at)', u = '$read(u, $at)',
         read = kind <= ROWS and '$1[$2]' or 'get($1, $2)', get = kind > ROWS and types[kind].get or nil })
   end)
end

-- The differences from the greatest score; softmax of their exponentials, or its logarithm of the differences
local subtract_greatest = of_rows('e[$at]', 'factor * $read(q, first + @ * $row)', 'max(s@, factor * $q)',
   'factor * $q - s@')
local divide_by_sum, subtract_logarithm = of_rows('p[$at]', 0, 's@ + e[$at]', 'e[$at] / s@'),
   of_rows('p[$at]', 0, 's@ + e[$at]', '$read(p, $at) - s@', 'log(s@)')
local multiply_by_inverse = of_rows('p[$at]', 0, 's@ + e[$at]', 'e[$at] * s@', '1 / s@')

-- q: the outputs; e: their exponentials, if they are logarithms; u: their gradients
local soft_gradients, log_soft_gradients = of_rows('p[$at]', 0, 's@ + $u * $q', 'factor * $q * ($u - s@)'),
   of_rows('p[$at]', 0, 's@ + $u', '$u - e[$at] * s@')

function luajit.class_softmax(out, x, name)
   if not begin(out, x, x, name) then return false end
   x = in_one_piece(x)
   local kind, q = elements_of(x, x)
   if not kind then return false end
   local n, p, images, rows, classes = count(x), first_element(out), sizes_of(x)
   local e = room('exponentials', n)
   subtract_greatest(kind)(nil, q, nil, e, images, rows, classes, SOFT[name])
   if name == 'log_softmax' then -- the differences are needed later
      for k = 0, n - 1 do p[k] = e[k] end
      exponentiate(e, n)
      subtract_logarithm(kind)(p, nil, nil, e, images, rows, classes)
   else
      exponentiate(e, n)
      local finish = kind == PIXELS and multiply_by_inverse or divide_by_sum
      finish(kind == PIXELS and PIXELS or ROWS)(p, nil, nil, e, images, rows, classes)
   end
   return true
end

function luajit.class_softmax_gradient(gradient, y, grad_output, name)
   if not begin(gradient, y, grad_output, name, true) then return false end
   y, grad_output = in_one_piece(y), in_one_piece(grad_output)
   local kind, q, u = elements_of(y, grad_output)
   if not kind then return false end
   local n, p, images, rows, classes = count(y), first_element(gradient), sizes_of(y)
   if name == 'log_softmax' then
      local e, get = room('exponentials', n), kind <= ROWS and read or y.T.get
      for k = 0, n - 1 do e[k] = get(q, k) end
      exponentiate(e, n)
      log_soft_gradients(kind)(p, nil, u, e, images, rows, classes)
   else
      soft_gradients(kind)(p, q, u, nil, images, rows, classes, SOFT[name])
   end
   return true
end
