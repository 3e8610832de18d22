-- Depthwise convolutions of few elements: of images and of sequences' features, and sums over windows of these, which
-- are convolutions with equal weights.
--
-- A plane is copied into a scratch buffer with its border. The elements of every window have fixed distances from its
-- first element. So a convolution is a sum of shifted copies of the buffer, computed in one loop over all positions.
-- Strides and positions that cross the border only matter when the results are picked.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local luajit, no = require('torch.core.ways').of_kernels()
local gates = require 'nn.shared.luajit.gates'
local geometry = require 'nn.shared.luajit.geometry'
local numbers = require 'nn.shared.luajit.as_doubles'
local taps = require 'torch.luajit.kernel_rows'

local count, first_element = memory.count, memory.first_element
local floor, fill, room = math.floor, ffi.fill, numbers.room

local MOST, MOST_ELEMENTS = 2 ^ 19, 2 ^ 16 -- multiplications, and elements of an input or a result

-- Completes the geometry of a layer with `results` outputs for each plane: the numbers of samples, planes and results;
-- height and width of planes, borders (ph, pw), windows (kh, kw) and strides (dh, dw); the steps in the input (of_),
-- the output (to_), the weight (w_) and the bias (b_); and the output's sizes.
local FIELDS = [[samples, planes, results, height, width, kw, kh, dw, dh, pw, ph, of_plane, of_row, of_column,
   of_sample, rows, columns, wide, high, starts, to_result, to_row, to_column, to_plane, to_sample, sizes, w_plane,
   w_result, w_element, b_plane, b_result]]
local function complete(g)
   if not (gates.whole(1, g.kw, g.kh, g.dw, g.dh) and gates.whole(1, g.results) and gates.whole(0, g.pw, g.ph)) then
      return false
   end
   g.wide, g.high = g.width + 2 * g.pw, g.height + 2 * g.ph
   if g.high < g.kh or g.wide < g.kw then return no 'a window that is larger than the input' end
   g.rows, g.columns = floor((g.high - g.kh) / g.dh) + 1, floor((g.wide - g.kw) / g.dw) + 1
   g.starts = (g.rows - 1) * g.dh * g.wide + (g.columns - 1) * g.dw + 1 -- distance from first window to last, plus 1
   return gates.few(g.wide * g.high, MOST) and gates.within(g.samples * g.planes * g.results * g.kh * g.kw * g.starts,
      MOST, 'more than %d multiplications')
end

-- The geometry of a layer for images
local of_images = geometry.of('planes, results, kw, kh, dw, dh, pw, ph', FIELDS, function(g, x)
   if not gates.planes(x, 2) then return false end
   local nd = x.nd
   if x[2 * nd - 5] ~= g.planes then return no 'a weight of other sizes' end
   g.samples, g.height, g.width = nd == 4 and x[1] or 1, x[2 * nd - 3], x[2 * nd - 1]
   g.of_plane, g.of_row, g.of_column = g.height * g.width, g.width, 1
   if not complete(g) then return false end
   g.to_result, g.to_row, g.to_column = g.rows * g.columns, g.columns, 1
   g.to_plane = g.results * g.to_result
   g.of_sample, g.to_sample = g.planes * g.of_plane, g.planes * g.to_plane
   g.sizes = nd == 4 and { x[1], g.planes * g.results, g.rows, g.columns }
      or { g.planes * g.results, g.rows, g.columns }
   local elements = g.kw * g.kh
   g.w_plane, g.w_result, g.w_element, g.b_plane, g.b_result = elements, g.planes * elements, 1, 1, g.planes
   return g
end)

-- The geometry of a layer for sequences, whose features are the planes: features x frames or frames x features.
-- w_element: 1, or 0 if a feature has a single weight.
local of_sequences = geometry.of('planes, kw, dw, features_first, w_element', FIELDS, function(g, x)
   local nd, features, first = x.nd, g.planes, g.features_first
   if nd ~= 2 and nd ~= 3 then return no 'neither a batch nor one sample' end
   if x[2 * nd - (first and 3 or 1)] ~= features then return no 'a weight of other sizes' end
   local frames = x[2 * nd - (first and 1 or 3)]
   g.samples, g.results, g.height, g.width, g.kh, g.dh, g.pw, g.ph = nd == 3 and x[1] or 1, 1, 1, frames, 1, 1, 0, 0
   g.of_sample, g.of_plane, g.of_row, g.of_column = features * frames, first and frames or 1, 0, first and 1 or features
   if not complete(g) then return false end
   g.to_sample, g.to_result, g.to_row = features * g.columns, 0, 0
   g.to_plane, g.to_column = first and g.columns or 1, first and 1 or features
   g.sizes = first and { features, g.columns } or { g.columns, features }
   if nd == 3 then table.insert(g.sizes, 1, x[1]) end
   g.w_plane, g.w_result, g.b_plane, g.b_result = g.w_element == 1 and g.kw or 1, 0, 1, 0
   return g
end)

