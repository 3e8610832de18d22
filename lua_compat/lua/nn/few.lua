-- nn's kernels for few elements, computed here: what they compute, lua_compat/kernels/nn says. Each gets the kernel's
-- arguments, tensors as records, and returns whether it computed, and the result; whatever is unusual, and every error, is
-- left to the kernel.
local math = require('th.own').math
local memory = require 'torch.memory'
local few = require 'torch.few'
local kernels = require 'torch.kernels'

local count, is_contiguous, same_size, resize_as = memory.count, memory.is_contiguous, memory.same_size, memory.resize_as
local tonumber, place = tonumber, few.place

local MOST = 8 -- times few.LIMIT elements: several operators of PyTorch stand against one loop

-- Whether the n indices, a vector, are one of first to last, or `ignored`.
local function all_within(index, n, last, ignored)
   if index.nd ~= 1 or index[1] ~= n or index.T.name ~= 'Long' then return false end
   local p, step = index.S.p + index.off, index[2]
   for k = 0, n - 1 do
      local at = tonumber(p[k * step])
      if at ~= ignored and not (at >= 1 and at <= last) then return false end
   end
   return true
end

local function lookup_grad_weight(weight, index, gradient, padding, scale, by_frequency)
   local T = weight.T
   if by_frequency or weight.nd ~= 2 or index.nd ~= 1 or gradient.T ~= T or not T.floating or T.device then return false end
   local n, columns = index[1], weight[3]
   if n * columns > MOST * few.LIMIT or count(gradient) ~= n * columns or gradient.S == weight.S then return false end
   if not (is_contiguous(gradient) and is_contiguous(weight)) then return false end
   padding = padding >= 0 and math.floor(padding) or math.ceil(padding)
   if not all_within(index, n, weight[1], padding) then return false end
   local get, cast = T.get, T.cast
   local p, q, places, step = weight.S.p + weight.off, gradient.S.p + gradient.off, index.S.p + index.off, index[2]
   scale = cast(scale)
   for k = 0, n - 1 do
      if tonumber(places[k * step]) ~= padding then
         local to, from = (place(places, k * step, weight[1]) - 1) * columns, k * columns
         for j = 0, columns - 1 do p[to + j] = get(p, to + j) + cast(scale * get(q, from + j)) end
      end
   end
   return true
end

-- Rows and classes of log probabilities x, where weights and classes fit and all is in order; nil otherwise.
local function rows_and_classes(total, x, target, weights, ignored)
   local T = x.T
   if not few.small(x, count(x)) or x.nd < 1 or x.nd > 2 or total.T ~= T or total.nd ~= 1 or total[1] ~= 1 then return nil end
   local rows, classes = x.nd == 2 and x[1] or 1, x.nd == 2 and x[3] or x[1]
   if weights and not (weights.T == T and weights.nd == 1 and weights[1] == classes) then return nil end
   if not all_within(target, rows, classes, ignored) then return nil end
   return rows, classes
end

local function weight_of(weights, class) return weights and weights.T.get(weights.S.p, weights.off + (class - 1) * weights[2]) or 1 end

local function class_nll(total, x, target, weights, average, ignored)
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

local function class_nll_gradient(gradient, x, target, weights, total, average, ignored)
   if not rows_and_classes(total, x, target, weights, ignored) or gradient.T ~= x.T then return false end
   if gradient.S and (gradient.S == x.S or gradient.S == total.S or weights and gradient.S == weights.S) then return false end
   resize_as(gradient, x)
   local n = count(x)
   if not few.zero(gradient, n) then return false end
   local weight = total.T.get(total.S.p, total.off)
   if not (weight > 0) then return true end
   local rows, classes = x.nd == 2 and x[1] or 1, x.nd == 2 and x[3] or x[1]
   local p, set, places, step = gradient.S.p + gradient.off, x.T.set, target.S.p + target.off, target[2]
   for i = 0, rows - 1 do
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
}
local differentiate = { mse = few.pointwise('2 * (X - Y) / v'), absolute = few.pointwise('(X >= Y and 1 or -1) / v') }

local function elementwise_loss(x, target, name, average)
   local f = add_up[name]
   if not f or x.T ~= target.T or not same_size(x, target) then return false end
   local sum = f(x, target, 0)
   if not sum then return false end
   return true, average and sum / count(x) or sum
end

local function elementwise_loss_gradient(gradient, x, target, name, average)
   local f, n = differentiate[name], count(x)
   if not f or gradient.T ~= x.T or not few.small(x, n) or n == 0 or not same_size(x, target) then return false end
   if gradient.S and (gradient.S == x.S or gradient.S == target.S) then return false end
   resize_as(gradient, x)
   return f(gradient, x, target, average and n or 1, n)
end

-- Transfer functions of which Lua's result is the same but for the last bit; v: the one parameter.
local forward = {
   threshold = few.pointwise('X <= v and 0 or X'),
   square = few.pointwise('X * X'),
   sigmoid = few.pointwise('1 / (1 + exp(-X))', false, 'LIMIT_OF_FUNCTIONS'),
   tanh = few.pointwise('tanh(X)', false, 'LIMIT_OF_FUNCTIONS'),
}
local backward = {
   threshold = few.pointwise('X <= v and 0 or Y'),
   sigmoid = few.pointwise('Y * ((1 - X) * X)'),
   tanh = few.pointwise('Y * (1 - X * X)'),
   square = few.pointwise('2 * Y * X'),
}

local function transfer(out, x, name, limit, value)
   local f, n = forward[name], count(x)
   if not f or value and value ~= 0 or out.T ~= x.T or not few.small(x, n) or n == 0 then return false end
   resize_as(out, x)
   return f(out, x, x, limit, n)
end

local function transfer_gradient(gradient, x, grad_output, name, limit)
   local f, n = backward[name], count(x)
   if not f or gradient.T ~= x.T or not few.small(x, n) or n == 0 or not same_size(x, grad_output) then return false end
   resize_as(gradient, x)
   return f(gradient, x, grad_output, limit, n)
end

local in_lua = kernels.in_lua
in_lua.transfer, in_lua.transfer_gradient = transfer, transfer_gradient
in_lua.lookup_grad_weight = lookup_grad_weight
in_lua.class_nll, in_lua.class_nll_gradient = class_nll, class_nll_gradient
in_lua.elementwise_loss, in_lua.elementwise_loss_gradient = elementwise_loss, elementwise_loss_gradient
