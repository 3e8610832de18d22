-- nn's kernels for few elements, computed here: what they compute, lua_compat/kernels/nn says. Each gets the kernel's
-- arguments, tensors as records, and returns whether it computed, and the result; whatever is unusual, and every error, is
-- left to the kernel.
local math = require('th.own').math
local ffi = require 'ffi'
local types = require 'torch.types'
local vectors = require 'torch.vectors'
local memory = require 'torch.memory'
local apart = require 'torch.apart'
local few = require 'torch.few'
local kernels = require 'torch.kernels'
local compiled = require 'torch.compiled'
local blas = require 'torch.blas'
local logistic = require 'nn.few.logistic'
local numbers = require 'nn.few.numbers'
local new_room = require 'torch.room'
local soft_planes = require 'nn.few.soft_planes'

local count, is_contiguous, same_size, resize_as, first_element = memory.count, memory.is_contiguous, memory.same_size, memory.resize_as, memory.first_element
local is_apart, last_offset = apart.is_apart, apart.last_offset
local tobit, tonumber, place, exp, log, abs, sqrt, max, reads_plainly = bit.tobit, tonumber, few.place, math.exp, math.log, math.abs, math.sqrt, math.max, blas.reads_plainly

local MOST = 8 -- times few.LIMIT elements: several operators of PyTorch stand against one loop

-- Whether the n indices, a vector or in one piece, are one of first to last, or `ignored`.
local function all_within(index, n, last, ignored)
   if index.T.host ~= types.Long or count(index) ~= n or index.nd ~= 1 and not is_contiguous(index) then return false end
   local p, step = index.S.p + index.off, index.nd == 1 and index[2] or 1
   for k = 0, n - 1 do
      local at = tonumber(p[k * step])
      if at ~= ignored and not (at >= 1 and at <= last) then return false end
   end
   return true
end

-- How often each of n rows, from 1, occurs among those at places, step apart: in a room, for those that occur.
local room = new_room()
local function occurrences(places, step, n, rows)
   local counts = ffi.cast('int32_t *', room('counts', 4 * (rows + 1)))
   for k = 0, n - 1 do counts[place(places, k * step, rows)] = 0 end
   for k = 0, n - 1 do
      local at = place(places, k * step, rows)
      counts[at] = counts[at] + 1
   end
   return counts
end

local function lookup_grad_weight(weight, index, gradient, padding, scale, by_frequency)
   local T = weight.T
   if weight.nd ~= 2 or index.nd ~= 1 or gradient.T ~= T or not T.real then return false end
   local n, columns = index[1], weight[3]
   if n * columns > MOST * few.LIMIT or count(gradient) ~= n * columns or not is_apart(weight, gradient) then return false end
   if not (is_contiguous(gradient) and is_contiguous(weight)) then return false end
   padding = padding >= 0 and math.floor(padding) or math.ceil(padding)
   if not all_within(index, n, weight[1], not by_frequency and padding) then return false end
   local get, cast = T.get, T.cast
   local p, q, places, step = first_element(weight), first_element(gradient), first_element(index), index[2]
   scale = cast(scale)
   local counts = by_frequency and occurrences(places, step, n, weight[1])
   local routine = scale ~= 0 and blas.is_enough(n * columns) and blas.of_rows(T)
   for k = 0, n - 1 do
      if tonumber(places[k * step]) ~= padding then
         local at = place(places, k * step, weight[1])
         local to, from, factor = (at - 1) * columns, k * columns, counts and cast(scale / counts[at]) or scale
         if routine then
            blas.add(routine, columns, q + from, p + to, factor)
         else
            for j = 0, columns - 1 do p[to + j] = get(p, to + j) + cast(factor * get(q, from + j)) end
         end
      end
   end
   return true
end

-- The p-norm of the n numbers from q[from] on
local function norm_of(q, from, n, p, get)
   local sum = 0
   if p == 1 then
      for j = from, from + n - 1 do sum = sum + abs(get(q, j)) end
      return sum
   end
   if p == 2 then
      for j = from, from + n - 1 do sum = sum + get(q, j) * get(q, j) end
      return sqrt(sum)
   end
   for j = from, from + n - 1 do sum = sum + abs(get(q, j)) ^ p end
   return sum ^ (1 / p)
end

