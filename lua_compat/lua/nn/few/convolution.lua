-- Convolutions of small images, computed here, as nn/few.lua says: windows as rows (nn/few/windows.lua) and the BLAS.
local math = require('th.own').math
local ffi = require 'ffi'
local memory = require 'torch.memory'
local apart = require 'torch.apart'
local few = require 'torch.few'
local blas = require 'torch.blas'
local kernels = require 'torch.kernels'
local rooms = require 'nn.few.rooms'
local windows = require 'nn.few.windows'

local count = memory.count
local floor = math.floor
local room, ones, plain, is_apart, bytes_at = rooms.room, rooms.ones, rooms.plain, apart.is_apart, rooms.bytes_at
local begin, in_one_piece = rooms.begin, rooms.in_one_piece
local g = windows.geometry

local convolution = {}

-- Up to so many multiplications, and bytes of an image and of its windows, Python's way to the engine's kernels costs more. Of
-- floats whose planes come in blocks of 16, oneDNN convolves faster than by products of matrices.
convolution.MOST_WORK, convolution.MOST_WORK_OF_BLOCKS = 2 ^ 26, 2 ^ 23
convolution.MOST_BYTES = 2 ^ 22

local function is_count(n) return n >= 1 and n % 1 == 0 end
local function is_border(n) return n >= 0 and n % 1 == 0 end

-- Images, planes, height and width of a batch or of one image.
local function image_sizes(t)
   if t.nd == 4 then return t[1], t[3], t[5], t[7] end
   return 1, t[1], t[3], t[5]
end

-- Sets the geometry of a convolution from `image` to `result` (records, either of which may be still without elements), whose
-- sizes are given; gives the routines, or nil where it is for Python.
local function prepare(weight, outputs, images, planes, height, width, rows, columns, kw, kh, dw, dh, pw, ph, lw, lh)
   local T = weight.T
   if few.LIMIT == 0 or not T.real then return nil end
   if not (is_count(kw) and is_count(kh) and is_count(dw) and is_count(dh) and is_count(lw) and is_count(lh)) then return nil end
   if not (is_border(pw) and is_border(ph)) or (weight.nd ~= 2 and weight.nd ~= 4) or height < 1 or width < 1 then return nil end
   if count(weight) ~= outputs * planes * kh * kw or not plain(weight, T) then return nil end
   if rows ~= floor((height + 2 * ph - (kh - 1) * lh - 1) / dh) + 1 or rows < 1 then return nil end
   if columns ~= floor((width + 2 * pw - (kw - 1) * lw - 1) / dw) + 1 or columns < 1 then return nil end
   local routine = blas.of_rows(T)
   if not routine then return nil end
   if not windows.set(T.size, images, planes, height, width, rows, columns, kh, kw, dh, dw, ph, pw, lh, lw) then return nil end
   -- With what lies between rows of windows, and in borders.
   local numbers, most = g.length * g.run, convolution.MOST_BYTES / T.size
   local in_blocks = T.size == 4 and planes % 16 == 0 and outputs % 16 == 0 and g.taps > 1
   if images * outputs * numbers > (in_blocks and convolution.MOST_WORK_OF_BLOCKS or convolution.MOST_WORK) then return nil end
   if numbers > most or outputs * g.run > most or g.image > most then return nil end
   return routine
end

-- Whether a kernel covers its image, of which then nothing has to be moved; and whether it has one element.
local function covers()
   return g.rows == 1 and g.columns == 1 and g.ph == 0 and g.pw == 0 and g.kh == g.height and g.kw == g.width
end
local function is_pointwise() return g.taps == 1 and g.in_place end

-- Calls f(first, n) with all images, n after `first` at a time.
local function in_turn(f, ...)
   local images, n = g.images, windows.at_once()
   for first = 0, images - 1, n do f(first, first + n <= images and n or images - first, ...) end
end

local function forward_some(first, n, routine, out, x, weight, bias, outputs)
   local size, run, length = g.size, g.run, g.length
   local columns = windows.unfold(routine, x + first * g.planes * g.height * g.width * size, n)
   local target = out + first * outputs * g.rows * g.columns * size
   local direct = n == 1 and g.wide == g.columns
   local result = direct and target or room('spread', outputs * n * run * size)
   if bias then windows.begin(result, outputs, n * run, bias, outputs) end
   blas.multiply(routine, result, n * run, bias and 1 or 0, 1, weight, 'n', length, columns, 'n', n * run, outputs, length, n * run)
   if not direct then windows.gather(result, target, outputs, n) end
end

