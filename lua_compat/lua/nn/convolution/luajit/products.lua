-- Convolutions of small images and volumes, plain and transposed, by unfolding windows into rows
-- (nn/convolution/luajit/windows.lua) and BLAS. A transposed convolution computes from outputs the images that a plain
-- one would read.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local blas = require 'torch.luajit.blas'
local luajit, no = require('torch.core.ways').of_kernels()
local gates = require 'nn.shared.luajit.gates'
local geometry = require 'nn.shared.luajit.geometry'
local rooms = require 'nn.shared.luajit.scratch'
local windows = require 'nn.convolution.luajit.windows'
local kept = require 'nn.convolution.luajit.kept_windows'

local count, floor = memory.count, math.floor
local room, bytes_at, in_one_piece = rooms.room, rooms.bytes_at, rooms.in_one_piece

-- Above this many multiplications, or bytes of an image and of its windows, calling the engine's kernels through Python
-- is cheaper. For floats whose planes come in blocks of 16, oneDNN convolves faster than matrix products do.
local MOST_WORK, MOST_WORK_OF_BLOCKS, MOST_BYTES = 2 ^ 26, 2 ^ 23, 2 ^ 22

local function windows_along(size, span, step, border, dilation)
   return floor((size + 2 * border - (span - 1) * dilation - 1) / step) + 1
end
local function grown(size, span, step, border, more) return (size - 1) * step - 2 * border + span + more end

-- The geometry of a layer's input x: the image of a plain convolution, or the output of a transposed one. `others`: the
-- number of planes of the result; at, ah, aw: what is added at the end of a transposed convolution's images.
local function completing(axes, is_transposed)
   return function(g, x)
      if not gates.planes(x, axes) then return false end
      if axes == 2 then g.kt, g.dt, g.pt, g.lt, g.at = 1, 1, 0, 1, 0 end
      if is_transposed then g.lt, g.lh, g.lw = 1, 1, 1 end
      if not (gates.whole(1, g.kt, g.kh, g.kw) and gates.whole(1, g.dt, g.dh, g.dw) and gates.whole(1, g.lt, g.lh, g.lw)
         and gates.whole(0, g.pt, g.ph, g.pw) and (not is_transposed or gates.whole(-math.huge, g.at, g.ah, g.aw))) then
         return false
      end
      local last, T = 2 * x.nd - 1, g.T
      local planes, frames, rows, columns = x[last - 2 * axes], axes == 3 and x[last - 4] or 1, x[last - 2], x[last]
      g.images, g.axes, g.is_transposed = x.nd == axes + 2 and x[1] or 1, axes, is_transposed
      if is_transposed then
         g.planes, g.outputs, g.frames, g.rows, g.columns = g.others, planes, frames, rows, columns
         g.time, g.height, g.width = grown(frames, g.kt, g.dt, g.pt, g.at), grown(rows, g.kh, g.dh, g.ph, g.ah),
            grown(columns, g.kw, g.dw, g.pw, g.aw)
      else
         g.planes, g.outputs, g.time, g.height, g.width = planes, g.others, frames, rows, columns
      end
      frames, rows, columns = windows_along(g.time, g.kt, g.dt, g.pt, g.lt),
         windows_along(g.height, g.kh, g.dh, g.ph, g.lh), windows_along(g.width, g.kw, g.dw, g.pw, g.lw)
      if is_transposed and (frames ~= g.frames or rows ~= g.rows or columns ~= g.columns) then
         return no 'sizes that a plain convolution does not have'
      end
      g.frames, g.rows, g.columns = frames, rows, columns
      if g.time < 1 or g.height < 1 or g.width < 1 or frames < 1 or rows < 1 or columns < 1 then
         return no 'an image that is smaller than the kernel'
      end
      g.routine = gates.routine(T)
      if not g.routine or not windows.complete(g) then return false end
      -- Including the gaps between rows of windows, and borders.
      local numbers = g.length * g.run
      local in_blocks = T.size == 4 and g.planes % 16 == 0 and g.outputs % 16 == 0 and g.taps > 1
      return gates.within(g.images * g.outputs * numbers, in_blocks and MOST_WORK_OF_BLOCKS or MOST_WORK,
         'more than %d multiplications')
         and gates.within(math.max(numbers, g.outputs * g.run, g.image, g.planes * g.pixels) * T.size, MOST_BYTES,
            'more than %d bytes of an image')
         and windows.lay_out(g)
   end
