-- Convolutions of small images and volumes, computed here: windows as rows (nn/convolution/luajit/windows.lua) and the
-- BLAS.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local apart = require 'torch.core.overlap'
local few = require 'torch.luajit.elementwise'
local blas = require 'torch.luajit.blas'
local ways = require 'torch.core.ways'
local rooms = require 'nn.shared.luajit.scratch'
local windows = require 'nn.convolution.luajit.windows'
local kept = require 'nn.convolution.luajit.kept_windows'

local luajit = ways.luajit
local count = memory.count
local floor = math.floor
local room, ones, plain, is_apart, bytes_at = rooms.room, rooms.ones, rooms.plain, apart.is_apart, rooms.bytes_at
local in_one_piece = rooms.in_one_piece
local g = windows.geometry

local convolution = {}

-- Up to so many multiplications, and bytes of an image and of its windows, Python's way to the engine's kernels costs
-- more. Of floats whose planes come in blocks of 16, oneDNN convolves faster than by products of matrices.
convolution.MOST_WORK, convolution.MOST_WORK_OF_BLOCKS = 2 ^ 26, 2 ^ 23
convolution.MOST_BYTES = 2 ^ 22

local function is_count(n) return n >= 1 and n % 1 == 0 end
local function is_border(n) return n >= 0 and n % 1 == 0 end

local function windows_along(size, span, step, border, dilation)
   return floor((size + 2 * border - (span - 1) * dilation - 1) / step) + 1
end

-- Whether x is a batch, or one image or volume, for such a weight, which has four or five dimensions; or two, of an
-- image.
local function fits(x, weight)
   local nd = weight.nd == 5 and 5 or 4
   return x.nd == nd or x.nd == nd - 1
end

-- Images, planes, time, height and width of it. axes: 2 of images, 3 of volumes
local function sizes_of(t, axes)
   local nd = t.nd
   local last = 2 * nd - 1
   return nd == axes + 2 and t[1] or 1, t[last - 2 * axes], axes == 3 and t[last - 4] or 1, t[last - 2], t[last]
end

local function axes_of(weight) return weight.nd == 5 and 3 or 2 end

-- Sets the geometry of a convolution from `image` to `result` (records, either of which may be still without elements),
-- whose sizes are given, as the numbers of the layer are set; gives the routines, or nil where it is for Python.
local function prepare(weight, outputs, images, planes, time, height, width, frames, rows, columns)
   local T = weight.T
   if few.LIMIT == 0 or not T.real then return nil end
   if not (is_count(g.kt) and is_count(g.kh) and is_count(g.kw) and is_count(g.dt) and is_count(g.dh)
      and is_count(g.dw)) then
      return nil
   end
   if not (is_count(g.lt) and is_count(g.lh) and is_count(g.lw) and is_border(g.pt) and is_border(g.ph)
      and is_border(g.pw)) then
      return nil
   end
   if time < 1 or height < 1 or width < 1 or frames < 1 or rows < 1 or columns < 1 then return nil end
   if count(weight) ~= outputs * planes * g.kt * g.kh * g.kw or not plain(weight, T) then return nil end
   if frames ~= windows_along(time, g.kt, g.dt, g.pt, g.lt) or rows ~= windows_along(height, g.kh, g.dh, g.ph, g.lh)
      or columns ~= windows_along(width, g.kw, g.dw, g.pw, g.lw) then
      return nil
   end
   local routine = blas.of_rows(T)
   if not routine then return nil end
   if not windows.set(T.size, images, planes, time, height, width, frames, rows, columns) then return nil end
   -- With what lies between rows of windows, and in borders.
   local numbers, most = g.length * g.run, convolution.MOST_BYTES / T.size
   local in_blocks = T.size == 4 and planes % 16 == 0 and outputs % 16 == 0 and g.taps > 1
   if images * outputs * numbers > (in_blocks and convolution.MOST_WORK_OF_BLOCKS or convolution.MOST_WORK) then
      return nil
   end
   if numbers > most or outputs * g.run > most or g.image > most then return nil end
   return routine
end

-- Whether a kernel covers its image, of which then nothing has to be moved; and whether it has one element.
local function covers()
   return g.windows == 1 and g.pt == 0 and g.ph == 0 and g.pw == 0 and g.kt == g.time and g.kh == g.height
      and g.kw == g.width