-- Pointers: the results of all images at `out`; bias: nil for none.
local function forward(routine, out, x, weight, bias, outputs)
   local size, length, pixels = g.size, g.length, g.rows * g.columns
   if covers() then
      if bias then
         for i = 0, g.images - 1 do ffi.copy(out + i * outputs * size, bias, outputs * size) end
      end
      blas.multiply(routine, out, outputs, bias and 1 or 0, 1, x, 'n', length, weight, 't', length, g.images, length, outputs)
   elseif is_pointwise() then
      if bias then windows.begin(out, g.images * outputs, pixels, bias, outputs) end
      for i = 0, g.images - 1 do
         blas.multiply(routine, out + i * outputs * pixels * size, pixels, bias and 1 or 0, 1, weight, 'n', length,
            x + i * length * pixels * size, 'n', pixels, outputs, length, pixels)
      end
   else
      in_turn(forward_some, routine, out, x, weight, bias, outputs)
   end
end

local function backward_some(first, n, routine, image, gradient, weight, start, outputs)
   local size, run, length = g.size, g.run, g.length
   local spread = windows.spread(gradient + first * outputs * g.rows * g.columns * size, outputs, n)
   local columns = room('columns', length * n * run * size)
   blas.multiply(routine, columns, n * run, 0, 1, weight, 't', length, spread, 'n', n * run, length, outputs, n * run)
   windows.fold(routine, columns, image + first * g.planes * g.height * g.width * size, n, start)
end

-- The images that such results' gradients go to, plus in each plane its number of `start`, if given.
local function backward(routine, image, gradient, weight, start, outputs)
   local size, length, pixels = g.size, g.length, g.rows * g.columns
   local beta = start and 1 or 0
   if covers() or is_pointwise() then
      if start then windows.begin(image, g.images * g.planes, g.height * g.width, start, g.planes) end
   end
   if covers() then
      blas.multiply(routine, image, length, beta, 1, gradient, 'n', outputs, weight, 'n', length, g.images, outputs, length)
   elseif is_pointwise() then
      for i = 0, g.images - 1 do
         blas.multiply(routine, image + i * length * pixels * size, pixels, beta, 1, weight, 't', length,
            gradient + i * outputs * pixels * size, 'n', pixels, length, outputs, pixels)
      end
   else
      in_turn(backward_some, routine, image, gradient, weight, start, outputs)
   end
end

local function accumulate_some(first, n, routine, grad_weight, x, gradient, scale, outputs)
   local size, run, length = g.size, g.run, g.length
   local spread = windows.spread(gradient + first * outputs * g.rows * g.columns * size, outputs, n)
   local columns = windows.unfold(routine, x + first * g.planes * g.height * g.width * size, n)
   blas.multiply(routine, grad_weight, length, 1, scale, spread, 'n', n * run, columns, 't', n * run, outputs, n * run, length)
end

-- Adds scale times the weight's gradient.
local function accumulate(routine, grad_weight, x, gradient, scale, outputs)
   local size, length, pixels = g.size, g.length, g.rows * g.columns
   if covers() then
      blas.multiply(routine, grad_weight, length, 1, scale, gradient, 't', outputs, x, 'n', length, outputs, g.images, length)
   elseif is_pointwise() then
      for i = 0, g.images - 1 do
         blas.multiply(routine, grad_weight, length, 1, scale, gradient + i * outputs * pixels * size, 'n', pixels,
            x + i * length * pixels * size, 't', pixels, outputs, pixels, length)
      end
   else
      in_turn(accumulate_some, routine, grad_weight, x, gradient, scale, outputs)
   end
end

-- Adds scale times the sums of the planes of images to a bias's gradient.
local function accumulate_bias(T, routine, grad_bias, gradient, scale, images, planes, pixels)
   local of_ones = ones(T, pixels)
   for i = 0, images - 1 do
      blas.add_sums(routine, grad_bias, scale, gradient + i * planes * pixels * T.size, planes, pixels, pixels, 1, of_ones)
   end
end

-- What lies between rows of windows must not reach a sum: zero times infinity would.
local function harmless(routine, t)
   return g.wide == g.columns or blas.all_finite(routine, t.T, count(t), bytes_at(t))
end

-- Whether t has the sizes of a batch, or of one image, and its memory is not r's.
local function is_sized(t, nd, images, planes, height, width)
   return t.nd == nd and (nd == 3 or t[1] == images) and t[2 * nd - 5] == planes and t[2 * nd - 3] == height and t[2 * nd - 1] == width
end

local function is_bias(bias, T, n) return not bias or plain(bias, T) and bias.nd == 1 and bias[1] == n end

local function are_images(x) return x.nd == 3 or x.nd == 4 end

