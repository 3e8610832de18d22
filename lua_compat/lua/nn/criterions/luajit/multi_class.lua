-- Losses of few elements that compare the scores of a row's classes.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local no = require('torch.core.ways').no
local gates = require 'nn.shared.luajit.gates'
local numbers = require 'nn.shared.luajit.as_doubles'

local count, is_contiguous, max = memory.count, memory.is_contiguous, math.max
local rows_and_columns, gate = numbers.rows_and_columns, numbers.gate

local classes = {}

-- A scratch buffer with n whole numbers, each in least..last; nil if any is not.
local function places_of(name, t, n, least, last)
   if not (t.T.real or t.T.whole) or count(t) ~= n or not (is_contiguous(t) or t.nd == 1) then
      return no 'classes that are not as many, or not contiguous'
   end
   local p, q, step, get = numbers.room(name, n), t.S.p + t.off, t.nd == 1 and t[2] or 1, t.T.get
   for k = 0, n - 1 do
      local at = get(q, k * step)
      if not (at >= least and at <= last) then return no 'a class that does not exist' end
      p[k] = at - at % 1
   end
   return p
end

-- The scores, and the position (from 0) of each row's class
local function with_classes(x, target)
   if x.nd ~= 1 and x.nd ~= 2 or target.nd > 2 then return no 'neither a matrix nor a vector' end
   local e = numbers.of('scores', x)
   if not e then return nil end
   local rows, columns = rows_and_columns(x)
   local c = places_of('classes', target, rows, 1, columns)
   if not c then return nil end
   for i = 0, rows - 1 do c[i] = i * columns + c[i] - 1 end
   return e, c, rows, columns
end

-- Removes a row's class from its scores, so that it exceeds nothing. Returns the bound that the others must not exceed.
local function take(e, at, margin)
   local shortfall = margin - e[at]
   e[at] = -math.huge
   return shortfall
end

-- Sums, over the columns, the excess above the class's score minus the margin, or its square, times the class's weight.
function classes.multi_margin(x, target, weights, average, p, margin)
   local e, c, rows, columns = with_classes(x, target)
   local w = e and numbers.weights(weights, x.T, columns)
   if not w then return false end
   local sum, linear, square = 0, p == 1 and 1 or 0, p == 1 and 0 or 1
   margin = x.T.cast(margin) -- as in Torch7
   for i = 0, rows - 1 do
      local shortfall, weight = take(e, c[i], margin), w[c[i] - i * columns]
      for k = i * columns, (i + 1) * columns - 1 do
         local z = max(0, shortfall + e[k])
         sum = sum + z * (linear + square * z) * weight
      end
   end
   return true, average and sum / columns / rows or sum / columns
end

function classes.multi_margin_gradient(r, x, target, weights, average, p, margin)
   if not gates.typed(x.T, r) or not gates.apart(r, x, target, weights) then return false end
   local e, c, rows, columns = with_classes(x, target)
   local w = e and numbers.weights(weights, x.T, columns)
   if not w then return false end
   if not gates.resized_as(r, x) then return false end
   margin = x.T.cast(margin)
   local each = average and 1 / (rows * columns) or 1 / columns
   local linear, square, q = p == 1 and each or 0, p == 1 and 0 or 2 * each, r.S.p + r.off
   for i = 0, rows - 1 do
      local shortfall, sum, weight = take(e, c[i], margin), 0, w[c[i] - i * columns]
      for k = i * columns, (i + 1) * columns - 1 do
         local z = max(0, shortfall + e[k])
         local slope = (linear * gate(z) + square * z) * weight
         q[k], sum = slope, sum + slope
      end
      q[c[i]] = -sum
   end
   return true
end

-- The scores, and the classes of each row, whose list ends with 0.
local function with_lists(x, target)
   if x.nd ~= 1 and x.nd ~= 2 then return no 'neither a matrix nor a vector' end
   if not gates.same_size(x, target) then return nil end
   local e = numbers.of('scores', x)
   if not e then return nil end
   local rows, columns = rows_and_columns(x)
   local listed = places_of('classes', target, rows * columns, 0, columns)
   if listed then return e, listed, rows, columns, numbers.room('of_classes', columns) end
end

-- Removes a row's classes from its scores and writes their scores to `own`. Returns their number.
local function take_all(e, listed, own, first, columns)
   local n = 0
   while n < columns and listed[first + n] > 0 do
      own[n] = e[first + listed[first + n] - 1]
      n = n + 1
   end
   for j = 0, n - 1 do e[first + listed[first + j] - 1] = -math.huge end
   return n
end

function classes.multi_label_margin(x, target, _, average)
   local e, listed, rows, columns, own = with_lists(x, target)
   if not e then return false end
   local sum = 0
   for i = 0, rows - 1 do
      local first = i * columns
      for j = 0, take_all(e, listed, own, first, columns) - 1 do
         local shortfall = 1 - own[j]
         for k = first, first + columns - 1 do sum = sum + max(0, shortfall + e[k]) end
      end
   end
   return true, average and sum / columns / rows or sum / columns
end

function classes.multi_label_margin_gradient(r, x, target, _, average)
   if not gates.typed(x.T, r) or not gates.apart(r, x, target) then return false end
   local e, listed, rows, columns, own = with_lists(x, target)
   if not e then return false end
   local n, each = rows * columns, average and 1 / (rows * columns) or 1 / columns
   local g = numbers.room('gradients', n)
   ffi.fill(g, 8 * n)
   for i = 0, rows - 1 do
      local first = i * columns
      for j = 0, take_all(e, listed, own, first, columns) - 1 do
         local shortfall, exceeding = 1 - own[j], 0
         for k = first, first + columns - 1 do
            local one = gate(max(0, shortfall + e[k]))
            g[k], exceeding = g[k] + one, exceeding + one
         end
         local at = first + listed[first + j] - 1
         g[at] = g[at] - exceeding
      end
   end
   return gates.resized_as(r, x) and numbers.write(r, g, each)
end

return classes