end
local IMAGE, TRANSPOSED = 'kw, kh, dw, dh, pw, ph, lw, lh, T, others', 'kw, kh, dw, dh, pw, ph, aw, ah, T, others'
local FIELDS = IMAGE .. ', aw, ah, kt, dt, pt, lt, at, axes, is_transposed, images, outputs, routine, '
   .. windows.FIELDS
local plain_images = geometry.of(IMAGE, FIELDS, completing(2, false))
local plain_volumes = geometry.of(IMAGE .. ', kt, dt, pt, lt', FIELDS, completing(3, false))
local transposed_images = geometry.of(TRANSPOSED, FIELDS, completing(2, true))
local transposed_volumes = geometry.of(TRANSPOSED .. ', kt, dt, pt, at', FIELDS, completing(3, true))

-- Whether a weight, or its gradient, fits geometry g.
local function has_weight(g, weight)
   local first, second = g.outputs, g.planes
   return gates.plain(weight, g.T) and (weight[1] == first and count(weight) == first * second * g.taps
      and (not g.is_transposed or weight[3] == second) or no 'a weight of other sizes')
end

-- The windows of n images of x, after the first `first`, as rows. place: where the windows of all images are kept
-- (nn/convolution/luajit/kept_windows.lua); nil: in a shared scratch buffer.
local function unfold(g, x, first, n, place)
   local size = g.size
   local columns = place and place.columns + first * g.length * g.windows * size
      or room('columns', n * g.length * g.windows * size)
   if place and place.is_filled then return columns end
   windows.unfold(g, x + first * g.planes * g.pixels * size, n, columns)
   return columns
end

-- Calls f(g, first, n) for all images, n after `first` at a time; each image has `numbers` numbers in a row.
local function in_turn(f, g, numbers, ...)
   local images, n = g.images, windows.at_once(numbers)
   for first = 0, images - 1, n do f(g, first, first + n <= images and n or images - first, ...) end
end

local function forward_some(g, first, n, out, x, weight, bias, place)
   local size, row, length, outputs = g.size, n * g.windows, g.length, g.outputs
   local columns = unfold(g, x, first, n, place)
   local target = out + first * outputs * g.windows * size
   local result = n == 1 and target or room('spread', outputs * row * size)
   if bias then windows.begin(g, result, outputs, row, bias, outputs) end
   g.routine.multiply(result, bias and 1 or 0, 1, weight, columns, outputs, length, row)
   if n > 1 then windows.part(g, result, target, outputs, n) end
end

-- Computes at `out` the results of all images x. All are pointers; bias may be nil. layer: whose windows are kept, or
-- nil.
local function forward(g, out, x, weight, bias, layer)
   local size, length, pixels, outputs, routine = g.size, g.length, g.windows, g.outputs, g.routine
   if g.covers then
      if bias then
         for i = 0, g.images - 1 do ffi.copy(out + i * outputs * size, bias, outputs * size) end
      end
      routine.multiply_transposed(out, bias and 1 or 0, 1, x, weight, g.images, length, outputs)
   elseif g.pointwise then
      if bias then windows.begin(g, out, g.images * outputs, pixels, bias, outputs) end
      for i = 0, g.images - 1 do
         routine.multiply(out + i * outputs * pixels * size, bias and 1 or 0, 1, weight, x + i * length * pixels * size,
            outputs, length, pixels)
      end
   else
      local place = layer and kept.begin(layer, g, x)
      in_turn(forward_some, g, g.windows, out, x, weight, bias, place)
      if place then place.is_filled = true end
   end
end

local function backward_some(g, first, n, image, gradient, weight, start)
   local size, run, length, outputs = g.size, g.run, g.length, g.outputs
   local spread = windows.spread(g, gradient + first * outputs * g.windows * size, outputs, n)
   local columns = room('columns', length * n * run * size)
   g.routine.transpose_and_multiply(columns, 0, 1, weight, spread, length, outputs, n * run)
   windows.fold(g, g.routine, columns, image + first * g.planes * g.pixels * size, n, start)
end