local function windows_along(size, span, step, border, dilation) return floor((size + 2 * border - (span - 1) * dilation - 1) / step) + 1 end

-- The phases of a plain convolution. weight: outputs x everything else
local function plain_output(out, x, weight, bias, kw, kh, dw, dh, pw, ph, lw, lh)
   local T = weight.T
   if not are_images(x) or not plain(x, T) or out.T ~= T or not is_apart(out, x, weight, bias) then return false end
   local images, planes, height, width = image_sizes(x)
   local outputs, rows, columns = weight[1], windows_along(height, kh, dh, ph, lh), windows_along(width, kw, dw, pw, lw)
   if not is_bias(bias, T, outputs) then return false end
   local routine = prepare(weight, outputs, images, planes, height, width, rows, columns, kw, kh, dw, dh, pw, ph, lw, lh)
   if not routine or not begin(out, x, rows, columns, outputs) then return false end
   forward(routine, bytes_at(out), bytes_at(x), bytes_at(weight), bias and bytes_at(bias), outputs)
   return true
end

local function plain_grad_input(grad, x, grad_output, weight, kw, kh, dw, dh, pw, ph, lw, lh)
   local T = weight.T
   if not are_images(x) or x.T ~= T or grad.T ~= T or not plain(grad_output, T) then return false end
   if not is_apart(grad, x, grad_output, weight) then return false end
   local images, planes, height, width = image_sizes(x)
   local outputs, rows, columns = weight[1], windows_along(height, kh, dh, ph, lh), windows_along(width, kw, dw, pw, lw)
   if not is_sized(grad_output, x.nd, images, outputs, rows, columns) then return false end
   local routine = prepare(weight, outputs, images, planes, height, width, rows, columns, kw, kh, dw, dh, pw, ph, lw, lh)
   if not routine or not harmless(routine, weight) or not begin(grad, x, height, width) then return false end
   backward(routine, bytes_at(grad), bytes_at(grad_output), bytes_at(weight), nil, outputs)
   return true
end

local function plain_grad_weight(grad_weight, grad_bias, x, grad_output, kw, kh, dw, dh, pw, ph, scale, lw, lh)
   local T = grad_weight.T
   if not are_images(x) or not plain(x, T) or not plain(grad_output, T) then return false end
   if not is_apart(grad_weight, x, grad_output) or grad_bias and not is_apart(grad_bias, x, grad_output) then return false end
   local images, planes, height, width = image_sizes(x)
   local outputs, rows, columns = grad_weight[1], windows_along(height, kh, dh, ph, lh), windows_along(width, kw, dw, pw, lw)
   if not is_sized(grad_output, x.nd, images, outputs, rows, columns) or not is_bias(grad_bias, T, outputs) then return false end
   local routine = prepare(grad_weight, outputs, images, planes, height, width, rows, columns, kw, kh, dw, dh, pw, ph, lw, lh)
   if not routine or not harmless(routine, x) then return false end
   local gradient = bytes_at(grad_output)
   accumulate(routine, bytes_at(grad_weight), bytes_at(x), gradient, scale, outputs)
   if grad_bias then accumulate_bias(T, routine, bytes_at(grad_bias), gradient, scale, images, outputs, rows * columns) end
   return true
end

-- Those of a transposed one: the results are images that a plain one would see. weight: planes of x x planes of the result x kh x kw
local function grown(size, span, step, border, more) return (size - 1) * step - 2 * border + span + more end

local function transposed_output(out, x, weight, bias, dw, dh, pw, ph, aw, ah)
   local T = weight.T
   if not are_images(x) or not plain(x, T) or out.T ~= T or not is_apart(out, x, weight, bias) then return false end
   local images, inputs, rows, columns = image_sizes(x)
   local planes, kh, kw = weight[3], weight[5], weight[7]
   local height, width = grown(rows, kh, dh, ph, ah), grown(columns, kw, dw, pw, aw)
   if weight[1] ~= inputs or not is_bias(bias, T, planes) then return false end
   local routine = prepare(weight, inputs, images, planes, height, width, rows, columns, kw, kh, dw, dh, pw, ph, 1, 1)
   if not routine or not harmless(routine, weight) or not begin(out, x, height, width, planes) then return false end
   backward(routine, bytes_at(out), bytes_at(x), bytes_at(weight), bias and bytes_at(bias), inputs)
   return true
end

