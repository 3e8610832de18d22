-- Products of two batches of few rows with a weight for each pair of their elements: a' W_k b for
-- each output k.
--
-- W is seen as a matrix with a row for each output and element of the first input, and a column for each element of the
-- second. The rest are products with it, of the BLAS, and with the elements of the first input. What is not finite is
-- Python's.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local few = require 'torch.luajit.elementwise'
local blas = require 'torch.luajit.blas'
local is_apart = require('torch.core.overlap').is_apart
local ways = require 'torch.core.ways'
local rooms = require 'nn.shared.luajit.scratch'

local luajit = ways.luajit
local plain, bytes_at, room, in_one_piece = rooms.plain, rooms.bytes_at, rooms.room, rooms.in_one_piece

local MOST = 2 ^ 20 -- multiplications

-- The sizes at hand: rows of the batches, their elements and outputs; and the routines of the BLAS.
local rows, first, second, outputs, routine

-- Sets them; whether all is for LuaJIT.
local function set(a, b, weight)
   local T = weight.T
   if few.LIMIT == 0 or not T.real or not T.here or a.nd ~= 2 or b.nd ~= 2 or weight.nd ~= 3 then return false end
   rows, first, second, outputs = a[1], a[3], b[3], weight[1]
   if b[1] ~= rows or weight[3] ~= first or weight[5] ~= second or rows * outputs * first * second > MOST then
      return false
   end
   if not (plain(a, T) and plain(b, T) and plain(weight, T)) then return false end
   routine = blas.of_rows(T)
   return routine and blas.all_finite(routine, T, rows * first, bytes_at(a))
      and blas.all_finite(routine, T, rows * second, bytes_at(b))
end

local function is_gradient(t, T)
   return plain(t, T) and t.nd == 2 and t[1] == rows and t[3] == outputs
      and blas.all_finite(routine, T, rows * outputs, bytes_at(t))
end
local function is_bias(t, T) return not t or plain(t, T) and t.nd == 1 and t[1] == outputs end

local function begin(r, T, n, m)
   if r.T ~= T then return false end
   if r.nd ~= 2 or r[1] ~= n or r[3] ~= m then memory.resize(r, 2, { n, m }) end
   return memory.is_contiguous(r)
end

-- W b for each row of the batch: one row after the other, in each output after output.
local function weighted(weight, b)
   local n = outputs * first
   local u = room('weighted', rows * n * weight.T.size)
   blas.multiply(routine, u, n, 0, 1, bytes_at(b), 'n', second, bytes_at(weight), 't', second, rows, second, n)
   return (ffi.cast(weight.T.pointer, u))
end

-- The products of the outputs' gradients and the elements of the first input, in the same order.
local function spread(T, a, grad_output)
   local v = ffi.cast(T.pointer, room('spread', rows * outputs * first * T.size))
   local get, p, g, at = T.get, memory.first_element(a), memory.first_element(grad_output), 0
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
   local T = weight.T
   if not set(a, b, weight) or not is_bias(bias, T) or not is_apart(out, a, b, weight) or bias
      and not is_apart(out, bias) then
      return false
   end
   if not begin(out, T, rows, outputs) then return false end
   local get, r, p, u, s, at = T.get, memory.first_element(out), memory.first_element(a), weighted(weight, b), bias
      and memory.first_element(bias), 0
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
   local T = weight.T
   if not set(a, b, weight) or not is_gradient(grad_output, T) or not is_apart(grad_a, a, b, weight) then
      return false
   end
   if not is_apart(grad_b, a, b, weight) or not is_apart(grad_a, grad_output, grad_b)
      or not is_apart(grad_b, grad_output) then
      return false
   end
   if not begin(grad_a, T, rows, first) or not begin(grad_b, T, rows, second) then return false end
   local get, r, u, g, at = T.get, memory.first_element(grad_a), weighted(weight, b), memory.first_element(grad_output),
      0
   ffi.fill(r, rows * first * T.size)
   for k = 0, rows * outputs - 1 do
      local slope, to = get(g, k), (k - k % outputs) / outputs * first
      for i = to, to + first - 1 do
         r[i] = get(r, i) + slope * get(u, at)
         at = at + 1
      end
   end
   local n = outputs * first
   blas.multiply(routine, bytes_at(grad_b), second, 0, 1, spread(T, a, grad_output), 'n', n, bytes_at(weight), 'n',
      second, rows, n, second)
   return true
end

-- scale: of the bias's gradient alone
function luajit.bilinear_grad_parameters(grad_weight, grad_bias, a, b, grad_output, scale)
   a, b, grad_output = in_one_piece(a), in_one_piece(b), in_one_piece(grad_output)
   local T = grad_weight.T
   if not set(a, b, grad_weight) or not is_gradient(grad_output, T) or not is_bias(grad_bias, T) then return false end
   if not is_apart(grad_weight, a, b, grad_output) or grad_bias
      and not is_apart(grad_bias, grad_output, grad_weight) then
      return false
   end
   local n = outputs * first
   blas.multiply(routine, bytes_at(grad_weight), second, 1, 1, spread(T, a, grad_output), 't', n, bytes_at(b), 'n',
      second, n, rows, second)
   if grad_bias then
      blas.add_sums(routine, bytes_at(grad_bias), scale, bytes_at(grad_output), outputs, 1, rows, outputs,
         rooms.ones(T, rows))
   end
   return true
end
