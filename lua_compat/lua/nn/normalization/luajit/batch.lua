-- Batch normalization of few elements, computed here, of numbers all of which are finite.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local apart = require 'torch.core.overlap'
local few = require 'torch.luajit.elementwise'
local blas = require 'torch.luajit.blas'
local ways = require 'torch.core.ways'
local rooms = require 'nn.shared.luajit.scratch'

local luajit = ways.luajit
local count, is_contiguous, same_size, resize_as = memory.count, memory.is_contiguous, memory.same_size,
   memory.resize_as
local floor, sqrt = math.floor, math.sqrt
local plain, is_apart, bytes_at, room = rooms.plain, apart.is_apart, rooms.bytes_at, rooms.room
local doubles = ffi.typeof 'double *'

local MOST = 2 ^ 14 -- elements; PyTorch computes with several at once

-- Examples, planes and elements of a plane in each; nil for what is none.
local function sizes(x)
   if x.nd < 2 then return nil end
   local pixels = 1
   for d = 5, 2 * x.nd - 1, 2 do pixels = pixels * x[d] end
   return x[1], x[3], pixels
end

local function is_vector(t, T, n) return plain(t, T) and t.nd == 1 and t[1] == n end

-- The routines, where x has few elements, in one piece, none of them infinite; nil otherwise.
local function prepare(x)
   local T, n = x.T, count(x)
   if few.LIMIT == 0 or not T.real or n == 0 or n > MOST or x.nd < 2 or not plain(x, T) then return nil end
   local routine = blas.of_rows(T)
   return routine and blas.all_finite(routine, T, n, bytes_at(x)) and routine
end

-- The elements of a plane: of each example, neighbours (first, first + 1 ...), or one by one, if it has only one in
-- each.
local function runs(examples, planes, pixels)
   if pixels == 1 then return 1, examples, planes, 0 end -- so many runs of so many, steps within, steps between runs
   return examples, pixels, 1, planes * pixels
end

-- The sum over a plane. Two sums, of neighbouring halves, do not wait for each other; LuaJIT wants whole numbers to
-- count by.
local function sum(q, first, several, n, step, between)
   local a, b, half = 0, 0, floor(n / 2) * step
   for _ = 1, several do
      for at = first, first + half - 1, step do a, b = a + q[at], b + q[at + half] end
      if n % 2 == 1 then a = a + q[first + 2 * half] end
      first = first + between
   end
   return a + b
end

-- That of the squares of the differences from the mean.
local function squares(q, first, several, n, step, between, mean)
   local a, b, half = 0, 0, floor(n / 2) * step
   for _ = 1, several do
      for at = first, first + half - 1, step do
         local c, d = q[at] - mean, q[at + half] - mean
         a, b = a + c * c, b + d * d
      end
      if n % 2 == 1 then a = a + (q[first + 2 * half] - mean) ^ 2 end
      first = first + between
   end
   return a + b
end

-- That of the products of the differences and the gradients at u.
local function products(u, q, first, several, n, step, between, mean)
   local a, b, half = 0, 0, floor(n / 2) * step
   for _ = 1, several do
      for at = first, first + half - 1, step do
         a, b = a + u[at] * (q[at] - mean), b + u[at + half] * (q[at + half] - mean)
      end
      if n % 2 == 1 then a = a + u[first + 2 * half] * (q[first + 2 * half] - mean) end
      first = first + between
   end
   return a + b
end

local function scale_and_shift(p, q, first, several, n, step, between, factor, shift)
   for _ = 1, several do
      for at = first, first + n * step - 1, step do p[at] = q[at] * factor + shift end
      first = first + between
   end
end

local function combine(p, u, q, first, several, n, step, between, factor, slope, shift)
   for _ = 1, several do
      for at = first, first + n * step - 1, step do p[at] = u[at] * factor + q[at] * slope + shift end
      first = first + between
   end
end

local function number(t, k) return t.T.get(t.S.p, t.off + k) end
local function set(t, k, v) t.S.p[t.off + k] = v end

local huge = math.huge
local LARGEST_FLOAT = 2 ^ 128 - 2 ^ 104

