-- Convolutions of each plane of few elements by itself: of images and of sequences' features, and
-- sums over windows of these, which are convolutions with equal weights.
--
-- A plane is laid into a room with its border. The window that begins at element i has its others at fixed distances
-- from it, so a convolution is a sum of the room's elements, shifted, for all i in one loop; that windows lie steps
-- apart, or would reach over the border, shows when the results are picked.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local is_apart = require('torch.core.overlap').is_apart
local ways = require 'torch.core.ways'
local numbers = require 'nn.shared.luajit.as_doubles'
local taps = require 'torch.luajit.kernel_rows'

local luajit = ways.luajit
local count, is_contiguous, same_size = memory.count, memory.is_contiguous, memory.same_size
local resize, resize_as = memory.resize, memory.resize_as
local floor, fill, room = math.floor, ffi.fill, numbers.room

local MOST, MOST_ELEMENTS = 2 ^ 19, 2 ^ 16 -- multiplications, and elements of an input or a result

-- What a layer does to an input. Numbers of samples, planes and results of each plane; height and width, of the
-- borders, the windows and their steps; the steps from one to the next in the input (of_), the output (to_), the weight
-- (w_) and the bias (b_).
local function job(t)
   t.rows = floor((t.height + 2 * t.ph - t.kh) / t.dh) + 1
   t.columns = floor((t.width + 2 * t.pw - t.kw) / t.dw) + 1
   if t.rows < 1 or t.columns < 1 or t.height + 2 * t.ph < t.kh or t.width + 2 * t.pw < t.kw then return nil end
   t.wide, t.high = t.width + 2 * t.pw, t.height + 2 * t.ph
   t.starts = (t.rows - 1) * t.dh * t.wide + (t.columns - 1) * t.dw + 1 -- from the first window's to the last's
   local work = t.samples * t.planes * t.results * t.kh * t.kw * t.starts
   return work <= MOST and t or nil
end

-- The job of a layer of images
local function of_images(x, planes, results, kw, kh, dw, dh, pw, ph)
   local nd = x.nd
   if nd ~= 3 and nd ~= 4 or x[2 * nd - 5] ~= planes or not numbers.are_whole(results, kw, kh, dw, dh, pw, ph) then
      return nil
   end
   if kw < 1 or kh < 1 or dw < 1 or dh < 1 or pw < 0 or ph < 0 then return nil end
   local height, width = x[2 * nd - 3], x[2 * nd - 1]
   local t = job{ samples = nd == 4 and x[1] or 1, planes = planes, results = results, height = height, width = width,
      kw = kw, kh = kh,
      dw = dw, dh = dh, pw = pw, ph = ph, of_plane = height * width, of_row = width, of_column = 1 }
   if not t then return nil end
   t.to_result, t.to_row, t.to_column = t.rows * t.columns, t.columns, 1
   t.to_plane = results * t.to_result
   t.of_sample, t.to_sample = planes * t.of_plane, planes * t.to_plane
   t.sizes = nd == 4 and { x[1], planes * results, t.rows, t.columns } or { planes * results, t.rows, t.columns }
   return t
end

-- The job of a layer of sequences, whose features are the planes: features x frames, or frames x features.
local function of_sequences(x, features, kw, dw, features_first)
   local nd = x.nd
   if nd ~= 2 and nd ~= 3 or not numbers.are_whole(kw, dw) or kw < 1 or dw < 1 then return nil end
   local frames = x[2 * nd - (features_first and 1 or 3)]
   if x[2 * nd - (features_first and 3 or 1)] ~= features then return nil end
   local t = job{ samples = nd == 3 and x[1] or 1, planes = features, results = 1, height = 1, width = frames, kw = kw,
      kh = 1, dw = dw, dh = 1,
      pw = 0, ph = 0, of_sample = features * frames, of_plane = features_first and frames or 1, of_row = 0,
      of_column = features_first and 1 or features }
   if not t then return nil end
   t.to_sample, t.to_result, t.to_row = features * t.columns, 0, 0
   t.to_plane, t.to_column = features_first and t.columns or 1, features_first and 1 or features
   t.sizes = features_first and { features, t.columns } or { t.columns, features }
   if nd == 3 then table.insert(t.sizes, 1, x[1]) end
   return t
end

-- The elements of a plane from p + at on, in a room with a border of zeros.
local function lay(t, p, at)
   local laid = room('laid', t.wide * t.high)
   fill(laid, 8 * t.wide * t.high)
   for y = 0, t.height - 1 do
      local to, from = (y + t.ph) * t.wide + t.pw, at + y * t.of_row
      for k = 0, t.width - 1 do laid[to + k] = p[from + k * t.of_column] end
   end
   return laid
end

-- The gradients of a plane's windows from g + at on, each where its window begins.
local function lay_gradients(t, g, at)
   local laid = room('laid_gradients', t.starts)
   fill(laid, 8 * t.starts)
   for y = 0, t.rows - 1 do
      local to, from = y * t.dh * t.wide, at + y * t.to_row
      for k = 0, t.columns - 1 do laid[to + k * t.dw] = g[from + k * t.to_column] end
   end
   return laid
