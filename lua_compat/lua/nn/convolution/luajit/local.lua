-- Convolutions with weights of its own at each place of few elements: a window's elements lie at
-- fixed distances from its first in the images with their border, and each place and output has a row of weights for
-- them.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local is_apart = require('torch.core.overlap').is_apart
local ways = require 'torch.core.ways'
local numbers = require 'nn.shared.luajit.as_doubles'

local luajit = ways.luajit
local count, is_contiguous, resize, resize_as = memory.count, memory.is_contiguous, memory.resize, memory.resize_as
local floor, fill, room = math.floor, ffi.fill, numbers.room

local MOST = 2 ^ 17 -- multiplications

-- Sizes, and the room of distances; nil where that is for Python.
local function prepare(x, weight, bias, kw, kh, dw, dh, pw, ph)
   local nd = x.nd
   if nd ~= 3 and nd ~= 4 or weight.T ~= x.T or not x.T.real or not is_contiguous(weight) then return nil end
   if not numbers.are_whole(kw, kh, dw, dh, pw, ph) or kw < 1 or kh < 1 or dw < 1 or dh < 1 or pw < 0 or ph < 0 then
      return nil
   end
   if bias and (bias.T ~= x.T or not is_contiguous(bias)) then return nil end
   local t = { samples = nd == 4 and x[1] or 1, inputs = x[2 * nd - 5], height = x[2 * nd - 3], width = x[2 * nd - 1],
      kw = kw, kh = kh, dw = dw,
      dh = dh, pw = pw, ph = ph }
   t.high, t.wide = t.height + 2 * ph, t.width + 2 * pw
   t.rows, t.columns = floor((t.high - kh) / dh) + 1, floor((t.wide - kw) / dw) + 1
   if t.high < kh or t.wide < kw then return nil end
   t.places, t.elements = t.rows * t.columns, t.inputs * kw * kh
   t.outputs = count(weight) / (t.places * t.elements)
   if t.outputs % 1 ~= 0 or t.outputs < 1 or t.samples * count(weight) > MOST or bias
      and count(bias) ~= t.outputs * t.places then
      return nil
   end
   t.sizes = nd == 4 and { x[1], t.outputs, t.rows, t.columns } or { t.outputs, t.rows, t.columns }
   local distances, k = room('distances', t.elements), 0
   for plane = 0, t.inputs - 1 do
      for i = 0, kh - 1 do
         for j = 0, kw - 1 do
            distances[k], k = (plane * t.high + i) * t.wide + j, k + 1
         end
      end
   end
   return t, distances
end

-- A sample's planes between p and a room with a border of zeros: into it, or from it.
local function lay(t, p, sample)
   local laid, n = room('laid', t.inputs * t.high * t.wide), t.inputs * t.high * t.wide
   fill(laid, 8 * n)
   for row = 0, t.inputs * t.height - 1 do
      local plane = floor(row / t.height)
      local to, from = (plane * t.high + row - plane * t.height + t.ph) * t.wide + t.pw,
         (sample * t.inputs * t.height + row) * t.width
      for k = 0, t.width - 1 do laid[to + k] = p[from + k] end
   end
   return laid
end
local function pick(t, laid, r, sample)
   for row = 0, t.inputs * t.height - 1 do
      local plane = floor(row / t.height)
      local from, to = (plane * t.high + row - plane * t.height + t.ph) * t.wide + t.pw,
         (sample * t.inputs * t.height + row) * t.width
      for k = 0, t.width - 1 do r[to + k] = laid[from + k] end
   end
end

-- Where the window of a place begins.
local function first_of(t, place)
   local row = floor(place / t.columns)
   return row * t.dh * t.wide + (place - row * t.columns) * t.dw
end

local function fits(t, x, grad_output)
   if grad_output.T ~= x.T or grad_output.nd ~= x.nd then return false end
   for d = 1, x.nd do
      if grad_output[2 * d - 1] ~= t.sizes[d] then return false end
   end
   return true