local function lookup_renorm(weight, index, maximum, p)
   local T = weight.T
   if weight.nd ~= 2 or index.nd ~= 1 or not T.real or not T.here or not (p > 0 and p < math.huge) then return false end
   local n, columns = index[1], weight[3]
   if n * columns > MOST * few.LIMIT or not is_contiguous(weight) or not all_within(index, n, weight[1]) then return false end
   local q, places, step, get = first_element(weight), first_element(index), index[2], T.get
   local left = occurrences(places, step, n, weight[1])
   for k = 0, n - 1 do
      local at = place(places, k * step, weight[1])
      if left[at] > 0 then -- each row once
         left[at] = 0
         local from = (at - 1) * columns
         local norm = norm_of(q, from, columns, p, get)
         if norm > maximum then
            local factor = maximum / (norm + 1e-7)
            for j = from, from + columns - 1 do q[j] = get(q, j) * factor end
         end
      end
   end
   return true
end

-- Rows and classes of log probabilities x, where weights and classes fit and all is in order; nil otherwise.
local function rows_and_classes(total, x, target, weights, ignored)
   local T = x.T
   if x.nd < 1 or x.nd > 2 or not few.small(x, x.nd == 2 and x[1] or 1) or total.T ~= T or total.nd ~= 1 or total[1] ~= 1 then return nil end
   local rows, classes = x.nd == 2 and x[1] or 1, x.nd == 2 and x[3] or x[1]
   if weights and not (weights.T == T and weights.nd == 1 and weights[1] == classes) then return nil end
   if target.nd ~= 1 or not all_within(target, rows, classes, ignored) then return nil end
   return rows, classes
end

local function weight_of(weights, class) return weights and weights.T.get(weights.S.p, weights.off + (class - 1) * weights[2]) or 1 end

-- Of log probabilities of the pixels of images, images x height x width x classes, in whatever order they lie, what
-- each class counts; nil where that is for Python.
local function weights_for_pixels(total, x, target, weights)
   local T, all = x.T, x[1] * x[3] * x[5]
   if not T.real or all > MOST * few.LIMIT or x[4] ~= x[5] * x[6] or total.T ~= T or total.nd ~= 1 or total[1] ~= 1 then return nil end
   if target.nd ~= 3 or count(target) ~= all or target.T.host ~= types.Long or not target.T.here or not is_contiguous(target) then return nil end
   return numbers.weights(weights, T, x[7])
end

-- A loop over the pixels of images, of whose classes, but for the one that is ignored, EACH is done with the
-- element of p `at` the pixel and its class, and the class's `factor`. Gives what EACH has left in `sum` and
-- `weight`. The classes are read once: nil where one is wrong, the rest is for Python then, and the error.
local PIXELS = [[
   local tobit, tonumber, get, set = ...
   return function(p, image_step, step, images, pixels, places, halves, skipped, last, offsets, factors,
      ignored)
      local sum, weight = 0, 0
      step = tobit(step)
      for image = 0, images - 1 do
         local first = tobit(image * image_step)
         for k = 2 * image * pixels, 2 * (image + 1) * pixels - 2, 2 do
            local class = halves[k]
            if halves[k + 1] == 0 and class >= 1 and class <= last then
               if class ~= skipped then
                  local at, factor = tobit(first + offsets[class]), factors[class - 1]
                  EACH
               end
            elseif tonumber(places[k / 2]) ~= ignored then
               return nil
            end
            first = tobit(first + step)
         end
      end
      return sum, weight
   end
]]
local function of_pixels(each) -- for each type on its own: traces are for one type of memory
   return compiled.for_each(types.codes_of_reals, function(code)
      return compiled.from_text(PIXELS:gsub('EACH', each), 'nn.few')(tobit, tonumber, types[code].get,
         types[code].set)
   end)
end
local add_up_pixels = of_pixels 'sum, weight = sum - factor * get(p, at), weight + factor'
local set_pixels = of_pixels 'set(p, at, factor)'

-- Runs one over t's elements, whose sizes are those of the log probabilities. factors: of the classes
local function over_pixels(run_for, t, target, factors, ignored)
   local classes, step, places = t[7], t[8], first_element(target)
   -- of each class's elements from the first's
   local offsets = ffi.cast('int32_t *', room('offsets', 4 * (classes + 1)))
   for class = 1, classes do offsets[class] = (class - 1) * step end
   local is_class = ignored and ignored >= 1 and ignored <= classes and ignored % 1 == 0
   -- the lower comes first; LuaJIT computes with 32 bits as they are
   local halves = ffi.cast('int32_t *', places)
   local run = run_for(t.T.host.code)
   return run(first_element(t), t[2], t[6], t[1], t[3] * t[5], places, halves,
      tobit(is_class and ignored or 0), tobit(classes), offsets, factors, ignored)
