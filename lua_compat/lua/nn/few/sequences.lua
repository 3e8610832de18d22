-- Convolutions of short sequences, (batch x) frames x features, and their maxima, computed here, as nn/few.lua says. A window
-- of frames lies in one piece: windows are copied as rows, and all of them are one product.
local math = require('th.own').math
local ffi = require 'ffi'
local types = require 'torch.types'
local memory = require 'torch.memory'
local apart = require 'torch.apart'
local few = require 'torch.few'
local blas = require 'torch.blas'
local kernels = require 'torch.kernels'
local rooms = require 'nn.few.rooms'

local count = memory.count
local floor, copy, fill, cast = math.floor, ffi.copy, ffi.fill, ffi.cast
local room, plain, is_apart, bytes_at = rooms.room, rooms.plain, apart.is_apart, rooms.bytes_at
local begin = rooms.begin

local MOST_NUMBERS = 2 ^ 18 -- of all windows

-- Sequences, frames, features.
local function sizes(t)
   if t.nd == 3 then return t[1], t[3], t[5] end
   return 1, t[1], t[3]
end

-- How many windows of `span` frames, `step` apart, each sequence of x has; nil where something is unusual.
local function windows_of(x, span, step)
   if x.nd ~= 2 and x.nd ~= 3 or not (span >= 1 and step >= 1) or span % 1 ~= 0 or step % 1 ~= 0 then return nil end
   local _, frames = sizes(x)
   if frames < span then return nil end
   return floor((frames - span) / step) + 1
end

-- The same for a convolution by `weight`, which fits; and the routines.
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
local function are_rows(windows, span, step, frames) return windows * span == frames and (windows == 1 or span == step) end

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
   if bias and not (plain(bias, T) and bias.nd == 1 and bias[1] == outputs) or not begin(out, x, windows, outputs) then return false end
   local length, n = weight[3], sizes(x) * windows
   local p = bytes_at(out)
   if bias then
      local from, bytes = bytes_at(bias), outputs * T.size
      for k = 0, n - 1 do copy(p + k * bytes, from, bytes) end
   end
   blas.multiply(routine, p, outputs, bias and 1 or 0, 1, rows_of(x, windows, span, step), 'n', length, bytes_at(weight), 't', length,
      n, length, outputs)
   return true
end

local function grad_input(grad, x, grad_output, weight, _, span, step)
   local T = weight.T
   local windows, routine = prepare(x, weight, span, step)
   if not windows or grad.T ~= T or not plain(grad_output, T) or not is_apart(grad, x, grad_output, weight) then return false end
   local outputs, length = weight[1], weight[3]
   local sequences, frames, features = sizes(x)
   if not is_sized(grad_output, x, windows, outputs) or not begin(grad, x, frames, features) then return false end
   local n, size = sequences * windows, T.size
   local p = bytes_at(grad)
   local whole = are_rows(windows, span, step, frames)
   local rows = whole and p or room('columns', n * length * size)
   blas.multiply(routine, rows, length, 0, 1, bytes_at(grad_output), 'n', outputs, bytes_at(weight), 'n', length, n, outputs, length)
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
   if not windows or not plain(x, T) or not plain(grad_output, T) or not is_apart(grad_weight, x, grad_output) then return false end
   local outputs, length = grad_weight[1], grad_weight[3]
   if not is_sized(grad_output, x, windows, outputs) then return false end
   if grad_bias and not (plain(grad_bias, T) and grad_bias.nd == 1 and grad_bias[1] == outputs and is_apart(grad_bias, x, grad_output)) then
      return false
   end
   local n, gradient = sizes(x) * windows, bytes_at(grad_output)
   blas.multiply(routine, bytes_at(grad_weight), length, 1, scale, gradient, 't', outputs, rows_of(x, windows, span, step), 'n', length,
      outputs, n, length)
   if grad_bias then
      blas.add_sums(routine, bytes_at(grad_bias), scale, gradient, outputs, 1, n, outputs, rooms.ones(T, n))
   end
   return true
end

-- Maxima of windows of frames, and where they are in their windows, from 0: the first of several, the first NaN.
local function maxima(out, places, x, span, step)
   local T = x.T
   local windows = windows_of(x, span, step)
   if not windows or not T.real or out.T ~= T or places.T.host ~= types.Long or not plain(x, T) or not is_apart(out, x) then return false end
   local sequences, frames, features = sizes(x)
   if sequences * windows * span * features > 4 * few.LIMIT then return false end
   if not begin(out, x, windows, features) or not begin(places, x, windows, features) then return false end
   local p, q, at, get = out.S.p + out.off, x.S.p + x.off, places.S.p + places.off, T.get
   local to = 0
   for s = 0, sequences - 1 do
      for w = 0, windows - 1 do
         local from = (s * frames + w * step) * features
         for f = 0, features - 1 do
            local best, place, first = get(q, from + f), 0, from + f
            for k = 1, span - 1 do
               local value = get(q, first + k * features)
               if best == best and not (value <= best) then best, place = value, k end
            end
            p[to], at[to] = best, place
            to = to + 1
         end
      end
   end
   return true
end

local in_lua = kernels.in_lua
in_lua.temporal_convolution, in_lua.temporal_convolution_grad_input = output, grad_input
in_lua.temporal_convolution_grad_parameters, in_lua.temporal_max_pooling = grad_parameters, maxima
