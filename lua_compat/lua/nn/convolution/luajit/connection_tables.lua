-- Convolutions by a table of connections, of small images, computed here: as plain ones
-- (nn/convolution/luajit/products.lua) whose weights are zero where nothing is connected.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local few = require 'torch.luajit.elementwise'
local blas = require 'torch.luajit.blas'
local ways = require 'torch.core.ways'
local rooms = require 'nn.shared.luajit.scratch'

local luajit = ways.luajit
require 'nn.convolution.luajit.products'

local plain, bytes_at = rooms.plain, rooms.bytes_at

local MOST = 2 ^ 14 -- numbers of all weights, those that are zero, too

local MOST_CONNECTIONS = 2 ^ 10
local places = ffi.new('int32_t[?]', MOST_CONNECTIONS) -- of each connection: the weight that it is

-- The last input plane that is connected by a table in one piece; nil where that is for Python.
local function most_connected(table)
   if table.nd ~= 2 or table[3] ~= 2 or table[1] > MOST_CONNECTIONS or not table.T.real
      or not plain(table, table.T) then
      return nil
   end
   local get, p, most = table.T.get, table.S.p + table.off, 1
   for k = 0, table[1] - 1 do
      local from = get(p, 2 * k)
      if not (from >= 1 and from % 1 == 0 and from <= MOST) then return nil end
      if from > most then most = from end
   end
   return most
end

-- Fills them, for so many planes; whether all are connected with one. transposed: inputs come first
local function read(table, inputs, outputs, transposed)
   local get, p = table.T.get, table.S.p + table.off
   for k = 0, table[1] - 1 do
      local from, to = get(p, 2 * k) - 1, get(p, 2 * k + 1)
      if not (to >= 1 and to <= outputs and to % 1 == 0) then return false end
      places[k] = transposed and from * outputs + to - 1 or (to - 1) * inputs + from
   end
   return true
end

-- The weight of a plain convolution: zero.
local function dense_weight(T, first, second, kh, kw)
   local dense = memory.temporary(T)
   memory.resize(dense, 4, { first, second, kh, kw })
   ffi.fill(bytes_at(dense), first * second * kh * kw * T.size)
   return dense
end

-- How many planes of x, of which so many are connected at least, go to a convolution whose weights are for LuaJIT; nil
-- where there are none.
local function planes_of(x, inputs, weight, bias)
   local T, planes = weight.T, x[2 * x.nd - 5]
   if few.LIMIT == 0 or not inputs or x.nd ~= 3 and x.nd ~= 4 or planes < inputs or not T.real
      or not plain(weight, T) then
      return nil
   end
   return planes * bias[1] * weight[3] * weight[5] <= MOST and planes or nil
end

-- The weight of a plain convolution, and the routines; nil where it is for Python. multiplied: by the zeros between
-- planes that are not connected, so that it must be finite
local function densified(multiplied, x, weight, bias, table, full, is_filled)
   if weight.nd ~= 3 or bias.nd ~= 1 or weight[1] ~= table[1] or not blas.reads_plainly(multiplied, true) then
      return nil
   end
   local T, outputs = weight.T, bias[1]
   local routine = blas.of_rows(T)
   local connected = routine and most_connected(table)
   local inputs = connected and planes_of(x, connected, weight, bias)
   if not inputs or not read(table, inputs, outputs, full) then return nil end
   local dense = dense_weight(T, full and inputs or outputs, full and outputs or inputs, weight[3], weight[5])
   if is_filled then
      local taps = weight[3] * weight[5]
      local to, from, bytes = bytes_at(dense), bytes_at(weight), taps * T.size
      for k = 0, weight[1] - 1 do blas.add(routine, taps, from + k * bytes, to + places[k] * bytes) end
   end
   return dense, routine
end

local function kind(full) return full and 'transposed' or 'plain' end

function luajit.mapped_convolution(out, x, weight, bias, table, dw, dh, full)
   local dense = densified(x, x, weight, bias, table, full, true)
   return dense and luajit.convolution(out, x, dense, bias, kind(full), dw, dh, 0, 0) or false
end

function luajit.mapped_convolution_grad_input(grad, x, grad_output, weight, bias, table, dw, dh, full)
   local dense = densified(grad_output, x, weight, bias, table, full, true)
   return dense and luajit.convolution_grad_input(grad, x, grad_output, dense, bias, kind(full), dw, dh, 0, 0) or false
end

function luajit.mapped_convolution_grad_parameters(grad_weight, grad_bias, x, grad_output, weight, bias, table, dw, dh,
   full, scale)
   local dense, routine = densified(x, x, weight, bias, table, full)
   if not dense or not memory.same_size(weight, grad_weight) or not plain(grad_weight, weight.T) then return false end
   if not luajit.convolution_grad_parameters(dense, grad_bias, x, grad_output, dense, bias, scale, kind(full), dw, dh,
      0, 0) then
      return false
   end
   local taps = weight[3] * weight[5]
   local to, from, bytes = bytes_at(grad_weight), bytes_at(dense), taps * weight.T.size
   for k = 0, weight[1] - 1 do blas.add(routine, taps, from + places[k] * bytes, to + k * bytes) end
   return true
end
