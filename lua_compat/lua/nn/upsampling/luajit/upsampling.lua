-- Larger images and volumes of few elements, computed here: elements of images repeated, or
-- products with a matrix for each axis. Where further axes follow, it moves their elements together, so that each axis
-- is one product however the elements lie. Zeros of the matrices are multiplied, too: what is not finite is Python's.
local ffi = require 'ffi'
local types = require 'torch.core.types'
local memory = require 'torch.core.memory'
local few = require 'torch.luajit.elementwise'
local blas = require 'torch.luajit.blas'
local ways = require 'torch.core.ways'
local rooms = require 'nn.shared.luajit.scratch'
local window_sums = require 'nn.shared.luajit.window_sums'
local is_apart = require('torch.core.overlap').is_apart

local luajit = ways.luajit
local select, floor, min = select, math.floor, math.min
local count, plain, bytes_at, room = memory.count, rooms.plain, rooms.bytes_at, rooms.room

local MOST = 2 ^ 16 -- elements of the larger images; for more PyTorch has several threads
local MOST_OF_MATRIX = 2 ^ 15
local MOST_KEPT = 32 -- matrices of a kind

-- What each fills with M, where M[i * n + j] is how much element j of n counts for element i of `size`.
local fill = {}

function fill.nearest(M, n, size)
   local times = size / n
   for i = 0, size - 1 do M[i * n + floor(i / times)] = 1 end
end

-- Ends lie on ends. Places are worked out in single precision, as Torch7 does.
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

-- The matrix of an axis of n elements that become `size`, each `rest` elements together: (size * rest) x (n * rest).
-- Kept by type.
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

-- Axes of the images at hand, from 0: elements of the smaller and of the larger ones.
local smaller, larger = {}, {}

-- Sets them to the last axes of x and the given sizes; how many axes and planes there are; nil where that is for
-- Python.
local function set_axes(kind, x, ...)
   local axes, first, planes, of_larger = select('#', ...), x.nd - select('#', ...), 1, 1
   if few.LIMIT == 0 or not x.T.real or not x.T.here or axes < 2 or axes > 3 or first < 1 then return nil end
   for d = 1, first do planes = planes * x[2 * d - 1] end
   for axis = 0, axes - 1 do
      local n, size = x[2 * (first + axis) + 1], (select(axis + 1, ...))
      if not (size >= 1) or size % 1 ~= 0 or kind == 'nearest' and size % n ~= 0 then return nil end
      smaller[axis], larger[axis], of_larger = n, size, of_larger * size
   end
   if planes * of_larger > MOST then return nil end
   local rest = 1
   for axis = axes - 1, 0, -1 do
      if smaller[axis] * larger[axis] * rest * rest > MOST_OF_MATRIX then return nil end
      rest = rest * smaller[axis]
   end
   return axes, planes
end

-- For the product along an axis: how many rows there are, and how many elements of smaller images lie behind it.
local function along(axis, axes, planes)
   local rows, rest = planes, 1
   for before = 0, axis - 1 do rows = rows * larger[before] end
   for behind = axis + 1, axes - 1 do rest = rest * smaller[behind] end
   return rows, rest
end

-- Gives r the sizes of x, but for its last axes; whether its elements lie in one piece.
local function begin(r, x, axes, sizes)
   local wanted = {}
   for d = 1, x.nd do wanted[d] = x[2 * d - 1] end
   for axis = 0, axes - 1 do wanted[x.nd - axes + axis + 1] = sizes[axis] end
   memory.resize(r, x.nd, wanted)
   return plain(r, x.T)
end

local function finite(T, t) return blas.all_finite(blas.of_rows(T), T, count(t), bytes_at(t)) end

local function enlarge(kind, out, x, ...)
   local T = x.T
   local axes, planes = set_axes(kind, x, ...)
   local routine = axes and blas.of_rows(T)
   if not routine or not plain(x, T) or out.T ~= T or not is_apart(out, x) or not finite(T, x) then return false end
   if not begin(out, x, axes, larger) then return false end
   local from = bytes_at(x)
   for axis = 0, axes - 1 do
      local rows, rest = along(axis, axes, planes)
      local n, size = smaller[axis] * rest, larger[axis] * rest
      local to = axis == axes - 1 and bytes_at(out) or room('enlarged' .. axis, rows * size * T.size)
      blas.multiply(routine, to, size, 0, 1, from, 'n', n, matrix(kind, T, smaller[axis], larger[axis], rest), 't', n,
         rows, n, size)
      from = to
   end
   return true
