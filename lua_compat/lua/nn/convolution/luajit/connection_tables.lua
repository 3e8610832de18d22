-- Convolutions of small images with a connection table, in LuaJIT: as dense ones (nn/convolution/luajit/products.lua)
-- whose weights are zero between unconnected planes.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local blas = require 'torch.luajit.blas'
local luajit, no = require('torch.core.ways').of_kernels()
local gates = require 'nn.shared.luajit.gates'
local rooms = require 'nn.shared.luajit.scratch'
local convolution = require 'nn.convolution.luajit.products'

local bytes_at = rooms.bytes_at

local MOST = 2 ^ 14 -- weights, including the zeros

local MOST_CONNECTIONS = 2 ^ 10
local places = ffi.new('int32_t[?]', MOST_CONNECTIONS) -- by connection: the index of its weight

-- Fills `places` for these numbers of planes. Returns whether the table is a list of pairs of planes that exist.
-- transposed: inputs come first.
local function read(table, inputs, outputs, transposed)
   if table.nd ~= 2 or table[3] ~= 2 then return no 'a table that is not a list of pairs' end
   if not (gates.few(table[1], MOST_CONNECTIONS) and gates.typed(table.T, table) and gates.plain(table, table.T)) then
      return false
   end
   local get, p = table.T.get, table.S.p + table.off
   for k = 0, table[1] - 1 do
      local from, to = get(p, 2 * k) - 1, get(p, 2 * k + 1) - 1
      if not (from >= 0 and from < inputs and from % 1 == 0 and to >= 0 and to < outputs and to % 1 == 0) then
         return no 'a plane that does not exist'
      end
      places[k] = transposed and from * outputs + to or to * inputs + from
   end
   return true
end

-- The weight of a dense convolution, and the routines; nil if Python has to compute. multiplied: whether the input is
-- multiplied by the zeros between unconnected planes, so that it must be finite.
local function densified(multiplied, x, weight, bias, table, full, is_filled)
   local T, outputs = weight.T, bias[1]
   if weight.nd ~= 3 or bias.nd ~= 1 or weight[1] ~= table[1] then return no 'parameters of other sizes' end
   if not (gates.planes(x, 2) and gates.typed(T, x, bias) and gates.plain(weight, T) and gates.finite(multiplied)) then
      return nil
   end
   local inputs = x[2 * x.nd - 5]
   if not gates.few(inputs * outputs * weight[3] * weight[5], MOST) or not read(table, inputs, outputs, full) then
      return nil
   end
   local routine, dense, taps = blas.of_rows(T), memory.temporary(T), weight[3] * weight[5]
   memory.resize(dense, 4, { full and inputs or outputs, full and outputs or inputs, weight[3], weight[5] })
   ffi.fill(bytes_at(dense), inputs * outputs * taps * T.size)
   if is_filled then
      local to, from, bytes = bytes_at(dense), bytes_at(weight), taps * T.size
      for k = 0, weight[1] - 1 do blas.add(routine, taps, from + k * bytes, to + places[k] * bytes) end
   end
   return dense, routine
end

local function kind(full) return full and 'transposed' or 'plain' end

function luajit.mapped_convolution(out, x, weight, bias, table, dw, dh, full)
   local dense = densified(x, x, weight, bias, table, full, true)
   return dense and convolution.output(out, x, dense, bias, kind(full), dw, dh, 0, 0)
end

function luajit.mapped_convolution_grad_input(grad, x, grad_output, weight, bias, table, dw, dh, full)
   local dense = densified(grad_output, x, weight, bias, table, full, true)
   return dense and convolution.grad_input(grad, x, grad_output, dense, bias, kind(full), dw, dh, 0, 0)
end

function luajit.mapped_convolution_grad_parameters(grad_weight, grad_bias, x, grad_output, weight, bias, table, dw, dh,
   full, scale)
   local dense, routine = densified(x, x, weight, bias, table, full)
   if not dense or not gates.same_size(weight, grad_weight) or not gates.plain(grad_weight, weight.T) then
      return false
   end
   if not convolution.grad_parameters(dense, grad_bias, x, grad_output, dense, bias, scale, kind(full), dw, dh,
      0, 0) then
      return false
   end
   local taps = weight[3] * weight[5]
   local to, from, bytes = bytes_at(grad_weight), bytes_at(dense), taps * weight.T.size
   for k = 0, weight[1] - 1 do blas.add(routine, taps, from + places[k] * bytes, to + k * bytes) end
   return true
end