end

-- a = a + w * b, of n
local function add(a, b, w, n)
   for k = 0, n - 1 do a[k] = a[k] + w * b[k] end
end
-- Parameters as numbers; bias may be nil.
local function parameters(x, weight, bias)
   if weight.T ~= x.T or bias and bias.T ~= x.T then return nil end
   local w = numbers.of('weights', weight)
   if not w then return nil end
   local b = bias and numbers.of('biases', bias)
   if bias and not b then return nil end
   return w, b
end

local function forward(t, out, x, weight, bias)
   if not t or out.T ~= x.T or not is_apart(out, x, weight, bias) then return false end
   local w, b = parameters(x, weight, bias)
   local p = w and numbers.of('first', x, MOST_ELEMENTS)
   if not p then return false end
   resize(out, #t.sizes, t.sizes)
   if not is_contiguous(out) then return false end
   local r, sums = out.S.p + out.off, room('sums', t.starts)
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
   if grad_output.T ~= x.T or grad_output.nd ~= #t.sizes then return false end
   for d = 1, #t.sizes do
      if grad_output[2 * d - 1] ~= t.sizes[d] then return false end
   end
   return true
end

local function grad_input(t, gradient, x, grad_output, weight)
   if not t or gradient.T ~= x.T or not fits(t, x, grad_output) or not is_apart(gradient, x, grad_output, weight) then
      return false
   end
   local w = parameters(x, weight)
   local g = w and numbers.of('gradients', grad_output, MOST_ELEMENTS)
   if not g then return false end
   resize_as(gradient, x)
   if not is_contiguous(gradient) then return false end
   local r = gradient.S.p + gradient.off
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

-- p[at] becomes what it is and scale * number more.
local function add_number(p, at, number, scale, get) p[at] = get(p, at) + scale * number end

local function grad_parameters(t, grad_weight, grad_bias, x, grad_output, weight, scale)
   if not t or not fits(t, x, grad_output) or grad_weight.T ~= x.T or grad_bias and grad_bias.T ~= x.T then
      return false
   end
   if not same_size(grad_weight, weight) or grad_bias and count(grad_bias) ~= t.planes * t.results then return false end
   if not is_contiguous(grad_weight) or grad_bias and not is_contiguous(grad_bias) then return false end
   if not is_apart(grad_weight, x, grad_output, grad_bias) or grad_bias and not is_apart(grad_bias, x, grad_output) then
      return false
   end
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
   local q, u, get = grad_weight.S.p + grad_weight.off, grad_bias and grad_bias.S.p + grad_bias.off, x.T.get
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

-- Each layer's job, from its input, weight and numbers; nil where that is for Python.
local jobs = {}

local function with_steps(t, w_plane, w_result, w_element, b_plane, b_result)
   if t then
      t.w_plane, t.w_result, t.w_element, t.b_plane, t.b_result = w_plane, w_result, w_element, b_plane, b_result
   end
   return t
end

function jobs.depthwise_convolution(x, weight, bias, kw, kh, dw, dh, pw, ph)
   local outputs, elements = weight[1], kw * kh
   local planes = count(weight) / (outputs * elements)
   if bias and not (bias.nd == 2 and bias[1] == outputs and bias[3] == planes) then return nil end
   return with_steps(of_images(x, planes, outputs, kw, kh, dw, dh, pw, ph), elements, planes * elements, 1, 1, planes)
end
function jobs.temporal_row_convolution(x, weight, bias, dw, features_first)
   if weight.nd ~= 3 or weight[3] ~= 1 or bias and not (bias.nd == 1 and bias[1] == weight[1]) then return nil end
   return with_steps(of_sequences(x, weight[1], weight[5], dw, features_first), weight[5], 0, 1, 1, 0)
end
function jobs.temporal_subsampling(x, weight, bias, kw, dw)
   if x.nd ~= 2 or weight.nd ~= 1 or bias.nd ~= 1 or bias[1] ~= weight[1] then return nil end
   return with_steps(of_sequences(x, weight[1], kw, dw, false), 1, 0, 0, 1, 0)
end

for name, job_of in pairs(jobs) do
   luajit[name] = function(out, x, weight, bias, ...)
      return forward(job_of(x, weight, bias, ...), out, x, weight, bias)
   end
   luajit[name .. '_grad_input'] = function(gradient, x, grad_output, weight, bias, ...)
      return grad_input(job_of(x, weight, bias, ...), gradient, x, grad_output, weight)
   end
   luajit[name .. '_grad_parameters'] = function(grad_weight, grad_bias, x, grad_output, weight, bias, scale, ...)
      return grad_parameters(job_of(x, weight, bias, ...), grad_weight, grad_bias, x, grad_output, weight, scale)
   end
end
