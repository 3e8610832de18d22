-- Convolutions of short sequences, (batch x) frames x features. A window of frames lies in one piece: windows are
-- copied as rows, and all of them are one product.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local apart = require 'torch.core.overlap'
local few = require 'torch.luajit.elementwise'
local blas = require 'torch.luajit.blas'
local ways = require 'torch.core.ways'
local rooms = require 'nn.shared.luajit.scratch'
local sequences_of = require 'nn.shared.luajit.sequences'

local luajit = ways.luajit
local count = memory.count
local copy, fill = ffi.copy, ffi.fill
local sizes, windows_of = sequences_of.sizes, sequences_of.windows
local room, plain, is_apart, bytes_at = rooms.room, rooms.plain, apart.is_apart, rooms.bytes_at
local begin = rooms.begin

local MOST_NUMBERS = 2 ^ 18 -- of all windows

-- The windows of x for a convolution by `weight`, which fits; and the routines.
local function prepare(x, weight, span, step)
   local T = weight.T
   local windows = few.LIMIT > 0 and windows_of(x, span, step)
   if not windows or x.T ~= T or not plain(weight, T) or weight.nd ~= 2 then return nil end
   local sequences, _, features = sizes(x)
   if weight[3] ~= span * features or sequences * windows * (weight[3] + weight[1]) > MOST_NUMBERS then return nil end
   local routine = blas.of_rows(T)
   if routine then return windows, routine end
end

-- Whether the windows lie in sequences of so many frames as rows one after the other.
local function are_rows(windows, span, step, frames)
   return windows * span == frames and (windows == 1 or span == step)
end

-- The windows of x as rows: they may be x itself.
local function rows_of(x, windows, span, step)
   local T, p = x.T, bytes_at(x)
   local sequences, frames, features = sizes(x)
   if are_rows(windows, span, step, frames) then return p end
   local rows = room('columns', sequences * windows * span * features * T.size)
   local bytes, hop, to = span * features * T.size, step * features * T.size, rows
   for s = 0, sequences - 1 do
      local from = p + s * frames * features * T.size
      for _ = 1, windows do
         copy(to, from, bytes)
         to, from = to + bytes, from + hop
      end
   end
   return rows
end

local function is_sized(t, x, frames, features)
   local n, rows, columns = sizes(t)
   return t.nd == x.nd and n == sizes(x) and rows == frames and columns == features
end

local function output(out, x, weight, bias, span, step)
   local T = weight.T
   local windows, routine = prepare(x, weight, span, step)
   if not windows or not plain(x, T) or out.T ~= T or not is_apart(out, x, weight, bias) then return false end
   local outputs = weight[1]
   if bias and not (plain(bias, T) and bias.nd == 1 and bias[1] == outputs) or not begin(out, x, windows, outputs) then
      return false
   end
   local length, n = weight[3], sizes(x) * windows
   local p = bytes_at(out)
   if bias then
      local from, bytes = bytes_at(bias), outputs * T.size
      for k = 0, n - 1 do copy(p + k * bytes, from, bytes) end
   end
   blas.multiply(routine, p, outputs, bias and 1 or 0, 1, rows_of(x, windows, span, step), 'n', length,
      bytes_at(weight), 't', length,
      n, length, outputs)
   return true
end

local function grad_input(grad, x, grad_output, weight, _, span, step)
   local T = weight.T
   local windows, routine = prepare(x, weight, span, step)
   if not windows or grad.T ~= T or not plain(grad_output, T) or not is_apart(grad, x, grad_output, weight) then
      return false
   end
   local outputs, length = weight[1], weight[3]
   local sequences, frames, features = sizes(x)
   if not is_sized(grad_output, x, windows, outputs) or not begin(grad, x, frames, features) then return false end
   local n, size = sequences * windows, T.size
   local p = bytes_at(grad)
   local whole = are_rows(windows, span, step, frames)
   local rows = whole and p or room('columns', n * length * size)
   blas.multiply(routine, rows, length, 0, 1, bytes_at(grad_output), 'n', outputs, bytes_at(weight), 'n', length, n,
      outputs, length)
   if whole then return true end
   fill(p, count(grad) * size)
   local bytes, hop = length * size, step * features * size
   for s = 0, sequences - 1 do
      local to = p + s * frames * features * size
      for _ = 1, windows do
         blas.add(routine, length, rows, to)
         rows, to = rows + bytes, to + hop
      end
   end
   return true
end

local function grad_parameters(grad_weight, grad_bias, x, grad_output, _, _, scale, span, step)
   local T = grad_weight.T
   local windows, routine = prepare(x, grad_weight, span, step)
   if not windows or not plain(x, T) or not plain(grad_output, T) or not is_apart(grad_weight, x, grad_output) then
      return false
   end
   local outputs, length = grad_weight[1], grad_weight[3]
   if not is_sized(grad_output, x, windows, outputs) then return false end
   if grad_bias and not (plain(grad_bias, T) and grad_bias.nd == 1 and grad_bias[1] == outputs
      and is_apart(grad_bias, x, grad_output)) then
      return false
   end
   local n, gradient = sizes(x) * windows, bytes_at(grad_output)
   blas.multiply(routine, bytes_at(grad_weight), length, 1, scale, gradient, 't', outputs,
      rows_of(x, windows, span, step), 'n', length,
      outputs, n, length)
   if grad_bias then
      blas.add_sums(routine, bytes_at(grad_bias), scale, gradient, outputs, 1, n, outputs, rooms.ones(T, n))
   end
   return true
end

luajit.temporal_convolution, luajit.temporal_convolution_grad_input = output, grad_input
luajit.temporal_convolution_grad_parameters = grad_parameters