local function transposed_grad_input(grad, x, grad_output, weight, dw, dh, pw, ph, aw, ah)
   local T = weight.T
   if not are_images(x) or x.T ~= T or grad.T ~= T or not plain(grad_output, T) then return false end
   if not is_apart(grad, x, grad_output, weight) then return false end
   local images, inputs, rows, columns = image_sizes(x)
   local planes, kh, kw = weight[3], weight[5], weight[7]
   local height, width = grown(rows, kh, dh, ph, ah), grown(columns, kw, dw, pw, aw)
   if weight[1] ~= inputs or not is_sized(grad_output, x.nd, images, planes, height, width) then return false end
   local routine = prepare(weight, inputs, images, planes, height, width, rows, columns, kw, kh, dw, dh, pw, ph, 1, 1)
   if not routine or not begin(grad, x, rows, columns) then return false end
   forward(routine, bytes_at(grad), bytes_at(grad_output), bytes_at(weight), nil, inputs)
   return true
end

local function transposed_grad_parameters(grad_weight, grad_bias, x, grad_output, dw, dh, pw, ph, aw, ah, scale)
   local T = grad_weight.T
   if not are_images(x) or not plain(x, T) or not plain(grad_output, T) then return false end
   if not is_apart(grad_weight, x, grad_output) or grad_bias and not is_apart(grad_bias, x, grad_output) then return false end
   local images, inputs, rows, columns = image_sizes(x)
   local planes, kh, kw = grad_weight[3], grad_weight[5], grad_weight[7]
   local height, width = grown(rows, kh, dh, ph, ah), grown(columns, kw, dw, pw, aw)
   if grad_weight[1] ~= inputs or not is_sized(grad_output, x.nd, images, planes, height, width) then return false end
   if not is_bias(grad_bias, T, planes) then return false end
   local routine = prepare(grad_weight, inputs, images, planes, height, width, rows, columns, kw, kh, dw, dh, pw, ph, 1, 1)
   if not routine or not harmless(routine, grad_output) then return false end
   local gradient = bytes_at(grad_output)
   accumulate(routine, bytes_at(grad_weight), gradient, bytes_at(x), scale, inputs)
   if grad_bias then accumulate_bias(T, routine, bytes_at(grad_bias), gradient, scale, images, planes, height * width) end
   return true
end

local in_lua = kernels.in_lua

function in_lua.spatial_convolution(out, x, weight, bias, kw, kh, dw, dh, pw, ph)
   return plain_output(out, in_one_piece(x), weight, bias, kw, kh, dw, dh, pw, ph, 1, 1)
end
function in_lua.spatial_convolution_grad_input(grad, x, grad_output, weight, kw, kh, dw, dh, pw, ph)
   return plain_grad_input(grad, x, in_one_piece(grad_output), weight, kw, kh, dw, dh, pw, ph, 1, 1)
end
function in_lua.spatial_convolution_grad_weight(grad_weight, grad_bias, x, grad_output, kw, kh, dw, dh, pw, ph, scale)
   return plain_grad_weight(grad_weight, grad_bias, in_one_piece(x), in_one_piece(grad_output), kw, kh, dw, dh, pw, ph, scale, 1, 1)
end

-- Of images by steps, borders and dilations, or what transposed ones add at the end; more numbers are those of volumes.
function in_lua.convolution(out, x, weight, bias, kind, dw, dh, pw, ph, c, d, e)
   if weight.nd ~= 4 or e then return false end
   if kind == 'transposed' then return transposed_output(out, in_one_piece(x), weight, bias, dw, dh, pw, ph, c or 0, d or 0) end
   return plain_output(out, in_one_piece(x), weight, bias, weight[7], weight[5], dw, dh, pw, ph, c or 1, d or 1)
end
function in_lua.convolution_grad_input(grad, x, grad_output, weight, bias, kind, dw, dh, pw, ph, c, d, e)
   if weight.nd ~= 4 or e then return false end
   if kind == 'transposed' then return transposed_grad_input(grad, x, in_one_piece(grad_output), weight, dw, dh, pw, ph, c or 0, d or 0) end
   return plain_grad_input(grad, x, in_one_piece(grad_output), weight, weight[7], weight[5], dw, dh, pw, ph, c or 1, d or 1)
end
function in_lua.convolution_grad_parameters(grad_weight, grad_bias, x, grad_output, weight, bias, scale, kind, dw, dh, pw, ph, c, d, e)
   if grad_weight.nd ~= 4 or e or not memory.same_size(weight, grad_weight) then return false end
   x, grad_output = in_one_piece(x), in_one_piece(grad_output)
   if kind == 'transposed' then
      return transposed_grad_parameters(grad_weight, grad_bias, x, grad_output, dw, dh, pw, ph, c or 0, d or 0, scale)
   end
   return plain_grad_weight(grad_weight, grad_bias, x, grad_output, weight[7], weight[5], dw, dh, pw, ph, scale, c or 1, d or 1)
end

return convolution