end

local function class_nll_of_pixels(total, x, target, weights, average, ignored)
   local of_classes = weights_for_pixels(total, x, target, weights)
   if not of_classes then return false end
   local sum, weight = over_pixels(add_up_pixels, x, target, of_classes, ignored)
   if not sum then return false end
   total.T.set(total.S.p, total.off, weight)
   if weight == 0 then return true, 0 end
   return true, average and sum / weight or sum
end

local function class_nll(total, x, target, weights, average, ignored)
   if x.nd == 4 then return class_nll_of_pixels(total, x, target, weights, average, ignored) end
   local rows, classes = rows_and_classes(total, x, target, weights, ignored)
   if not rows then return false end
   local get, p, places, step = x.T.get, x.S.p, target.S.p + target.off, target[2]
   local row, column = x.nd == 2 and x[2] or 0, x.nd == 2 and x[4] or x[2]
   local sum, weight = 0, 0
   for i = 0, rows - 1 do
      if tonumber(places[i * step]) ~= ignored then
         local class = place(places, i * step, classes)
         local w = weight_of(weights, class)
         sum, weight = sum - w * get(p, x.off + i * row + (class - 1) * column), weight + w
      end
   end
   total.T.set(total.S.p, total.off, weight)
   if weight == 0 then return true, 0 end
   return true, average and sum / weight or sum
end

-- The gradient's elements lie without gaps, whichever way round their dimensions are.
local function class_nll_gradient_of_pixels(gradient, x, target, weights, total, average, ignored)
   local slopes = weights_for_pixels(total, x, target, weights)
   if not slopes or gradient.T ~= x.T or not is_apart(gradient, x, total, weights) or not is_apart(gradient, target) then return false end
   resize_as(gradient, x)
   local classes, n = x[7], count(x)
   if gradient[4] ~= gradient[5] * gradient[6] or last_offset(gradient) - gradient.off ~= n - 1 then
      return false
   end
   ffi.fill(first_element(gradient), n * x.T.size)
   local weight = total.T.get(total.S.p, total.off)
   if not (weight > 0) then return true end
   for class = 0, classes - 1 do slopes[class] = -slopes[class] / (average and weight or 1) end
   return over_pixels(set_pixels, gradient, target, slopes, ignored) ~= nil
end

local function class_nll_gradient(gradient, x, target, weights, total, average, ignored)
   if x.nd == 4 then return class_nll_gradient_of_pixels(gradient, x, target, weights, total, average, ignored) end
   if not rows_and_classes(total, x, target, weights, ignored) or gradient.T ~= x.T then return false end
   if not is_apart(gradient, x, total, weights) then return false end
   resize_as(gradient, x)
   local n = count(x)
   if not few.zero(gradient, n) then return false end
   local weight = total.T.get(total.S.p, total.off)
   if not (weight > 0) then return true end
   local classes = x[2 * x.nd - 1]
   local p, set, places, step = gradient.S.p + gradient.off, x.T.set, target.S.p + target.off, target[2]
   for i = 0, n / classes - 1 do
      if tonumber(places[i * step]) ~= ignored then
         local class = place(places, i * step, classes)
         set(p, i * classes + class - 1, -weight_of(weights, class) / (average and weight or 1))
      end
   end
   return true
end

local add_up = {
   mse = few.reduction('local z = X - Y result = result + z * z'),
   absolute = few.reduction('result = result + abs(X - Y)'),
   smooth_l1 = few.reduction('local z = abs(X - Y) local y = min(z, 1) result = result + y * (z - y / 2)'),
   kl_divergence = few.reduction('local y = Y if y > 0 then result = result + y * (log(y) - X) end'),
}
local differentiate = { -- v: what each element counts
   mse = few.pointwise('2 * v * (X - Y)', false, MOST),
   absolute = few.pointwise('X >= Y and v or -v', false, MOST, ('v * (1 - 2 * %s)'):format(few.gate 'Y - X')),
   smooth_l1 = few.pointwise('X - Y < -1 and -v or X - Y > 1 and v or v * (X - Y)', false, MOST, 'v * min(1, max(-1, X - Y))'),
   kl_divergence = few.pointwise('Y > 0 and v * -Y or 0', false, MOST, 'v * -max(Y, 0) + 0'),
}