end
local function is_pointwise() return g.taps == 1 and g.in_place end

-- The windows of n images of x after `first`, as rows. place: where those of all images lie
-- (nn/convolution/luajit/kept_windows.lua), if not in a room that others use, too.
local function unfold(x, first, n, place)
   local size = g.size
   local columns = place and place.columns + first * g.length * g.windows * size
      or room('columns', n * g.length * g.windows * size)
   if place and place.is_filled then return columns end
   windows.unfold(x + first * g.planes * g.pixels * size, n, columns)
   return columns
end

-- Calls f(first, n) with all images, n after `first` at a time, of which each has so many numbers in a row.
local function in_turn(f, numbers, ...)
   local images, n = g.images, windows.at_once(numbers)
   for first = 0, images - 1, n do f(first, first + n <= images and n or images - first, ...) end
end

local function forward_some(first, n, routine, out, x, weight, bias, outputs, place)
   local size, row, length = g.size, n * g.windows, g.length
   local columns = unfold(x, first, n, place)
   local target = out + first * outputs * g.windows * size
   local result = n == 1 and target or room('spread', outputs * row * size)
   if bias then windows.begin(result, outputs, row, bias, outputs) end
   blas.multiply(routine, result, row, bias and 1 or 0, 1, weight, 'n', length, columns, 'n', row, outputs, length, row)
   if n > 1 then windows.part(result, target, outputs, n) end
end

-- Pointers: the results of all images at `out`; bias: nil for none. layer: for which the windows are kept, or nil
local function forward(routine, out, x, weight, bias, outputs, layer)
   local size, length, pixels = g.size, g.length, g.windows
   if covers() then
      if bias then
         for i = 0, g.images - 1 do ffi.copy(out + i * outputs * size, bias, outputs * size) end
      end
      blas.multiply(routine, out, outputs, bias and 1 or 0, 1, x, 'n', length, weight, 't', length, g.images, length,
         outputs)
   elseif is_pointwise() then
      if bias then windows.begin(out, g.images * outputs, pixels, bias, outputs) end
      for i = 0, g.images - 1 do
         blas.multiply(routine, out + i * outputs * pixels * size, pixels, bias and 1 or 0, 1, weight, 'n', length,
            x + i * length * pixels * size, 'n', pixels, outputs, length, pixels)
      end
   else
      local place = layer and kept.begin(layer, x)
      in_turn(forward_some, g.windows, routine, out, x, weight, bias, outputs, place)
      if place then place.is_filled = true end
   end
end

local function backward_some(first, n, routine, image, gradient, weight, start, outputs)
   local size, run, length = g.size, g.run, g.length
   local spread = windows.spread(gradient + first * outputs * g.windows * size, outputs, n)
   local columns = room('columns', length * n * run * size)
   blas.multiply(routine, columns, n * run, 0, 1, weight, 't', length, spread, 'n', n * run, length, outputs, n * run)
   windows.fold(routine, columns, image + first * g.planes * g.pixels * size, n, start)
end

-- The images that such results' gradients go to, plus in each plane its number of `start`, if given.
local function backward(routine, image, gradient, weight, start, outputs)
   local size, length, pixels = g.size, g.length, g.windows
   local beta = start and 1 or 0
   if covers() or is_pointwise() then
      if start then windows.begin(image, g.images * g.planes, g.pixels, start, g.planes) end
   end
   if covers() then
      blas.multiply(routine, image, length, beta, 1, gradient, 'n', outputs, weight, 'n', length, g.images, outputs,
         length)
   elseif is_pointwise() then
      for i = 0, g.images - 1 do
         blas.multiply(routine, image + i * length * pixels * size, pixels, beta, 1, weight, 't', length,
            gradient + i * outputs * pixels * size, 'n', pixels, length, outputs, pixels)
      end
   else
      in_turn(backward_some, g.run, routine, image, gradient, weight, start, outputs)
   end
end

local function accumulate_some(first, n, routine, grad_weight, x, gradient, scale, outputs, place)
   local row, length = n * g.windows, g.length
   local mixed = windows.mixed(gradient + first * outputs * g.windows * g.size, outputs, n)
   local columns = unfold(x, first, n, place)
   blas.multiply(routine, grad_weight, length, 1, scale, mixed, 'n', row, columns, 't', row, outputs, row, length)