-- Computes the images' gradients from the results' gradients. start: nil, or a number to add in each plane.
local function backward(g, image, gradient, weight, start)
   local size, length, pixels, outputs, routine = g.size, g.length, g.windows, g.outputs, g.routine
   local beta = start and 1 or 0
   if start and (g.covers or g.pointwise) then
      windows.begin(g, image, g.images * g.planes, g.pixels, start, g.planes)
   end
   if g.covers then
      routine.multiply(image, beta, 1, gradient, weight, g.images, outputs, length)
   elseif g.pointwise then
      for i = 0, g.images - 1 do
         routine.transpose_and_multiply(image + i * length * pixels * size, beta, 1, weight,
            gradient + i * outputs * pixels * size, length, outputs, pixels)
      end
   else
      in_turn(backward_some, g, g.run, image, gradient, weight, start)
   end
end

local function accumulate_some(g, first, n, grad_weight, x, gradient, scale, place)
   local row, length, outputs = n * g.windows, g.length, g.outputs
   local mixed = windows.mixed(g, gradient + first * outputs * g.windows * g.size, outputs, n)
   local columns = unfold(g, x, first, n, place)
   g.routine.multiply_transposed(grad_weight, 1, scale, mixed, columns, outputs, row, length)
end

-- Adds scale times the gradient of the weight, from images x and results' gradients. layer: whose windows may be kept,
-- or nil.
local function accumulate(g, grad_weight, x, gradient, scale, layer)
   local size, length, pixels, outputs = g.size, g.length, g.windows, g.outputs
   if g.covers then
      g.routine.transpose_and_multiply(grad_weight, 1, scale, gradient, x, outputs, g.images, length)
   elseif g.pointwise then
      for i = 0, g.images - 1 do
         g.routine.multiply_transposed(grad_weight, 1, scale, gradient + i * outputs * pixels * size,
            x + i * length * pixels * size, outputs, pixels, length)
      end
   else
      local place = layer and kept.find(layer, g, x)
      in_turn(accumulate_some, g, g.windows, grad_weight, x, gradient, scale, place)
   end
end

-- Adds scale times the sums over each plane to a bias's gradient.
local function accumulate_bias(g, grad_bias, gradient, scale, planes, pixels)
   local of_ones = blas.ones(g.T, pixels)
   for i = 0, g.images - 1 do
      blas.add_rows(g.routine, grad_bias, scale, gradient + i * planes * pixels * g.size, planes, pixels, of_ones)
   end
end

-- The gaps between rows of windows are zeros in the products, which must not become NaN.
local function is_harmless(g, weight)
   return g.gapless or blas.all_finite(g.routine, g.T, count(weight), bytes_at(weight))
      or no 'a weight that is not finite'
end

-- The sizes of the results, or of the images, as arguments of gates.begun.
local function sizes_of(g, of_results)
   if of_results then return g.rows, g.columns, g.outputs, g.axes == 3 and g.frames or nil end
   return g.height, g.width, g.planes, g.axes == 3 and g.time or nil
end

-- Computes into `out` the results of images x, or (a transposed convolution) the images from results x.
local function compute(g, to_results, out, x, weight, bias, layer)
   if not to_results and not is_harmless(g, weight) or not gates.begun(out, x, sizes_of(g, to_results)) then
      return false
   end
   local p, q, w, b = bytes_at(out), bytes_at(x), bytes_at(weight), bias and bytes_at(bias)
   if to_results then forward(g, p, q, w, b, layer) else backward(g, p, q, w, b) end
   return true
end

-- The phases of a layer with geometry g, which may be nil. layer: for nn/convolution/luajit/kept_windows.lua, or nil.
local function output(g, out, x, weight, bias, layer)
   if not g then return false end
   x = in_one_piece(x)
   return gates.typed(g.T, x, out) and gates.plain(x, g.T) and gates.apart(out, x, weight, bias)
      and has_weight(g, weight) and gates.vector(bias, g.T, g.is_transposed and g.planes or g.outputs)
      and compute(g, not g.is_transposed, out, x, weight, bias, layer)
end

local function grad_input(g, gradient, x, grad_output, weight)
   if not g then return false end
   grad_output = in_one_piece(grad_output)
   return gates.typed(g.T, x, gradient) and gates.plain(grad_output, g.T)
      and gates.apart(gradient, x, grad_output, weight) and has_weight(g, weight)
      and gates.sized(grad_output, x, sizes_of(g, not g.is_transposed))
      and compute(g, g.is_transposed, gradient, grad_output, weight)
end