-- Sum of the squared differences of n doubles, in parts that the processor's cache holds: PyTorch would make two
-- tensors of as many.
-- The rows of the target may lie apart. Nil where that is for Python.
local PART = 4096 -- elements
local differences -- room for a part of them

local function part_of_distance(routine, T, q, n)
   blas.add(routine, n, q, differences, -1)
   return blas.dot_of(routine, T, n, differences, differences)
end

local function squared_distance(x, target)
   local T, nd, n = x.T, x.nd, count(x)
   if few.LIMIT == 0 or T.host ~= types.Double or not is_contiguous(x) then return nil end
   local row, a, b, c, a_step, b_step, c_step = n, 1, 1, 1, 0, 0, 0
   if not is_contiguous(target) then
      if nd < 2 or nd > 4 or target[2 * nd] ~= 1 then return nil end
      row, c, c_step = target[2 * nd - 1], target[2 * nd - 3], target[2 * nd - 2]
      if nd > 2 then b, b_step = target[2 * nd - 5], target[2 * nd - 4] end
      if nd > 3 then a, a_step = target[2 * nd - 7], target[2 * nd - 6] end
      if row < 8 or row > PART then return nil end
   end
   local routine = blas.of_rows(T)
   if not routine then return nil end
   differences = differences or ffi.new('double[?]', PART)
   local p, q, sum = target.S.p + target.off, x.S.p + x.off, 0
   if row == n then
      for first = 0, n - 1, PART do
         local many = n - first < PART and n - first or PART
         ffi.copy(differences, p + first, many * 8)
         sum = sum + part_of_distance(routine, T, q + first, many)
      end
      return sum
   end
   local bytes, filled, first, i, j, at = row * 8, 0, 0, 0, 0, 0
   for _ = 1, a * b * c do
      if filled + row > PART then
         sum = sum + part_of_distance(routine, T, q + first, filled)
         first, filled = first + filled, 0
      end
      ffi.copy(differences + filled, p + at, bytes)
      filled, i, at = filled + row, i + 1, at + c_step
      if i == c then i, j, at = 0, j + 1, at + b_step - c * c_step end
      if j == b then j, at = 0, at + a_step - b * b_step end
   end
   return sum + part_of_distance(routine, T, q + first, filled)
end

local function elementwise_loss(x, target, name, average)
   if name == 'soft_margin' then return logistic.soft_margin(x, target, average) end
   local f = add_up[name]
   if not f or x.T ~= target.T or not same_size(x, target) then return false end
   local sum
   if name == 'mse' and not few.small(x, count(x)) then sum = squared_distance(x, target) else sum = f(x, target, 0) end
   if not sum then return false end
   return true, average and sum / count(x) or sum
end

local function elementwise_loss_gradient(gradient, x, target, name, average)
   if name == 'soft_margin' then return logistic.soft_margin_gradient(gradient, x, target, average) end
   local f, n = differentiate[name], count(x)
   if not f or gradient.T ~= x.T or not x.T.real or n == 0 or n > MOST * few.LIMIT or not same_size(x, target) then return false end
   if not is_apart(gradient, x, target) then return false end
   resize_as(gradient, x)
   return f(gradient, x, target, average and 1 / n or 1, n)
end

-- Soft maxima over the last dimension of a vector or matrix: rows and classes, and the steps between them.
local function rows_of(t)
   if t.nd == 1 then return 1, t[1], 0, t[2] end
   return t[1], t[3], t[2], t[4]
end

local MOST_OF_SOFT = 2 ^ 13 -- elements of logarithms and of gradients of doubles; of others PyTorch is faster at as many
local SOFT = { softmax = 1, log_softmax = 1, softmin = -1 } -- the factor of the scores

-- Whether Lua computes them, with two tensors of x's sizes: rows of a result of their own.
local function soft(out, x, y, name, is_gradient)
   if not SOFT[name] or x.nd < 1 or x.nd > 2 or out.T ~= x.T or y.T ~= x.T then return false end
   if not is_apart(out, x, y) then return false end
   local most = (name == 'log_softmax' or is_gradient and x.T.size == 8) and MOST_OF_SOFT or few.LIMIT
   return count(x) <= most and few.LIMIT > 0 and x.T.real and same_size(x, y)