end

local function enlarge_gradient(kind, grad, x, grad_output, ...)
   local T = x.T
   local axes, planes = set_axes(kind, x, ...)
   local routine = axes and blas.of_rows(T)
   if not routine or not plain(grad_output, T) or grad.T ~= T or grad_output.nd ~= x.nd
      or not is_apart(grad, x, grad_output) then
      return false
   end
   for d = 1, x.nd do
      local axis = d - 1 - (x.nd - axes)
      if grad_output[2 * d - 1] ~= (axis < 0 and x[2 * d - 1] or larger[axis]) then return false end
   end
   if not finite(T, grad_output) or not begin(grad, x, 0) then return false end
   local from = bytes_at(grad_output)
   for axis = axes - 1, 0, -1 do
      local rows, rest = along(axis, axes, planes)
      local n, size = smaller[axis] * rest, larger[axis] * rest
      local to = axis == 0 and bytes_at(grad) or room('reduced' .. axis, rows * n * T.size)
      blas.multiply(routine, to, n, 0, 1, from, 'n', size, matrix(kind, T, smaller[axis], larger[axis], rest), 'n', n,
         rows, size, n)
      from = to
   end
   return true
end

-- Images of which each element becomes a window: p, the windows' elements, become q's, or p the sums of the windows of
-- q, rounded to the type at each step, as Torch7's.
local repeat_elements = window_sums.loop{ EACH = 'local s = READ(q, k) ALL(p[AT] = s)' }
local add_up = window_sums.sums 'EACH(p[k + @]) = EACH(s@)'

-- Whether the images t, of height x width, have a window for each element of x.
local function set_windows(t, x, height, width)
   local nd = x.nd
   if nd ~= 3 and nd ~= 4 then return false end
   local kh, kw = height / x[2 * nd - 3], width / x[2 * nd - 1]
   return window_sums.set(t, kw, kh, kw, kh, 0, 0, false, MOST)
end

local function repeated(out, x, height, width, depth)
   if depth or out.T ~= x.T or x.nd ~= 3 and x.nd ~= 4 or not (height >= 1 and width >= 1)
      or memory.count(x) * height * width == 0 then
      return false
   end
   x = rooms.in_one_piece(x)
   if not memory.is_contiguous(x) or not is_apart(out, x) or not rooms.begin(out, x, height, width) then
      return false
   end
   return set_windows(out, x, height, width) and window_sums.run(repeat_elements, x, nil, memory.first_element(out),
      memory.first_element(x))
end

local function summed(grad, x, grad_output, height, width, depth)
   local nd = x.nd
   if depth or grad.T ~= x.T or grad_output.T ~= x.T or nd ~= 3 and nd ~= 4 or grad_output.nd ~= nd then
      return false
   end
   if grad_output[2 * nd - 3] ~= height or grad_output[2 * nd - 1] ~= width
      or not set_windows(grad_output, x, height, width) then
      return false
   end
   grad_output = rooms.in_one_piece(grad_output)
   if not window_sums.are_results(x, grad_output) or not memory.is_contiguous(grad_output)
      or not is_apart(grad, grad_output) then
      return false
   end
   memory.resize_as(grad, x)
   return memory.is_contiguous(grad) and window_sums.run(add_up, grad_output, nil, memory.first_element(grad),
      memory.first_element(grad_output))
end

function luajit.upsample_linear(...) return enlarge('linear', ...) end
function luajit.upsample_linear_gradient(...) return enlarge_gradient('linear', ...) end
function luajit.upsample_nearest(...) return repeated(...) or enlarge('nearest', ...) end
function luajit.upsample_nearest_gradient(...) return summed(...) or enlarge_gradient('nearest', ...) end
