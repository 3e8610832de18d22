-- Upsampling of images and volumes of few elements, in LuaJIT, by repeating elements, or by interpolation as a matrix
-- product along each axis. Elements along the axes that follow are processed together, so each axis is one product.
-- Zeros of the matrices are multiplied, too, so there numbers that are not finite are left to Python.
local ffi = require 'ffi'
local types = require 'torch.core.types'
local memory = require 'torch.core.memory'
local blas = require 'torch.luajit.blas'
local luajit = require('torch.core.ways').luajit
local gates = require 'nn.shared.luajit.gates'
local geometry = require 'nn.shared.luajit.geometry'
local rooms = require 'nn.shared.luajit.scratch'
local window_sums = require 'nn.shared.luajit.window_sums'

local floor, min = math.floor, math.min
local bytes_at, room, first_element = rooms.bytes_at, rooms.room, memory.first_element

local MOST = 2 ^ 16 -- elements of the larger images; above that, PyTorch's threads are faster
local MOST_OF_MATRIX = 2 ^ 15
local MOST_KEPT = 32 -- matrices

-- The matrix that interpolates along an axis from n to `size` elements, each with `rest` elements: (size * rest) x
-- (n * rest). Corners are aligned. Positions are computed in single precision, as in Torch7. The matrices are cached.
local kept, number_kept = {}, 0
local function matrix(T, n, size, rest)
   local key = ((T.code * 2 ^ 16 + n) * 2 ^ 16 + size) * 2 ^ 16 + rest
   if not kept[key] then
      if number_kept == MOST_KEPT then kept, number_kept = {}, 0 end
      local M, single = ffi.new(T.array, size * n * rest * rest), types.Float.cast
      local step = single(size > 1 and (n - 1) / (size - 1) or 0)
      for i = 0, size - 1 do
         local place = single(step * i)
         local lower = min(floor(place), n - 1)
         local fraction, upper = T.cast(place - lower), min(lower + 1, n - 1)
         for k = 0, rest - 1 do
            local row = (i * rest + k) * n * rest + k
            M[row + lower * rest] = M[row + lower * rest] + T.cast(1 - fraction)
            M[row + upper * rest] = M[row + upper * rest] + fraction
         end
      end
      kept[key], number_kept = M, number_kept + 1
   end
   return kept[key]
end

-- Completes the geometry of x, whose last axes become height and width, or depth, height and width:
--    axes: from 1, each with its elements before (n) and after (size), and for its product the number of rows, and of
--    the smaller images' elements after it (rest)
local geometry_of = geometry.of('height, width, depth', 'axes', function(g, x)
   local sizes = g.depth and { g.depth, g.height, g.width } or { g.height, g.width }
   if not gates.planes(x, #sizes) or not gates.whole(1, g.height, g.width, g.depth) then return false end
   local first, planes, rest = x.nd - #sizes, 1, 1
   for d = 1, first do planes = planes * x[2 * d - 1] end
   g.axes = {}
   for k, size in ipairs(sizes) do
      g.axes[k], planes = { n = x[2 * (first + k) - 1], size = size, rows = planes }, planes * size
   end
   for k = #sizes, 1, -1 do
      local axis = g.axes[k]
      axis.rest = rest
      if not gates.within(axis.n * axis.size * rest * rest, MOST_OF_MATRIX, 'a matrix of more than %d elements') then
         return false
      end
      rest = rest * axis.n
   end
   return gates.few(planes, MOST) and g
end)

-- The sizes a x b of an image or a x b x c of a volume as height, width and depth.
local function ordered(a, b, c)
   if c then return b, c, a end
   return a, b
end

function luajit.upsample_linear(out, x, a, b, c)
   local T, g = x.T, geometry_of(x, ordered(a, b, c))
   if not (g and gates.result(out, x, g.height, g.width, nil, g.depth) and gates.finite(x)) then return false end
   local from, routine = bytes_at(x), blas.of_rows(T)
   for k, axis in ipairs(g.axes) do
      local n, size = axis.n * axis.rest, axis.size * axis.rest
      local to = k == #g.axes and bytes_at(out) or room('enlarged' .. k, axis.rows * size * T.size)
      routine.multiply_transposed(to, 0, 1, from, matrix(T, axis.n, axis.size, axis.rest), axis.rows, n, size)
      from = to
   end
   return true
end

function luajit.upsample_linear_gradient(gradient, x, grad_output, a, b, c)
   local T, g = x.T, geometry_of(x, ordered(a, b, c))
   if not (g and gates.gradient(gradient, x, grad_output, g.height, g.width, nil, g.depth)
      and gates.finite(grad_output)) then
      return false
   end
   local from, routine = bytes_at(grad_output), blas.of_rows(T)
   for k = #g.axes, 1, -1 do
      local axis = g.axes[k]
      local n, size = axis.n * axis.rest, axis.size * axis.rest
      local to = k == 1 and bytes_at(gradient) or room('reduced' .. k, axis.rows * n * T.size)
      routine.multiply(to, 0, 1, from, matrix(T, axis.n, axis.size, axis.rest), axis.rows, size, n)
      from = to
   end
   return true
end

-- Each element becomes a window: copies the elements q to the windows in p, or sums the windows in q into p, rounded to
-- the type after each step, as in Torch7.
local repeat_elements = window_sums.loop{ window = 'local s = $read(q, k) $all(p[$at] = s)' }
local add_up = window_sums.sums '$each($1){p[k + @]} = $each($1){s@}'

-- The geometry of the larger images t: one window for each element of x.
local of_windows = window_sums.geometry_of('kw, kh, kt', function(g, t)
   g.dw, g.dh, g.dt = g.kw, g.kh, g.kt
   return window_sums.complete(g, t, MOST)
end)
local function windows_over(t, x, height, width, depth)
   local last = 2 * x.nd - 1
   return of_windows(t, width / x[last], height / x[last - 2], depth and depth / x[last - 4])
end

function luajit.upsample_nearest(out, x, a, b, c)
   local height, width, depth = ordered(a, b, c)
   if not (gates.planes(x, depth and 3 or 2) and gates.whole(1, height, width, depth)) then return false end
   x = rooms.in_one_piece(x)
   local g = gates.few_for_now(memory.count(x), MOST) and gates.result(out, x, height, width, nil, depth)
      and windows_over(out, x, height, width, depth)
   return g and window_sums.is_for_now(g)
      and repeat_elements(x.T, g.taps, window_sums.reads_plainly(x))(g, first_element(out), first_element(x))
end

function luajit.upsample_nearest_gradient(gradient, x, grad_output, a, b, c)
   local height, width, depth = ordered(a, b, c)
   return gates.planes(x, depth and 3 or 2) and gates.typed(x.T, x, gradient, grad_output)
      and gates.sized(grad_output, x, height, width, nil, depth)
      and window_sums.reduce(add_up, windows_over(grad_output, x, height, width, depth), gradient, grad_output)
end