local function grad_parameters(g, grad_weight, grad_bias, x, grad_output, scale, layer)
   if not g then return false end
   x, grad_output = in_one_piece(x), in_one_piece(grad_output)
   local image, result, planes, pixels = x, grad_output, g.outputs, g.windows
   if g.is_transposed then image, result, planes, pixels = grad_output, x, g.planes, g.pixels end
   if not (gates.plain(x, g.T) and gates.plain(grad_output, g.T) and gates.apart(grad_weight, x, grad_output)
      and (not grad_bias or gates.apart(grad_bias, x, grad_output)) and has_weight(g, grad_weight)
      and gates.vector(grad_bias, g.T, planes) and gates.sized(grad_output, x, sizes_of(g, not g.is_transposed))) then
      return false
   end
   accumulate(g, bytes_at(grad_weight), bytes_at(image), bytes_at(result), scale, not g.is_transposed and layer or nil)
   if grad_bias then accumulate_bias(g, bytes_at(grad_bias), bytes_at(grad_output), scale, planes, pixels) end
   return true
end

local function may_be_weight(weight, x) return gates.typed(weight.T, weight, x) and gates.plain(weight, weight.T) end

-- The geometry of a plain convolution of images
local function of_images(x, weight, kw, kh, dw, dh, pw, ph)
   return may_be_weight(weight, x) and plain_images(x, kw, kh, dw, dh, pw, ph, 1, 1, weight.T, weight[1])
end
function luajit.spatial_convolution(out, x, weight, bias, kw, kh, dw, dh, pw, ph)
   return output(of_images(x, weight, kw, kh, dw, dh, pw, ph), out, x, weight, bias, kept.take())
end
function luajit.spatial_convolution_grad_input(gradient, x, grad_output, weight, kw, kh, dw, dh, pw, ph)
   return grad_input(of_images(x, weight, kw, kh, dw, dh, pw, ph), gradient, x, grad_output, weight)
end
function luajit.spatial_convolution_grad_weight(grad_weight, grad_bias, x, grad_output, kw, kh, dw, dh, pw, ph, scale)
   return grad_parameters(of_images(x, grad_weight, kw, kh, dw, dh, pw, ph), grad_weight, grad_bias, x, grad_output,
      scale, kept.take())
end

-- The geometry of a layer of images or volumes with this weight, from its strides, its borders and, as time, height and
-- width, its dilation or what a transposed convolution adds at the end.
local function of_layer(x, weight, kind, ...)
   local T, is_transposed = weight.T, kind == 'transposed'
   if not may_be_weight(weight, x) then return false end
   if weight.nd == 4 then
      local dw, dh, pw, ph, e, f, more = ...
      if more then return no 'a dilated transposed convolution' end
      if is_transposed then
         return transposed_images(x, weight[7], weight[5], dw, dh, pw, ph, e or 0, f or 0, T, weight[3])
      end
      return plain_images(x, weight[7], weight[5], dw, dh, pw, ph, e or 1, f or 1, T, weight[1])
   elseif weight.nd == 5 then
      local dt, dw, dh, pt, pw, ph, t, w, h, more = ...
      local kt, kw, kh = weight[5], weight[9], weight[7]
      if more then return no 'a dilated transposed convolution' end
      if is_transposed then
         return transposed_volumes(x, kw, kh, dw, dh, pw, ph, w or 0, h or 0, T, weight[3], kt, dt, pt, t or 0)
      end
      return plain_volumes(x, kw, kh, dw, dh, pw, ph, w or 1, h or 1, T, weight[1], kt, dt, pt, t or 1)
   end
   return no 'a weight of neither images nor volumes'
end

local convolution = {}
function convolution.output(out, x, weight, bias, kind, ...)
   return output(of_layer(x, weight, kind, ...), out, x, weight, bias, kept.take())
end
function convolution.grad_input(gradient, x, grad_output, weight, _, kind, ...)
   return grad_input(of_layer(x, weight, kind, ...), gradient, x, grad_output, weight)
end
function convolution.grad_parameters(grad_weight, grad_bias, x, grad_output, weight, _, scale, kind, ...)
   local layer = kept.take()
   return gates.same_size(weight, grad_weight)
      and grad_parameters(of_layer(x, weight, kind, ...), grad_weight, grad_bias, x, grad_output, scale, layer)
end

luajit.convolution, luajit.convolution_grad_input = convolution.output, convolution.grad_input
luajit.convolution_grad_parameters = convolution.grad_parameters

return convolution