local function normalize(out, x, weight, bias, running_mean, running_var, save_mean, save_std, train, momentum, eps)
   if not prepare(x) then return false end
   local T, examples, planes, pixels = x.T, sizes(x)
   for _, t in ipairs{ running_mean, running_var, save_mean, save_std } do
      if not is_vector(t, T, planes) then return false end
   end
   if weight and not is_vector(weight, T, planes) or bias and not is_vector(bias, T, planes) then return false end
   if out.T ~= T or not is_apart(out, x, weight, bias) or not is_apart(out, running_mean, running_var) then
      return false
   end
   if train and not is_apart(out, save_mean, save_std) then return false end
   local total = examples * pixels
   if train and total < 2 then return false end
   resize_as(out, x)
   if not is_contiguous(out) then return false end
   local p, q = out.S.p + out.off, x.S.p + x.off
   local several, n, step, between = runs(examples, planes, pixels)
   -- The running statistics are moved last: what the kernel computes after all begins with those before.
   local means = ffi.cast(doubles, room('means', 16 * planes))
   local all_squares = means + planes
   for c = 0, planes - 1 do
      local first, mean, inverse = c * pixels, nil, nil
      if train then
         mean = T.cast(sum(q, first, several, n, step, between)) / total
         local sum_of_squares = squares(q, first, several, n, step, between, mean)
         -- A square is of the tensor's type: the kernel looks which of them overflow.
         if sum_of_squares > LARGEST_FLOAT and sum_of_squares < huge and T.size == 4 then return false end
         inverse = 1 / sqrt(sum_of_squares / total + eps)
         means[c], all_squares[c] = mean, sum_of_squares
         set(save_mean, c, mean)
         set(save_std, c, inverse)
      else
         mean, inverse = number(running_mean, c), 1 / sqrt(number(running_var, c) + eps)
      end
      local factor = weight and inverse * number(weight, c) or inverse
      scale_and_shift(p, q, first, several, n, step, between, factor, (bias and number(bias, c) or 0) - mean * factor)
   end
   for c = 0, train and planes - 1 or -1 do
      set(running_mean, c, momentum * means[c] + (1 - momentum) * number(running_mean, c))
      set(running_var, c, momentum * all_squares[c] / (total - 1) + (1 - momentum) * number(running_var, c))
   end
   return true
end

local function gradients(grad_input, grad_weight, grad_bias, x, grad_output, weight, running_mean, running_var,
   save_mean, save_std, train,
                         scale, eps)
   if not prepare(x) or not same_size(x, grad_output) or grad_output.T ~= x.T or not prepare(grad_output) then
      return false
   end
   local T, examples, planes, pixels = x.T, sizes(x)
   for _, t in ipairs{ running_mean, running_var, save_mean, save_std } do
      if not is_vector(t, T, planes) then return false end
   end
   for k = 1, 3 do
      local t = k == 1 and weight or k == 2 and grad_weight or k == 3 and grad_bias
      if t and not (is_vector(t, T, planes) and is_apart(t, x, grad_output)) then return false end
   end
   if grad_input then
      if not plain(grad_input, T) or not same_size(grad_input, x)
         or not is_apart(grad_input, x, grad_output, weight) then
         return false
      end
      if not is_apart(grad_input, running_mean, running_var) or not is_apart(grad_input, save_mean, save_std) then
         return false
      end
   end
   for k = 1, 2 do
      local t = k == 1 and grad_weight or k == 2 and grad_bias
      if t and not (is_apart(t, running_mean, running_var, weight) and is_apart(t, save_mean, save_std)) then
         return false
      end
   end
   local q, u, total = x.S.p + x.off, grad_output.S.p + grad_output.off, examples * pixels
   local p = grad_input and grad_input.S.p + grad_input.off
   local several, n, step, between = runs(examples, planes, pixels)
   for c = 0, planes - 1 do
      local first = c * pixels
      local mean = number(train and save_mean or running_mean, c)
      local inverse = train and number(save_std, c) or 1 / sqrt(number(running_var, c) + eps)
      local of_output, of_products = 0, 0
      if train or grad_weight or grad_bias then
         of_output = sum(u, first, several, n, step, between)
         of_products = products(u, q, first, several, n, step, between, mean)
      end
      if p then
         local factor = weight and inverse * number(weight, c) or inverse
         if train then
            local slope = of_products * inverse * inverse / total
            combine(p, u, q, first, several, n, step, between, factor, -slope * factor,
               (mean * slope - of_output / total) * factor)
         else
            scale_and_shift(p, u, first, several, n, step, between, factor, 0)
         end
      end
      if grad_weight then set(grad_weight, c, number(grad_weight, c) + T.cast(scale * of_products * inverse)) end
      if grad_bias then set(grad_bias, c, number(grad_bias, c) + T.cast(scale * of_output)) end
   end
   return true
end

luajit.batch_normalization, luajit.batch_normalization_gradients = normalize, gradients