end

-- Adds scale times the weight's gradient. layer: whose windows may be kept, or nil
local function accumulate(routine, grad_weight, x, gradient, scale, outputs, layer)
   local size, length, pixels = g.size, g.length, g.windows
   if covers() then
      blas.multiply(routine, grad_weight, length, 1, scale, gradient, 't', outputs, x, 'n', length, outputs, g.images,
         length)
   elseif is_pointwise() then
      for i = 0, g.images - 1 do
         blas.multiply(routine, grad_weight, length, 1, scale, gradient + i * outputs * pixels * size, 'n', pixels,
            x + i * length * pixels * size, 't', pixels, outputs, pixels, length)
      end
   else
      local place = layer and kept.find(layer, x)
      in_turn(accumulate_some, g.windows, routine, grad_weight, x, gradient, scale, outputs, place)
   end
end

-- Adds scale times the sums of the planes of images to a bias's gradient.
local function accumulate_bias(T, routine, grad_bias, gradient, scale, images, planes, pixels)
   local of_ones = ones(T, pixels)
   for i = 0, images - 1 do
      blas.add_sums(routine, grad_bias, scale, gradient + i * planes * pixels * T.size, planes, pixels, pixels, 1,
         of_ones)
   end
end

-- What lies between rows of windows must not reach a sum: zero times infinity would.
local function harmless(routine, t)
   return g.gapless or blas.all_finite(routine, t.T, count(t), bytes_at(t))
end

-- Whether t has the sizes of a batch, or of one image or volume, and its memory is not r's.
local function is_sized(t, nd, axes, images, planes, time, height, width)
   local last = 2 * nd - 1
   return t.nd == nd and (nd == axes + 1 or t[1] == images) and t[last - 2 * axes] == planes
      and (axes == 2 or t[last - 4] == time)
      and t[last - 2] == height and t[last] == width
end

-- Gives r the sizes of x with others of its planes; whether its elements then lie in one piece.
local function begin(r, x, axes, planes, time, height, width)
   return rooms.begin(r, x, height, width, planes, axes == 3 and time or nil)
end

local function is_bias(bias, T, n) return not bias or plain(bias, T) and bias.nd == 1 and bias[1] == n end

-- Frames, rows and columns of the windows of a plane.
local function windows_of(time, height, width)
   return windows_along(time, g.kt, g.dt, g.pt, g.lt), windows_along(height, g.kh, g.dh, g.ph, g.lh),
      windows_along(width, g.kw, g.dw, g.pw, g.lw)
end

-- The phases of a plain convolution. weight: outputs x everything else; layer: of
-- nn/convolution/luajit/kept_windows.lua, or nil
local function plain_output(out, x, weight, bias, layer)
   local T, axes = weight.T, axes_of(weight)
   if not fits(x, weight) or not plain(x, T) or out.T ~= T or not is_apart(out, x, weight, bias) then return false end
   local images, planes, time, height, width = sizes_of(x, axes)
   local outputs, frames, rows, columns = weight[1], windows_of(time, height, width)
   if not is_bias(bias, T, outputs) then return false end
   local routine = prepare(weight, outputs, images, planes, time, height, width, frames, rows, columns)
   if not routine or not begin(out, x, axes, outputs, frames, rows, columns) then return false end
   forward(routine, bytes_at(out), bytes_at(x), bytes_at(weight), bias and bytes_at(bias), outputs, layer)
   return true
end

local function plain_grad_input(grad, x, grad_output, weight)
   local T, axes = weight.T, axes_of(weight)
   if not fits(x, weight) or x.T ~= T or grad.T ~= T or not plain(grad_output, T) then return false end
   if not is_apart(grad, x, grad_output, weight) then return false end
   local images, planes, time, height, width = sizes_of(x, axes)
   local outputs, frames, rows, columns = weight[1], windows_of(time, height, width)
   if not is_sized(grad_output, x.nd, axes, images, outputs, frames, rows, columns) then return false end
   local routine = prepare(weight, outputs, images, planes, time, height, width, frames, rows, columns)
   if not routine or not harmless(routine, weight) or not begin(grad, x, axes, planes, time, height, width) then
      return false
   end
   backward(routine, bytes_at(grad), bytes_at(grad_output), bytes_at(weight), nil, outputs)
   return true