-- Copies a plane from p + at into a scratch buffer with a border of zeros.
local function lay(t, p, at)
   local laid = room('laid', t.wide * t.high)
   fill(laid, 8 * t.wide * t.high)
   for y = 0, t.height - 1 do
      local to, from = (y + t.ph) * t.wide + t.pw, at + y * t.of_row
      for k = 0, t.width - 1 do laid[to + k] = p[from + k * t.of_column] end
   end
   return laid
end

-- Copies the gradients of a plane's windows from g + at, each to the position where its window begins.
local function lay_gradients(t, g, at)
   local laid = room('laid_gradients', t.starts)
   fill(laid, 8 * t.starts)
   for y = 0, t.rows - 1 do
      local to, from = y * t.dh * t.wide, at + y * t.to_row
      for k = 0, t.columns - 1 do laid[to + k * t.dw] = g[from + k * t.to_column] end
   end
   return laid
end

-- a = a + w * b, for n numbers
local function add(a, b, w, n)
   for k = 0, n - 1 do a[k] = a[k] + w * b[k] end
end
-- The parameters as doubles; bias may be nil.
local function parameters(x, weight, bias)
   local w = gates.typed(x.T, weight, bias) and numbers.of('weights', weight)
   local b = w and bias and numbers.of('biases', bias)
   if w and (b or not bias) then return w, b end
end