end

function luajit.local_convolution(out, x, weight, bias, ...)
   local t, distances = prepare(x, weight, bias, ...)
   if not t or out.T ~= x.T or not is_apart(out, x, weight, bias) then return false end
   local p, w = numbers.of('first', x), numbers.seen('weights', weight, MOST)
   local b = bias and numbers.seen('biases', bias, MOST)
   if not p or not w or bias and not b then return false end
   resize(out, x.nd, t.sizes)
   if not is_contiguous(out) then return false end
   local r, n, outputs, places = out.S.p + out.off, t.elements, t.outputs, t.places
   for sample = 0, t.samples - 1 do
      local laid = lay(t, p, sample)
      for place = 0, places - 1 do
         local window = laid + first_of(t, place)
         for output = 0, outputs - 1 do
            local row, sum = w + (place * outputs + output) * n, 0
            for k = 0, n - 1 do sum = sum + row[k] * window[distances[k]] end
            local at = output * places + place
            r[sample * outputs * places + at] = b and sum + b[at] or sum
         end
      end
   end
   return true
end

function luajit.local_convolution_grad_input(gradient, x, grad_output, weight, bias, ...)
   local t, distances = prepare(x, weight, bias, ...)
   if not t or gradient.T ~= x.T or not fits(t, x, grad_output) or not is_apart(gradient, x, grad_output, weight) then
      return false
   end
   local g, w = numbers.of('gradients', grad_output), numbers.seen('weights', weight, MOST)
   if not g or not w then return false end
   resize_as(gradient, x)
   if not is_contiguous(gradient) then return false end
   local r, n, outputs, places, extent = gradient.S.p + gradient.off, t.elements, t.outputs, t.places,
      t.inputs * t.high * t.wide
   local laid = room('laid', extent)
   for sample = 0, t.samples - 1 do
      fill(laid, 8 * extent)
      for place = 0, places - 1 do
         local window = laid + first_of(t, place)
         for output = 0, outputs - 1 do
            local row, factor = w + (place * outputs + output) * n, g[(sample * outputs + output) * places + place]
            for k = 0, n - 1 do
               local at = distances[k]
               window[at] = window[at] + factor * row[k]
            end
         end
      end
      pick(t, laid, r, sample)
   end
   return true
end

function luajit.local_convolution_grad_parameters(grad_weight, grad_bias, x, grad_output, weight, bias, scale, ...)
   local t, distances = prepare(x, weight, bias, ...)
   if not t or not fits(t, x, grad_output) or grad_weight.T ~= x.T or not is_contiguous(grad_weight)
      or count(grad_weight) ~= count(weight) then
      return false
   end
   if grad_bias and (grad_bias.T ~= x.T or not is_contiguous(grad_bias)
      or count(grad_bias) ~= t.outputs * t.places) then
      return false
   end
   if not is_apart(grad_weight, x, grad_output, grad_bias) or grad_bias and not is_apart(grad_bias, x, grad_output) then
      return false
   end
   local p, g = numbers.of('first', x), numbers.of('gradients', grad_output)
   if not p or not g then return false end
   local q, get, n, outputs, places = grad_weight.S.p + grad_weight.off, x.T.get, t.elements, t.outputs, t.places
   local u = grad_bias and grad_bias.S.p + grad_bias.off
   for sample = 0, t.samples - 1 do
      local laid = lay(t, p, sample)
      for place = 0, places - 1 do
         local window = laid + first_of(t, place)
         for output = 0, outputs - 1 do
            local factor = scale * g[(sample * outputs + output) * places + place]
            local first, at = (place * outputs + output) * n, output * places + place
            for k = 0, n - 1 do q[first + k] = get(q, first + k) + factor * window[distances[k]] end
            if u then u[at] = get(u, at) + factor end
         end
      end
   end
   return true
end