end

local function plain_grad_weight(grad_weight, grad_bias, x, grad_output, scale, layer)
   local T, axes = grad_weight.T, axes_of(grad_weight)
   if not fits(x, grad_weight) or not plain(x, T) or not plain(grad_output, T) then return false end
   if not is_apart(grad_weight, x, grad_output) or grad_bias and not is_apart(grad_bias, x, grad_output) then
      return false
   end
   local images, planes, time, height, width = sizes_of(x, axes)
   local outputs, frames, rows, columns = grad_weight[1], windows_of(time, height, width)
   if not is_sized(grad_output, x.nd, axes, images, outputs, frames, rows, columns)
      or not is_bias(grad_bias, T, outputs) then
      return false
   end
   local routine = prepare(grad_weight, outputs, images, planes, time, height, width, frames, rows, columns)
   if not routine then return false end
   local gradient = bytes_at(grad_output)
   accumulate(routine, bytes_at(grad_weight), bytes_at(x), gradient, scale, outputs, layer)
   if grad_bias then accumulate_bias(T, routine, bytes_at(grad_bias), gradient, scale, images, outputs, g.windows) end
   return true
end

-- Those of a transposed one: the results are images that a plain one would see. weight: planes of x x planes of the
-- result x kernel;
-- at, ah, aw: what is added at the end
local function grown(size, span, step, border, more) return (size - 1) * step - 2 * border + span + more end
local function grown_of(frames, rows, columns, at, ah, aw)
   return grown(frames, g.kt, g.dt, g.pt, at), grown(rows, g.kh, g.dh, g.ph, ah), grown(columns, g.kw, g.dw, g.pw, aw)
end

local function transposed_output(out, x, weight, bias, at, ah, aw)
   local T, axes = weight.T, axes_of(weight)
   if not fits(x, weight) or not plain(x, T) or out.T ~= T or not is_apart(out, x, weight, bias) then return false end
   local images, inputs, frames, rows, columns = sizes_of(x, axes)
   local planes, time, height, width = weight[3], grown_of(frames, rows, columns, at, ah, aw)
   if weight[1] ~= inputs or not is_bias(bias, T, planes) then return false end
   local routine = prepare(weight, inputs, images, planes, time, height, width, frames, rows, columns)
   if not routine or not harmless(routine, weight) or not begin(out, x, axes, planes, time, height, width) then
      return false
   end
   backward(routine, bytes_at(out), bytes_at(x), bytes_at(weight), bias and bytes_at(bias), inputs)
   return true
end

local function transposed_grad_input(grad, x, grad_output, weight, at, ah, aw)
   local T, axes = weight.T, axes_of(weight)
   if not fits(x, weight) or x.T ~= T or grad.T ~= T or not plain(grad_output, T) then return false end
   if not is_apart(grad, x, grad_output, weight) then return false end
   local images, inputs, frames, rows, columns = sizes_of(x, axes)
   local planes, time, height, width = weight[3], grown_of(frames, rows, columns, at, ah, aw)
   if weight[1] ~= inputs or not is_sized(grad_output, x.nd, axes, images, planes, time, height, width) then
      return false
   end
   local routine = prepare(weight, inputs, images, planes, time, height, width, frames, rows, columns)
   if not routine or not begin(grad, x, axes, inputs, frames, rows, columns) then return false end
   forward(routine, bytes_at(grad), bytes_at(grad_output), bytes_at(weight), nil, inputs)
   return true
end

local function transposed_grad_parameters(grad_weight, grad_bias, x, grad_output, at, ah, aw, scale)
   local T, axes = grad_weight.T, axes_of(grad_weight)
   if not fits(x, grad_weight) or not plain(x, T) or not plain(grad_output, T) then return false end
   if not is_apart(grad_weight, x, grad_output) or grad_bias and not is_apart(grad_bias, x, grad_output) then
      return false
   end
   local images, inputs, frames, rows, columns = sizes_of(x, axes)
   local planes, time, height, width = grad_weight[3], grown_of(frames, rows, columns, at, ah, aw)
   if grad_weight[1] ~= inputs or not is_sized(grad_output, x.nd, axes, images, planes, time, height, width) then
      return false
   end
   if not is_bias(grad_bias, T, planes) then return false end
   local routine = prepare(grad_weight, inputs, images, planes, time, height, width, frames, rows, columns)
   if not routine then return false end
   local gradient = bytes_at(grad_output)
   accumulate(routine, bytes_at(grad_weight), gradient, bytes_at(x), scale, inputs)
   if grad_bias then accumulate_bias(T, routine, bytes_at(grad_bias), gradient, scale, images, planes, g.pixels) end
   return true
