-- Bilinear products of two batches of few rows: a' W_k b for each output k.
--
-- W is viewed as a matrix with a row for each output and element of the first input, and a column for each element of
-- the second. The rest are products with it, by BLAS, and with the elements of the first input. Numbers that are not
-- finite are left to Python.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local blas = require 'torch.luajit.blas'
local luajit, no = require('torch.core.ways').of_kernels()
local gates = require 'nn.shared.luajit.gates'
local rooms = require 'nn.shared.luajit.scratch'

local bytes_at, room, in_one_piece = rooms.bytes_at, rooms.room, rooms.in_one_piece
local count, first_element = memory.count, memory.first_element

local MOST = 2 ^ 20 -- multiplications

-- The BLAS routines, if the batches and the weight (outputs x elements of a x elements of b) fit.
local function begin(a, b, weight)
   local T = weight.T
   if not gates.typed(T, weight, a, b) then return nil end
   if a.nd ~= 2 or b.nd ~= 2 or weight.nd ~= 3 or b[1] ~= a[1] or weight[3] ~= a[3] or weight[5] ~= b[3] then
      return no 'tensors of different sizes'
   end
   return gates.within(a[1] * count(weight), MOST, 'more than %d multiplications') and gates.plain(a, T)
      and gates.plain(b, T) and gates.plain(weight, T) and gates.finite(a) and gates.finite(b) and gates.routine(T)
end

local function is_gradient(grad_output, a, weight)
   if grad_output.nd ~= 2 or grad_output[1] ~= a[1] or grad_output[3] ~= weight[1] then
      return no 'tensors of different sizes'
   end
   return gates.plain(grad_output, weight.T) and gates.finite(grad_output)
end

-- W b for each row of the batch: for each output, one row after another.
local function weighted(routine, weight, b)
   local rows, n, second = b[1], weight[1] * weight[3], weight[5]
   local u = room('weighted', rows * n * weight.T.size)
   routine.multiply_transposed(u, 0, 1, bytes_at(b), bytes_at(weight), rows, second, n)
   return (ffi.cast(weight.T.pointer, u))
end

-- The products of the outputs' gradients and the elements of the first input, in the same order.
local function spread(a, grad_output)
   local T, rows, outputs, first = a.T, a[1], grad_output[3], a[3]
   local v = ffi.cast(T.pointer, room('spread', rows * outputs * first * T.size))
   local get, p, g, at = T.get, first_element(a), first_element(grad_output), 0
   for k = 0, rows * outputs - 1 do
      local slope, from = get(g, k), (k - k % outputs) / outputs * first
      for i = from, from + first - 1 do
         v[at] = slope * get(p, i)
         at = at + 1
      end
   end
   return v
end

function luajit.bilinear(out, a, b, weight, bias)
   a, b = in_one_piece(a), in_one_piece(b)
   local routine, T, rows, outputs, first = begin(a, b, weight), weight.T, a[1], weight[1], a[3]
   if not (routine and gates.typed(T, out) and gates.vector(bias, T, outputs) and gates.apart(out, a, b, weight)
      and (not bias or gates.apart(out, bias)) and gates.resized(out, 2, { rows, outputs })) then
      return false
   end
   local get, r, p, u, s, at = T.get, first_element(out), first_element(a), weighted(routine, weight, b), bias
      and first_element(bias), 0
   for k = 0, rows * outputs - 1 do
      local output = k % outputs
      local from, sum = (k - output) / outputs * first, 0
      for i = from, from + first - 1 do
         sum = sum + get(p, i) * get(u, at)
         at = at + 1
      end
      r[k] = s and sum + get(s, output) or sum
   end
   return true
end

function luajit.bilinear_grad_inputs(grad_a, grad_b, a, b, grad_output, weight)
   a, b, grad_output = in_one_piece(a), in_one_piece(b), in_one_piece(grad_output)
   local routine, T, rows, outputs, first, second = begin(a, b, weight), weight.T, a[1], weight[1], a[3], b[3]
   if not (routine and gates.typed(T, grad_a, grad_b) and is_gradient(grad_output, a, weight)
      and gates.apart(grad_a, a, b, weight)
      and gates.apart(grad_b, a, b, weight) and gates.apart(grad_a, grad_output, grad_b)
      and gates.apart(grad_b, grad_output) and gates.resized(grad_a, 2, { rows, first })
      and gates.resized(grad_b, 2, { rows, second })) then
      return false
   end
   local get, r, u, g, at = T.get, first_element(grad_a), weighted(routine, weight, b), first_element(grad_output), 0
   ffi.fill(r, rows * first * T.size)
   for k = 0, rows * outputs - 1 do
      local slope, to = get(g, k), (k - k % outputs) / outputs * first
      for i = to, to + first - 1 do
         r[i] = get(r, i) + slope * get(u, at)
         at = at + 1
      end
   end
   local n = outputs * first
   routine.multiply(bytes_at(grad_b), 0, 1, spread(a, grad_output), bytes_at(weight), rows, n, second)
   return true
end

-- scale: applies only to the bias's gradient
function luajit.bilinear_grad_parameters(grad_weight, grad_bias, a, b, grad_output, scale)
   a, b, grad_output = in_one_piece(a), in_one_piece(b), in_one_piece(grad_output)
   local routine, T, rows, outputs, second = begin(a, b, grad_weight), grad_weight.T, a[1], grad_weight[1], b[3]
   if not (routine and is_gradient(grad_output, a, grad_weight) and gates.vector(grad_bias, T, outputs)
      and gates.apart(grad_weight, a, b, grad_output)
      and (not grad_bias or gates.apart(grad_bias, grad_output) and gates.lies_apart(grad_bias, grad_weight))) then
      return false
   end
   local n = outputs * a[3]
   routine.transpose_and_multiply(bytes_at(grad_weight), 1, 1, spread(a, grad_output), bytes_at(b), n, rows, second)
   if grad_bias then
      blas.add_columns(routine, bytes_at(grad_bias), scale, bytes_at(grad_output), rows, outputs, blas.ones(T, rows))
   end
   return true
end
