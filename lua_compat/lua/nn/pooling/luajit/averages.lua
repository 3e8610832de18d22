-- Means of windows of images and volumes of few elements.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local is_apart = require('torch.core.overlap').is_apart
local ways = require 'torch.core.ways'
local rooms = require 'nn.shared.luajit.scratch'
local fields = require 'nn.shared.luajit.geometry_key'
local window_sums = require 'nn.shared.luajit.window_sums'

local luajit = ways.luajit
local first_element, is_contiguous, in_one_piece = memory.first_element, memory.is_contiguous, rooms.in_one_piece
local min, max = math.min, math.max
local g = window_sums.geometry

-- p = the means of q; the elements of p become larger by what the gradients q of the means are for each. a:
-- how many elements count of each window of all planes. Sums and quotients are rounded to the type at each
-- step, as Torch7's.
local average = window_sums.sums 'EACH(p[k + @]) = EACH(s@ / a[k + @])'
local distribute = window_sums.loop{ EACH = 'local s = cast(READ(q, k) / a[k]) ALL(p[AT] = READ(p, AT) + s)' }

-- The elements of each window that count, those of the border among them or not: kept while the geometry
-- stays.
local divisors, room_for_divisors, known = ffi.new('int32_t[?]', 1), 1, {}
local count_alike, take_counts, forget_counts = fields{ 'all', 'time', 'height', 'width', 'frames', 'rows',
   'columns', 'kt', 'kh', 'kw', 'dt', 'dh', 'dw', 'ph', 'pw' }
local function find_divisors(with_border)
   with_border = with_border or g.ph == 0 and g.pw == 0
   if known.with_border == with_border and count_alike(known, g) then return divisors end
   forget_counts(known)
   if g.n > room_for_divisors then
      divisors = ffi.new('int32_t[?]', g.n)
      room_for_divisors = g.n
   end
   local above, before = with_border and 0 or g.ph, with_border and 0 or g.pw
   local bottom, right = g.height + 2 * g.ph - above, g.width + 2 * g.pw - before
   local row, column = 0, 0
   for k = 0, g.n - 1 do
      local top, left = row * g.dh, column * g.dw
      local rows, columns = min(top + g.kh, bottom) - max(top, above), min(left + g.kw, right) - max(left, before)
      divisors[k] = g.kt * rows * columns
      column = column + 1
      if column == g.columns then column, row = 0, row + 1 end
      if row == g.rows then row = 0 end
   end
   known.with_border = with_border
   take_counts(known, g)
   return divisors
end

-- Means of windows of x, in one piece, that are set.
local function means(out, x, with_border)
   return window_sums.run(average, x, nil, first_element(out), window_sums.elements(x), nil,
      find_divisors(with_border))
end

-- The gradients of windows of x that are set.
local function slopes(gradient, x, grad_output, with_border)
   if not window_sums.are_results(grad_output, x) then return false end
   grad_output = in_one_piece(grad_output)
   if gradient.T ~= x.T or not is_apart(gradient, grad_output) or not is_contiguous(grad_output) then return false end
   memory.resize_as(gradient, x)
   if not is_contiguous(gradient) then return false end
   local p = window_sums.zeros(gradient)
   window_sums.run(distribute, grad_output, nil, p, first_element(grad_output), nil,
      find_divisors(with_border))
   window_sums.write(gradient, p)
   return true
end

function luajit.spatial_average_pooling(out, x, kw, kh, dw, dh, pw, ph, by_ceil, with_border)
   if not window_sums.set(x, kw, kh, dw, dh, pw, ph, by_ceil) then return false end
   x = in_one_piece(x)
   if out.T ~= x.T or not is_apart(out, x) or not is_contiguous(x)
      or not rooms.begin(out, x, g.rows, g.columns) then
      return false
   end
   return means(out, x, with_border)
end

function luajit.spatial_average_pooling_grad_input(gradient, x, grad_output, kw, kh, dw, dh, pw, ph, by_ceil,
   with_border)
   return window_sums.set(x, kw, kh, dw, dh, pw, ph, by_ceil)
      and slopes(gradient, x, grad_output, with_border)
end

-- Sets windows of a volume; those with a border, or of which the number is rounded up, are Python's.
local function set_volumes(x, kt, kw, kh, dt, dw, dh, pt, pw, ph, by_ceil)
   if pt and not (pt == 0 and pw == 0 and ph == 0 and by_ceil == 0) then return false end
   return window_sums.set_volumes(x, kt, kw, kh, dt, dw, dh)
end

function luajit.volumetric_average_pooling(out, x, ...)
   if not set_volumes(x, ...) then return false end
   x = in_one_piece(x)
   if out.T ~= x.T or not is_apart(out, x) or not is_contiguous(x) then return false end
   return rooms.begin_volumes(out, x, g.rows, g.columns, nil, g.frames) and means(out, x, true)
end

function luajit.volumetric_average_pooling_gradient(gradient, x, grad_output, ...)
   return set_volumes(x, ...) and slopes(gradient, x, grad_output, true)
end