end

local exponentials = ffi.new('double[?]', MOST_OF_SOFT)

-- exponentials[0] to [n - 1] become those of what they are.
local function exponentiate(n)
   local of_many = n > few.LIMIT_OF_FUNCTIONS and vectors.routine(types.Double, 'exp', n)
   if of_many then
      of_many(exponentials, exponentials, n)
   else
      for i = 0, n - 1 do exponentials[i] = exp(exponentials[i]) end
   end
end

-- The same of rows x classes finite numbers at q, one row after the other, four rows at a time: their sums do not wait for each
-- other. (q is not p.)
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

-- The gradients p from the gradients at u and what is at q, in the same way. TERM(k): what is summed for each number;
-- RESULT(k, sum).
local SOFT_GRADIENTS = [[
   return function(p, q, u, rows, classes, factor)
      local whole, last = rows - rows % 4, rows * classes - 1
      for first = 0, whole * classes - 1, 4 * classes do
         local a, b, c, d = 0, 0, 0, 0
         for k = first, first + classes - 1 do
            local l, m, n = k + classes, k + 2 * classes, k + 3 * classes
            a, b, c, d = a + TERM(k), b + TERM(l), c + TERM(m), d + TERM(n)
         end
         for k = first, first + classes - 1 do
            local l, m, n = k + classes, k + 2 * classes, k + 3 * classes
            p[k], p[l], p[m], p[n] = RESULT(k, a), RESULT(l, b), RESULT(m, c), RESULT(n, d)
         end
      end
      for first = whole * classes, last, classes do
         local a = 0
         for k = first, first + classes - 1 do a = a + TERM(k) end
         for k = first, first + classes - 1 do p[k] = RESULT(k, a) end
      end
      return true
   end
]]
local function soft_gradients_of(term, result)
   local text = SOFT_GRADIENTS:gsub('TERM%((%l)%)', function(k) return (term:gsub('AT', k)) end)
   text = text:gsub('RESULT%((%l), (%l)%)', function(k, sum) return (result:gsub('%u+', { AT = k, SUM = sum })) end)
   return compiled.from_text(text, 'nn.few')()
end

-- q: y; or its exponentials, where y is logarithms
local soft_gradients = soft_gradients_of('u[AT] * q[AT]', 'factor * q[AT] * (u[AT] - SUM)')
local log_soft_gradients = soft_gradients_of('u[AT]', 'u[AT] - q[AT] * SUM')

local function class_softmax(out, x, name)
   if x.nd > 2 then return soft_planes.forward(out, x, SOFT[name], name == 'log_softmax') end
   if not soft(out, x, x, name) then return false end
   resize_as(out, x)
   if not is_contiguous(out) then return false end
   local rows, classes, row, column = rows_of(x)
   local p, q, get, factor = out.S.p + out.off, x.S.p + x.off, x.T.get, SOFT[name]
   if is_contiguous(x) and reads_plainly(x) then return soft_rows(p, q, rows, classes, factor, name == 'log_softmax') end
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

local function class_softmax_gradient(gradient, y, grad_output, name)
   if y.nd > 2 then return soft_planes.gradient(gradient, y, grad_output, SOFT[name], name == 'log_softmax') end
   if not soft(gradient, y, grad_output, name, true) then return false end
   resize_as(gradient, y)
   if not is_contiguous(gradient) then return false end
   local rows, classes, row, column = rows_of(y)
   local _, _, grad_row, grad_column = rows_of(grad_output)
   local p, q, u, get, factor = gradient.S.p + gradient.off, y.S.p + y.off, grad_output.S.p + grad_output.off, y.T.get, SOFT[name]
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

local in_lua = kernels.in_lua
in_lua.class_softmax, in_lua.class_softmax_gradient = class_softmax, class_softmax_gradient
in_lua.lookup_grad_weight, in_lua.lookup_renorm = lookup_grad_weight, lookup_renorm
in_lua.class_nll, in_lua.class_nll_gradient = class_nll, class_nll_gradient
in_lua.elementwise_loss, in_lua.elementwise_loss_gradient = elementwise_loss, elementwise_loss_gradient
