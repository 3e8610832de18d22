-- Convolutions of short sequences, (batch x) frames x features. A window of frames is contiguous: windows are copied as
-- rows, and all are computed by one product.
local ffi = require 'ffi'
local blas = require 'torch.luajit.blas'
local luajit, no = require('torch.core.ways').of_kernels()
local gates = require 'nn.shared.luajit.gates'
local rooms = require 'nn.shared.luajit.scratch'
local lengths = require 'nn.shared.luajit.copy_rows'
local sequences_of = require 'nn.shared.luajit.sequences'

local sizes, windows_of = sequences_of.sizes, sequences_of.windows
local room, bytes_at = rooms.room, rooms.bytes_at

local MOST_NUMBERS = 2 ^ 18 -- in all windows

-- The windows of x for a convolution by `weight`, which must fit, and the routines.
local function prepare(x, weight, span, step)
   local T = weight.T
   if not gates.typed(T, x) or not gates.plain(weight, T) then return nil end
   local windows = windows_of(x, span, step)
   if not windows then return nil end
   local sequences, _, features = sizes(x)
   if weight.nd ~= 2 or weight[3] ~= span * features then return no 'a weight of other sizes' end
   if not gates.within(sequences * windows * (weight[3] + weight[1]), MOST_NUMBERS,
      'more than %d elements of windows') then
      return nil
   end
   local routine = gates.routine(T)
   if routine then return windows, routine end
end

-- Whether the windows are consecutive rows of sequences with this number of frames.
local function are_rows(windows, span, step, frames)
   return windows * span == frames and (windows == 1 or span == step)
end

-- The windows of x as rows, which may be x itself.
local function rows_of(x, windows, span, step)
   local T, p = x.T, bytes_at(x)
   local sequences, frames, features = sizes(x)
   if are_rows(windows, span, step, frames) then return p end
   local rows = room('columns', sequences * windows * span * features * T.size)
   local bytes, hop = span * features * T.size, step * features * T.size
   lengths.out_of_planes(bytes)(rows, p, sequences, windows, bytes, hop, frames * features * T.size - windows * hop,
      bytes)
   return rows
end

function luajit.temporal_convolution(out, x, weight, bias, span, step)
   local T = weight.T
   local windows, routine = prepare(x, weight, span, step)
   local outputs = weight[1]
   if not (windows and gates.apart(out, weight, bias) and gates.vector(bias, T, outputs)
      and gates.result(out, x, windows, outputs)) then
      return false
   end
   local length, n = weight[3], sizes(x) * windows
   local p = bytes_at(out)
   if bias then
      local from, bytes = bytes_at(bias), outputs * T.size
      for k = 0, n - 1 do ffi.copy(p + k * bytes, from, bytes) end
   end
   routine.multiply_transposed(p, bias and 1 or 0, 1, rows_of(x, windows, span, step), bytes_at(weight), n, length,
      outputs)
   return true
end

function luajit.temporal_convolution_grad_input(grad, x, grad_output, weight, _, span, step)
   local T = weight.T
   local windows, routine = prepare(x, weight, span, step)
   local outputs, length = weight[1], weight[3]
   local sequences, frames, features = sizes(x)
   if not (windows and gates.apart(grad, weight) and gates.gradient(grad, x, grad_output, windows, outputs)) then
      return false
   end
   local n, size = sequences * windows, T.size
   local p = bytes_at(grad)
   local whole = are_rows(windows, span, step, frames)
   local rows = whole and p or room('columns', n * length * size)
   routine.multiply(rows, 0, 1, bytes_at(grad_output), bytes_at(weight), n, outputs, length)
   if whole then return true end
   ffi.fill(p, sequences * frames * features * size)
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

function luajit.temporal_convolution_grad_parameters(grad_weight, grad_bias, x, grad_output, _, _, scale, span, step)
   local T = grad_weight.T
   local windows, routine = prepare(x, grad_weight, span, step)
   local outputs, length = grad_weight[1], grad_weight[3]
   if not (windows and gates.plain(x, T) and gates.plain(grad_output, T) and gates.apart(grad_weight, x, grad_output)
      and gates.sized(grad_output, x, windows, outputs) and gates.vector(grad_bias, T, outputs)
      and (not grad_bias or gates.apart(grad_bias, x, grad_output))) then
      return false
   end
   local n, gradient = sizes(x) * windows, bytes_at(grad_output)
   routine.transpose_and_multiply(bytes_at(grad_weight), 1, scale, gradient, rows_of(x, windows, span, step), outputs,
      n, length)
   if grad_bias then
      blas.add_columns(routine, bytes_at(grad_bias), scale, gradient, n, outputs, blas.ones(T, n))
   end
   return true
end
