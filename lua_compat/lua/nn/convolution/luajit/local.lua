-- Locally connected convolutions of few elements, with separate weights at each position. The elements of a window have
-- fixed distances from its first, in images with their border; each position and output has a row of weights for them.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local luajit, no = require('torch.core.ways').of_kernels()
local gates = require 'nn.shared.luajit.gates'
local geometry = require 'nn.shared.luajit.geometry'
local numbers = require 'nn.shared.luajit.as_doubles'
local copy_planes = require('nn.shared.luajit.window_sums').copy_planes

local count, first_element = memory.count, memory.first_element
local floor, fill, cast, room, place_for = math.floor, ffi.fill, ffi.cast, numbers.room, numbers.place_for
local bytes = ffi.typeof 'char *'

local MOST = 2 ^ 17 -- multiplications

-- The geometry of a layer with this number of weights.
local geometry_of = geometry.of('kw, kh, dw, dh, pw, ph, weights', [[samples, inputs, height, width, high, wide, rows,
   columns, places, elements, outputs, distances]], function(g, x)
   if not (gates.planes(x, 2) and gates.whole(1, g.kw, g.kh, g.dw, g.dh) and gates.whole(0, g.pw, g.ph)) then
      return nil
   end
   local nd = x.nd
   g.samples, g.inputs, g.height, g.width = nd == 4 and x[1] or 1, x[2 * nd - 5], x[2 * nd - 3], x[2 * nd - 1]
   g.high, g.wide = g.height + 2 * g.ph, g.width + 2 * g.pw
   if g.high < g.kh or g.wide < g.kw then return no 'a window that is larger than the image' end
   g.rows, g.columns = floor((g.high - g.kh) / g.dh) + 1, floor((g.wide - g.kw) / g.dw) + 1
   g.places, g.elements = g.rows * g.columns, g.inputs * g.kw * g.kh
   g.outputs = g.weights / (g.places * g.elements)
   if g.outputs % 1 ~= 0 or g.outputs < 1 then return no 'a weight of other sizes' end
   if not gates.within(g.samples * g.weights, MOST, 'more than %d multiplications')
      or not gates.few(g.inputs * g.high * g.wide, MOST) then
      return nil
   end
   local distances, k = ffi.new('int32_t[?]', g.elements), 0
   for plane = 0, g.inputs - 1 do
      for i = 0, g.kh - 1 do
         for j = 0, g.kw - 1 do
            distances[k], k = (plane * g.high + i) * g.wide + j, k + 1
         end
      end
   end
   g.distances = distances
   return g
end)

-- The geometry, if the parameters or their gradients fit it.
local function fitting(x, weight, bias, ...)
   if not (gates.typed(x.T, x, weight, bias) and gates.plain(weight, x.T) and gates.plain(bias, x.T)) then
      return nil
   end
   local kw, kh, dw, dh, pw, ph = ...
   local g = geometry_of(x, kw, kh, dw, dh, pw, ph, count(weight))
   if g and bias and count(bias) ~= g.outputs * g.places then return no 'a bias of other sizes' end
   return g
end

-- Copies a sample's planes from p to a scratch buffer with a border, or back.
local function copy_sample(g, laid, p, sample, is_inward)
   p = p + sample * g.inputs * g.height * g.width
   copy_planes(g, g.inputs, cast(bytes, laid), cast(bytes, p), 8, is_inward)
end

-- That scratch buffer, filled with zeros.
local function new_planes(g)
   local n = g.inputs * g.high * g.wide
   local laid = room('laid', n)
   fill(laid, 8 * n)
   return laid
end

-- The offset of the window at a position.
local function first_of(g, place)
   local row = floor(place / g.columns)
   return row * g.dh * g.wide + (place - row * g.columns) * g.dw
end

local function fits(g, x, grad_output)
   return gates.typed(x.T, grad_output) and gates.sized(grad_output, x, g.rows, g.columns, g.outputs)
end

function luajit.local_convolution(out, x, weight, bias, ...)
   local g = fitting(x, weight, bias, ...)
   if not (g and gates.typed(x.T, out) and gates.apart(out, x, weight, bias)) then return false end
   local p, w = numbers.of('first', x), numbers.seen('weights', weight, MOST)
   local b = bias and numbers.seen('biases', bias, MOST)
   if not p or not w or bias and not b or not gates.begun(out, x, g.rows, g.columns, g.outputs) then return false end
   local r, n, outputs, places, distances = first_element(out), g.elements, g.outputs, g.places, g.distances
   local laid = new_planes(g)
   for sample = 0, g.samples - 1 do
      copy_sample(g, laid, p, sample, true)
      for place = 0, places - 1 do
         local window = laid + first_of(g, place)
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
   local g = fitting(x, weight, bias, ...)
   if not (g and gates.typed(x.T, gradient) and fits(g, x, grad_output)
      and gates.apart(gradient, x, grad_output, weight)) then
      return false
   end
   local slopes, w = numbers.of('gradients', grad_output), numbers.seen('weights', weight, MOST)
   if not slopes or not w or not gates.resized_as(gradient, x) then return false end
   local r, n, outputs, places, distances = place_for(gradient), g.elements, g.outputs, g.places, g.distances
   for sample = 0, g.samples - 1 do
      local laid = new_planes(g)
      for place = 0, places - 1 do
         local window = laid + first_of(g, place)
         for output = 0, outputs - 1 do
            local row, factor = w + (place * outputs + output) * n, slopes[(sample * outputs + output) * places + place]
            for k = 0, n - 1 do
               local at = distances[k]
               window[at] = window[at] + factor * row[k]
            end
         end
      end
      copy_sample(g, laid, r, sample, false)
   end
   return numbers.write(gradient, r, 1)
end

function luajit.local_convolution_grad_parameters(grad_weight, grad_bias, x, grad_output, weight, bias, scale, ...)
   local g = fitting(x, weight, bias, ...)
   if not (g and fits(g, x, grad_output) and fitting(x, grad_weight, grad_bias, ...) == g
      and gates.apart(grad_weight, x, grad_output, grad_bias)
      and (not grad_bias or gates.apart(grad_bias, x, grad_output))) then
      return false
   end
   local p, slopes = numbers.of('first', x), numbers.of('gradients', grad_output)
   if not p or not slopes then return false end
   local q, get, n, outputs, places = first_element(grad_weight), x.T.get, g.elements, g.outputs, g.places
   local u, distances = grad_bias and first_element(grad_bias), g.distances
   local laid = new_planes(g)
   for sample = 0, g.samples - 1 do
      copy_sample(g, laid, p, sample, true)
      for place = 0, places - 1 do
         local window = laid + first_of(g, place)
         for output = 0, outputs - 1 do
            local factor = scale * slopes[(sample * outputs + output) * places + place]
            local first, at = (place * outputs + output) * n, output * places + place
            for k = 0, n - 1 do q[first + k] = get(q, first + k) + factor * window[distances[k]] end
            if u then u[at] = get(u, at) + factor end
         end
      end
   end
   return true
end
