-- Upsampling of images and volumes of few elements, in LuaJIT, by repeating elements or by a matrix product along each
-- axis. Elements along the axes that follow are processed together, so each axis is one product. Zeros of the matrices
-- are multiplied, too, so numbers that are not finite are left to Python.
local ffi = require 'ffi'
local types = require 'torch.core.types'
local memory = require 'torch.core.memory'
local blas = require 'torch.luajit.blas'
local luajit, no = require('torch.core.ways').of_kernels()
local gates = require 'nn.shared.luajit.gates'
local geometry = require 'nn.shared.luajit.geometry'
local rooms = require 'nn.shared.luajit.scratch'
local window_sums = require 'nn.shared.luajit.window_sums'

local floor, min = math.floor, math.min
local bytes_at, room, first_element = rooms.bytes_at, rooms.room, memory.first_element

local MOST = 2 ^ 16 -- elements of the larger images; above that, PyTorch's threads are faster
local MOST_OF_MATRIX = 2 ^ 15
local MOST_KEPT = 32 -- matrices of each kind

-- Functions that fill M: M[i * n + j] is the weight of element j of n in element i of `size`.
local fill = {}

function fill.nearest(M, n, size)
   local times = size / n
   for i = 0, size - 1 do M[i * n + floor(i / times)] = 1 end
end

-- Corners are aligned. Positions are computed in single precision, as in Torch7.
function fill.linear(M, n, size, T)
   local single = types.Float.cast
   local step = single(size > 1 and (n - 1) / (size - 1) or 0)
   for i = 0, size - 1 do
      local place = single(step * i)
      local lower = min(floor(place), n - 1)
      local fraction, upper = T.cast(place - lower), min(lower + 1, n - 1)
      M[i * n + lower] = M[i * n + lower] + T.cast(1 - fraction)
      M[i * n + upper] = M[i * n + upper] + fraction
   end
end

-- The matrix of an axis from n to `size` elements, each with `rest` elements: (size * rest) x (n * rest). Cached by
-- type.
local kept, number_kept = {}, 0

local function matrix(kind, T, n, size, rest)
   local name = kind .. T.name
   local key = (n * 2 ^ 16 + size) * 2 ^ 16 + rest
   local of_name = kept[name]
   if not of_name or number_kept > MOST_KEPT then
      if number_kept > MOST_KEPT then kept, number_kept = {}, 0 end
      of_name = {}
      kept[name] = of_name
   end
   if not of_name[key] then
      local M, spread = ffi.new(T.array, size * n), ffi.new(T.array, size * n * rest * rest)
      fill[kind](M, n, size, T)
      for i = 0, size - 1 do
         for j = 0, n - 1 do
            local first = i * rest * n * rest + j * rest
            for k = 0, rest - 1 do spread[first + k * (n * rest + 1)] = M[i * n + j] end
         end
      end
      of_name[key], number_kept = spread, number_kept + 1
   end
   return of_name[key]
end

