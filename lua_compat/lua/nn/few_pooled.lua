-- Gradients of max-pooling for few elements, computed here, as nn/few.lua says.
local math = require('th.own').math
local types = require 'torch.types'
local memory = require 'torch.memory'
local is_apart = require('torch.apart').is_apart
local few = require 'torch.few'
local blas = require 'torch.blas'
local kernels = require 'torch.kernels'

local count, is_contiguous, same_size, resize_as = memory.count, memory.is_contiguous, memory.same_size, memory.resize_as
local floor, ceil, tonumber, place = math.floor, math.ceil, tonumber, few.place

local MOST = 4 -- times few.LIMIT elements: a new gradient and places cost PyTorch several operators

-- Whether places are whole numbers and gradients few, all of them one after the other and apart from the result.
local function plain(gradient, x, grad_output, indices)
   local T = x.T
   if not T.real or grad_output.T ~= T or gradient.T ~= T or indices.T.host ~= types.Long then return false end
   if not is_apart(gradient, x, grad_output, indices) then return false end
   local n = count(grad_output)
   return n > 0 and count(x) <= MOST * few.LIMIT and n <= MOST * few.LIMIT and same_size(grad_output, indices)
      and is_contiguous(grad_output) and is_contiguous(indices)
end

-- Whether n windows fit a dimension as the layer counts them, none of them outside.
local function fits(n, size, span, step, padding, dilation, round)
   local reach = dilation * (span - 1) + 1
   return padding < reach and (n - 1) * step < size + padding and n == round((size + 2 * padding - reach) / step) + 1
end

local function begin(gradient, x)
   resize_as(gradient, x)
   return few.zero(gradient, count(gradient))
end

-- Adds n gradients at q to the pixels at p that they belong to. All windows of all planes are one loop: LuaJIT enters one anew each
-- time, which costs as much as many windows. False for a place outside: Python begins anew, and raises the error.
local function add_plainly(p, q, places, n, windows, pixels)
   local first, left = -1, windows
   for k = 0, n - 1 do
      if left == 0 then first, left = first + pixels, windows end
      left = left - 1
      local at = tonumber(places[k])
      if not (at >= 1 and at <= pixels) then return false end
      at = first + at
      p[at] = p[at] + q[k]
   end
   return true
end

-- The same of numbers that are not all finite.
local function add_one_by_one(p, q, places, n, windows, pixels, get)
   for plane = 0, n / windows - 1 do
      local first = plane * pixels - 1
      for k = plane * windows, (plane + 1) * windows - 1 do
         local at = tonumber(places[k])
         if not (at >= 1 and at <= pixels) then return false end
         at = first + at
         p[at] = get(p, at) + get(q, k)
      end
   end
   return true
end

local function of_images(gradient, x, grad_output, indices, kw, kh, dw, dh, pw, ph, by_ceil, lw, lh)
   local nd = x.nd
   if (nd ~= 3 and nd ~= 4) or grad_output.nd ~= nd or not plain(gradient, x, grad_output, indices) then return false end
   local height, width, rows, columns = x[2 * nd - 3], x[2 * nd - 1], grad_output[2 * nd - 3], grad_output[2 * nd - 1]
   local round = by_ceil and ceil or floor
   if not (fits(rows, height, kh, dh, ph, lh or 1, round) and fits(columns, width, kw, dw, pw, lw or 1, round)) then return false end
   for d = 1, 2 * nd - 5, 2 do
      if x[d] ~= grad_output[d] then return false end
   end
   local pixels, windows, n = height * width, rows * columns, count(grad_output)
   local q, places, get = grad_output.S.p + grad_output.off, indices.S.p + indices.off, x.T.get
   if not begin(gradient, x) then return false end
   local p = gradient.S.p + gradient.off
   local add = blas.reads_plainly(grad_output) and add_plainly or add_one_by_one
   return add(p, q, places, n, windows, pixels, get)
end

-- Places count from 0 within each window.
local function of_sequences(gradient, x, grad_output, indices, span, step)
   local nd = x.nd
   if (nd ~= 2 and nd ~= 3) or grad_output.nd ~= nd or not plain(gradient, x, grad_output, indices) then return false end
   local frames, features, windows = x[2 * nd - 3], x[2 * nd - 1], grad_output[2 * nd - 3]
   if grad_output[2 * nd - 1] ~= features or (windows - 1) * step + span > frames then return false end
   if span % 1 ~= 0 or step % 1 ~= 0 or nd == 3 and x[1] ~= grad_output[1] then return false end
   local n = count(grad_output)
   local q, places, get = grad_output.S.p + grad_output.off, indices.S.p + indices.off, x.T.get
   for k = 0, n - 1 do
      local at = tonumber(places[k])
      if not (at >= 0 and at < span) then return false end
   end
   if not begin(gradient, x) then return false end
   local p, per_sequence = gradient.S.p + gradient.off, windows * features
   for k = 0, n - 1 do
      local sequence = floor(k / per_sequence)
      local window, feature = floor(k % per_sequence / features), k % features
      local frame = window * step + place(places, k, span - 1, 0)
      local at = (sequence * frames + frame) * features + feature
      p[at] = get(p, at) + get(q, k)
   end
   return true
end

kernels.in_lua.spatial_max_pooling_grad_input = of_images
kernels.in_lua.temporal_max_pooling_grad_input = of_sequences