local function forward(t, out, x, weight, bias)
   if not (t and gates.typed(x.T, x, out) and gates.apart(out, x, weight, bias)) then return false end
   local w, b = parameters(x, weight, bias)
   local p = w and numbers.of('first', x, MOST_ELEMENTS)
   if not p or not gates.resized(out, #t.sizes, t.sizes) then return false end
   local r, sums = first_element(out), room('sums', t.starts)
   for sample = 0, t.samples - 1 do
      for plane = 0, t.planes - 1 do
         local laid = lay(t, p, sample * t.of_sample + plane * t.of_plane)
         for result = 0, t.results - 1 do
            local of_bias, of_weight = b and b[plane * t.b_plane + result * t.b_result] or 0,
               plane * t.w_plane + result * t.w_result
            fill(sums, 8 * t.starts)
            for y = 0, t.kh - 1 do
               taps.add(sums, laid + y * t.wide, t.starts, w, of_weight + y * t.kw * t.w_element, t.w_element, t.kw)
            end
            local to = sample * t.to_sample + plane * t.to_plane + result * t.to_result
            for y = 0, t.rows - 1 do
               for z = 0, t.columns - 1 do
                  r[to + y * t.to_row + z * t.to_column] = sums[y * t.dh * t.wide + z * t.dw] + of_bias
               end
            end
         end
      end
   end
   return true
end

-- Whether a gradOutput has the output's sizes.
local function fits(t, x, grad_output)
   local same = grad_output.nd == #t.sizes
   for d = 1, #t.sizes do same = same and grad_output[2 * d - 1] == t.sizes[d] end
   return gates.typed(x.T, x, grad_output) and (same or no 'tensors of different sizes')
end

local function grad_input(t, gradient, x, grad_output, weight)
   if not (t and gates.typed(x.T, gradient) and fits(t, x, grad_output)
      and gates.apart(gradient, x, grad_output, weight)) then
      return false
   end
   local w = parameters(x, weight)
   local g = w and numbers.of('gradients', grad_output, MOST_ELEMENTS)
   if not g or not gates.resized_as(gradient, x) then return false end
   local r = first_element(gradient)
   local sums = room('laid', t.wide * t.high)
   for sample = 0, t.samples - 1 do
      for plane = 0, t.planes - 1 do
         fill(sums, 8 * t.wide * t.high)
         for result = 0, t.results - 1 do
            local laid = lay_gradients(t, g, sample * t.to_sample + plane * t.to_plane + result * t.to_result)
            local of_weight = plane * t.w_plane + result * t.w_result
            for k = 0, t.kh * t.kw - 1 do
               add(sums + (floor(k / t.kw) * t.wide + k % t.kw), laid, w[of_weight + k * t.w_element], t.starts)
            end
         end
         local to = sample * t.of_sample + plane * t.of_plane
         for y = 0, t.height - 1 do
            for z = 0, t.width - 1 do r[to + y * t.of_row + z * t.of_column] = sums[(y + t.ph) * t.wide + z + t.pw] end
         end
      end
   end
   return true
end

-- p[at] = p[at] + scale * number
local function add_number(p, at, number, scale, get) p[at] = get(p, at) + scale * number end

local function grad_parameters(t, grad_weight, grad_bias, x, grad_output, weight, scale)
   if not (t and fits(t, x, grad_output) and gates.same_size(grad_weight, weight) and gates.plain(grad_weight, x.T)
      and gates.plain(grad_bias, x.T) and gates.apart(grad_weight, x, grad_output)
      and (not grad_bias or gates.lies_apart(grad_bias, grad_weight) and gates.apart(grad_bias, x, grad_output))) then
      return false
   end
   if grad_bias and count(grad_bias) ~= t.planes * t.results then return no 'a bias of other sizes' end
   local p = numbers.of('first', x, MOST_ELEMENTS)
   local g = p and numbers.of('gradients', grad_output, MOST_ELEMENTS)
   if not g then return false end
   local elements = t.kh * t.kw
   local of_weight, of_bias = room('of_weight', t.planes * t.results * elements), room('of_bias', t.planes * t.results)
   fill(of_weight, 8 * t.planes * t.results * elements)
   fill(of_bias, 8 * t.planes * t.results)
   for sample = 0, t.samples - 1 do
      for plane = 0, t.planes - 1 do
         local laid = lay(t, p, sample * t.of_sample + plane * t.of_plane)
         for result = 0, t.results - 1 do
            local gradients = lay_gradients(t, g, sample * t.to_sample + plane * t.to_plane + result * t.to_result)
            local at = plane * t.results + result
            for y = 0, t.kh - 1 do
               taps.multiply(of_weight, at * elements + y * t.kw, gradients, laid + y * t.wide, t.starts, t.kw)
            end
            of_bias[at] = of_bias[at] + numbers.sum(gradients, t.starts)
         end
      end
   end
   local q, u, get = first_element(grad_weight), grad_bias and first_element(grad_bias), x.T.get
   for plane = 0, t.planes - 1 do
      for result = 0, t.results - 1 do
         local at = plane * t.results + result
         if t.w_element == 0 then
            add_number(q, plane * t.w_plane, numbers.sum(of_weight + at * elements, elements), scale, get)
         else
            for k = 0, elements - 1 do
               add_number(q, plane * t.w_plane + result * t.w_result + k, of_weight[at * elements + k], scale, get)
            end
         end
         if u then add_number(u, plane * t.b_plane + result * t.b_result, of_bias[at], scale, get) end
      end
   end
   return true
end

-- The geometry of each layer, from its input, parameters and numbers; nil if Python has to compute.
local geometries = {}

function geometries.depthwise_convolution(x, weight, bias, ...)
   local kw, kh, dw, dh, pw, ph = ...
   local outputs = weight[1]
   local planes = count(weight) / (outputs * kw * kh)
   if bias and not (bias.nd == 2 and bias[1] == outputs and bias[3] == planes) then
      return no 'a bias of other sizes'
   end
   return of_images(x, planes, outputs, kw, kh, dw, dh, pw, ph)
end
function geometries.temporal_row_convolution(x, weight, bias, dw, features_first)
   if weight.nd ~= 3 or weight[3] ~= 1 or bias and not (bias.nd == 1 and bias[1] == weight[1]) then
      return no 'parameters of other sizes'
   end
   return of_sequences(x, weight[1], weight[5], dw, features_first, 1)
end
function geometries.temporal_subsampling(x, weight, bias, kw, dw)
   if x.nd ~= 2 or weight.nd ~= 1 or bias.nd ~= 1 or bias[1] ~= weight[1] then
      return no 'a batch, or other parameters'
   end
   return of_sequences(x, weight[1], kw, dw, false, 0)
end

for name, geometry_of in pairs(geometries) do
   luajit[name] = function(out, x, weight, bias, ...)
      return forward(geometry_of(x, weight, bias, ...), out, x, weight, bias)
   end
   luajit[name .. '_grad_input'] = function(gradient, x, grad_output, weight, bias, ...)
      return grad_input(geometry_of(x, weight, bias, ...), gradient, x, grad_output, weight)
   end
   luajit[name .. '_grad_parameters'] = function(grad_weight, grad_bias, x, grad_output, weight, bias, scale, ...)
      return grad_parameters(geometry_of(x, weight, bias, ...), grad_weight, grad_bias, x, grad_output, weight, scale)
   end
end