-- Completes the geometry of x, whose last axes become height and width, or depth, height and width:
--    axes: from 1, each with its elements before (n) and after (size), and for its product the number of rows, and of
--    the smaller images' elements after it (rest)
local function completing(kind)
   return function(g, x)
      local sizes = g.depth and { g.depth, g.height, g.width } or { g.height, g.width }
      if not gates.planes(x, #sizes) or not gates.whole(1, g.height, g.width, g.depth) then return false end
      local first, planes, rest = x.nd - #sizes, 1, 1
      for d = 1, first do planes = planes * x[2 * d - 1] end
      g.axes = {}
      for k, size in ipairs(sizes) do
         local n = x[2 * (first + k) - 1]
         if kind == 'nearest' and size % n ~= 0 then return no 'sizes that are not multiples' end
         g.axes[k], planes = { n = n, size = size, rows = planes }, planes * size
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
   end
end

local function enlarge(kind, g, out, x)
   local T = x.T
   if not g or not (gates.typed(T, x, out) and gates.plain(x, T) and gates.apart(out, x) and gates.finite(x)
      and gates.begun(out, x, g.height, g.width, nil, g.depth)) then
      return false
   end
   local from, routine = bytes_at(x), blas.of_rows(T)
   for k, axis in ipairs(g.axes) do
      local n, size = axis.n * axis.rest, axis.size * axis.rest
      local to = k == #g.axes and bytes_at(out) or room('enlarged' .. k, axis.rows * size * T.size)
      routine.multiply_transposed(to, 0, 1, from, matrix(kind, T, axis.n, axis.size, axis.rest), axis.rows, n, size)
      from = to
   end
   return true
end

local function enlarge_gradient(kind, g, gradient, x, grad_output)
   local T = x.T
   if not g or not (gates.typed(T, x, gradient, grad_output) and gates.plain(grad_output, T)
      and gates.sized(grad_output, x, g.height, g.width, nil, g.depth) and gates.apart(gradient, x, grad_output)
      and gates.finite(grad_output) and gates.resized_as(gradient, x)) then
      return false
   end
   local from, routine = bytes_at(grad_output), blas.of_rows(T)
   for k = #g.axes, 1, -1 do
      local axis = g.axes[k]
      local n, size = axis.n * axis.rest, axis.size * axis.rest
      local to = k == 1 and bytes_at(gradient) or room('reduced' .. k, axis.rows * n * T.size)
      routine.multiply(to, 0, 1, from, matrix(kind, T, axis.n, axis.size, axis.rest), axis.rows, size, n)
      from = to
   end
   return true
end

-- Each element becomes a window: copies the elements q to the windows in p, or sums the windows in q into p, rounded to
-- the type after each step, as in Torch7.
local repeat_elements = window_sums.loop{ window = 'local s = $read(q, k) $all(p[$at] = s)' }
local add_up = window_sums.sums '$each($1){p[k + @]} = $each($1){s@}'

-- The geometry of the larger images t: one window for each element of x.
local of_windows = window_sums.geometry_of('kw, kh, dw, dh', function(g, t)
   return window_sums.complete(g, t, MOST)
end)
local function windows_over(t, x, height, width)
   local nd = x.nd
   local kh, kw = height / x[2 * nd - 3], width / x[2 * nd - 1]
   return of_windows(t, kw, kh, kw, kh)
end

local function repeated(out, x, height, width)
   if not (gates.planes(x, 2) and gates.whole(1, height, width)) then return false end
   x = rooms.in_one_piece(x)
   if not (gates.few_for_now(memory.count(x), MOST) and gates.typed(x.T, x, out) and gates.plain(x, x.T)
      and gates.apart(out, x)
      and gates.begun(out, x, height, width)) then
      return false
   end
   local g = windows_over(out, x, height, width)
   if not g or not window_sums.is_for_now(g) then return false end
   repeat_elements(x.T, g.taps, window_sums.reads_plainly(x))(g, first_element(out), first_element(x))
   return true
end

local function summed(gradient, x, grad_output, height, width)
   if not (gates.planes(x, 2) and gates.typed(x.T, x, gradient, grad_output)
      and gates.sized(grad_output, x, height, width)) then
      return false
   end
   return window_sums.reduce(add_up, windows_over(grad_output, x, height, width), gradient, grad_output)
end

for _, kind in ipairs{ 'linear', 'nearest' } do
   local of_images, of_volumes = geometry.of('height, width', 'depth, axes', completing(kind)),
      geometry.of('depth, height, width', 'axes', completing(kind))
   local function geometry_of(x, first, second, third)
      if third then return of_volumes(x, first, second, third) end
      return of_images(x, first, second)
   end
   luajit['upsample_' .. kind] = function(out, x, first, second, third)
      return kind == 'nearest' and not third and repeated(out, x, first, second)
         or enlarge(kind, geometry_of(x, first, second, third), out, x)
   end
   luajit['upsample_' .. kind .. '_gradient'] = function(gradient, x, grad_output, first, second, third)
      return kind == 'nearest' and not third and summed(gradient, x, grad_output, first, second)
         or enlarge_gradient(kind, geometry_of(x, first, second, third), gradient, x, grad_output)
   end
end