end


-- The numbers of a layer of images.
local function set_image(kw, kh, dw, dh, pw, ph, lw, lh)
   windows.set_kernel(1, kh, kw)
   windows.set_steps(1, dh, dw)
   windows.set_border(0, ph, pw)
   windows.set_dilation(1, lh, lw)
end

function luajit.spatial_convolution(out, x, weight, bias, kw, kh, dw, dh, pw, ph)
   set_image(kw, kh, dw, dh, pw, ph, 1, 1)
   return plain_output(out, in_one_piece(x), weight, bias, kept.take())
end
function luajit.spatial_convolution_grad_input(grad, x, grad_output, weight, kw, kh, dw, dh, pw, ph)
   set_image(kw, kh, dw, dh, pw, ph, 1, 1)
   return plain_grad_input(grad, x, in_one_piece(grad_output), weight)
end
function luajit.spatial_convolution_grad_weight(grad_weight, grad_bias, x, grad_output, kw, kh, dw, dh, pw, ph, scale)
   set_image(kw, kh, dw, dh, pw, ph, 1, 1)
   return plain_grad_weight(grad_weight, grad_bias, in_one_piece(x), in_one_piece(grad_output), scale, kept.take())
end

-- Sets the numbers of a layer of images or volumes with such a weight: steps, borders and what else there may be, its
-- dilation or what a transposed one adds at the end, which is given, as time, height and width. Nil where it is for
-- Python.
local function set_layer(weight, kind, a, b, c, d, e, f, h, i, j, more)
   local is_transposed = kind == 'transposed'
   local at, ah, aw
   if weight.nd == 4 then
      if i then return nil end
      at, ah, aw = 0, f, e
      if is_transposed then ah, aw = ah or 0, aw or 0 end
      set_image(weight[7], weight[5], a, b, c, d, not is_transposed and e or 1, not is_transposed and f or 1)
   elseif weight.nd == 5 then
      if more then return nil end
      at, ah, aw = h or 0, j or 0, i or 0
      windows.set_kernel(weight[5], weight[7], weight[9])
      windows.set_steps(a, c, b)
      windows.set_border(d, f, e)
      if is_transposed then windows.set_dilation(1, 1, 1) else windows.set_dilation(h or 1, j or 1, i or 1) end
   end
   return at, ah, aw
end

function luajit.convolution(out, x, weight, bias, kind, ...)
   local layer = kept.take()
   local at, ah, aw = set_layer(weight, kind, ...)
   if not at then return false end
   if kind == 'transposed' then return transposed_output(out, in_one_piece(x), weight, bias, at, ah, aw) end
   return plain_output(out, in_one_piece(x), weight, bias, layer)
end
function luajit.convolution_grad_input(grad, x, grad_output, weight, _, kind, ...)
   local at, ah, aw = set_layer(weight, kind, ...)
   if not at then return false end
   if kind == 'transposed' then return transposed_grad_input(grad, x, in_one_piece(grad_output), weight, at, ah, aw) end
   return plain_grad_input(grad, x, in_one_piece(grad_output), weight)
end
function luajit.convolution_grad_parameters(grad_weight, grad_bias, x, grad_output, weight, _, scale, kind, ...)
   local layer = kept.take()
   local at, ah, aw = set_layer(weight, kind, ...)
   if not at or not memory.same_size(weight, grad_weight) then return false end
   x, grad_output = in_one_piece(x), in_one_piece(grad_output)
   if kind == 'transposed' then
      return transposed_grad_parameters(grad_weight, grad_bias, x, grad_output, at, ah, aw, scale)
   end
   return plain_grad_weight(grad_weight, grad_bias, x, grad_output, scale, layer)
end

return convolution
