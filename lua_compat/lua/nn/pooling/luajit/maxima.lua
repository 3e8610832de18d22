-- Max-pooling of few images and volumes, and its gradients, which go to the positions of the maxima.
--
-- LuaJIT enters a loop anew each time, which costs as much as a small window. So one loop covers all windows of all
-- planes, and small windows are unrolled in it. Which element is the largest is random, so a branch would be
-- mispredicted. Instead, the position is computed: for all elements but the maximum, the difference to it is scaled to
-- minus infinity, and the largest negated position remains. All numbers are finite.
local ffi = require 'ffi'
local types = require 'torch.core.types'
local memory = require 'torch.core.memory'
local few = require 'torch.luajit.elementwise'
local blas = require 'torch.luajit.blas'
local luajit, no = require('torch.core.ways').of_kernels()
local templates = require 'torch.core.templates'
local rooms = require 'nn.shared.luajit.scratch'
local gates = require 'nn.shared.luajit.gates'
local geometry = require 'nn.shared.luajit.geometry'

local count, first_element = memory.count, memory.first_element
local floor, ceil, max, cast, copy = math.floor, math.ceil, math.max, ffi.cast, ffi.copy
local halves = ffi.typeof 'int32_t *'

local maxima = {}

local MOST = 2 ^ 17 -- elements of all images; for more, several threads are faster
local MOST_WINDOWS, MOST_TAPS = 2 ^ 15, 1024
local MOST_OF_GRADIENTS = 2 ^ 15 -- elements; PyTorch needs several operators for a new gradient and the positions

-- One dimension: its size, the number of windows, their stride, the border in front, the number of elements that a
-- window reads, their distance (dilation), and the size with the border, as far as windows read.
local function axis(size, n, step, border, span, dilation, reach)
   return { size = size, count = n, step = step, border = border, span = span, dilation = dilation,
      reach = reach or (n - 1) * step + dilation * (span - 1) + 1 }
end

maxima.axis = axis

-- Whether every window reads an element outside the border.
local function all_reach(size, span, step, border, dilation)
   for first = -border, -1, step do
      local tap = ceil(-first / dilation)
      if tap >= span or first + tap * dilation >= size then return false end
   end
   return true
end

-- A dimension with its windows counted as the layer does.
local function counted_axis(size, span, step, border, dilation, by_ceil)
   border = border or 0
   local n = gates.windows(size, span, step, border, dilation, by_ceil)
   if not n then return false end
   if border > 0 and not all_reach(size, span, step, border, dilation) then return no 'windows in the border' end
   return axis(size, n, step, border, span, dilation)
end

-- The offsets of a window's elements from its first: in the image, then in the memory that is read.
local function offsets_of(time, row, column)
   local n, taps = time.span * row.span * column.span, 0
   local offsets = ffi.new('int32_t[?]', 2 * n)
   for t = 0, time.span - 1 do
      for r = 0, row.span - 1 do
         local image = (t * time.dilation * row.size + r * row.dilation) * column.size
         local memory_read = (t * time.dilation * row.reach + r * row.dilation) * column.reach
         for c = 0, column.span - 1 do
            offsets[taps], offsets[n + taps] = image + c * column.dilation, memory_read + c * column.dilation
            taps = taps + 1
         end
      end
   end
   return offsets
end

-- Where each window begins: in the memory that is read, and in its plane of the image (from 1). (They are kept in
-- memory because LuaJIT then knows that they are whole numbers.)
local function lay_out(g)
   local time, row, column = g.time, g.row, g.column
   local begins, places = ffi.new('int32_t[?]', g.n), ffi.new('int32_t[?]', g.n)
   g.begins, g.places, g.bytes = begins, places, 8 * g.n
   local k, wide, width = 0, column.reach, column.size
   local first = 1 - (time.border * row.size + row.border) * width - column.border
   for t = 0, time.count - 1 do
      for r = 0, row.count - 1 do
         local at, place = (t * time.step * row.reach + r * row.step) * wide,
            first + (t * time.step * row.size + r * row.step) * width
         for c = 0, column.count - 1 do
            begins[k], places[k] = at + c * column.step, place + c * column.step
            k = k + 1
         end
      end
   end
   local plane = time.reach * row.reach * wide
   for w = k, g.n - 1 do begins[w], places[w] = begins[w - k] + plane, places[w - k] end
end

-- Completes the geometry g of windows over x from its dimensions, except for where the windows begin.
maxima.FIELDS = ', time, row, column, frames, pixels, windows, planes, taps, n, offsets'
function maxima.complete(g, x, time, row, column)
   g.time, g.row, g.column, g.frames = time, row, column, g.kt and time.count
   g.pixels, g.windows = time.size * row.size * column.size, time.count * row.count * column.count
   g.planes, g.taps = count(x) / g.pixels, time.span * row.span * column.span
   g.n = g.planes * g.windows
   if not gates.within(g.taps, MOST_TAPS, 'more than %d numbers in a window')
      or not gates.within(g.n, MOST_WINDOWS, 'more than %d windows') then
      return false
   end
   g.offsets = offsets_of(time, row, column)
   return g
end

-- The geometry of windows counted as a layer does. Volumes have kt, dt etc., too.
local function count_windows(g, x)
   local last, by_ceil = 2 * g.nd - 1, g.by_ceil
   local time = not g.kt and axis(1, 1, 1, 0, 1, 1) or counted_axis(x[last - 4], g.kt, g.dt, g.pt, g.lt, by_ceil)
   local row = time and counted_axis(x[last - 2], g.kh, g.dh, g.ph, g.lh or 1, by_ceil)
   local column = row and counted_axis(x[last], g.kw, g.dw, g.pw, g.lw or 1, by_ceil)
   if not column then return false end
   local axes = { time, row, column }
   for _, one in ipairs(axes) do g.bordered = g.bordered or one.border > 0 or one.reach > one.size end
   for _, one in ipairs(axes) do one.reach = g.bordered and max(one.reach, one.size + one.border) or one.size end
   if not maxima.complete(g, x, time, row, column) then return false end
   lay_out(g)
   return g
end
local geometry_of = geometry.of('kw, kh, dw, dh, pw, ph, by_ceil, lw, lh, kt, dt, pt, lt',
   maxima.FIELDS .. ', bordered, begins, places', count_windows)

local LOOP = [[
   local HUGE, LEAST = 1e308, -1e300 -- less than any number of which the square is finite
   return function(p, places, q, g, begins, first_places)
      local offsets, taps = g.offsets, g.taps
      for k = 0, g.n - 1 do
         local at = begins[k]
         $body
      end
   end
]]

-- max(...) of these texts as a balanced tree, so that a maximum does not wait for all those before it.
local function greatest(texts, first, last)
   if first == last then return texts[first] end
   local middle = floor((first + last) / 2)
   return ('max(%s, %s)'):format(greatest(texts, first, middle), greatest(texts, middle + 1, last))
end

local written_out = 64 -- elements of the largest unrolled window

-- The loop's body for windows of `taps` elements; nil: for larger ones.
local function body_of(taps)
   if not taps then
      return [[
         local best, place = LEAST, 0
         for tap = 0, taps - 1 do
            local x = q[at + offsets[taps + tap] ]
            place = max(place, min((x - best) * HUGE * HUGE, 1) * tap)
            best = max(best, x)
         end
         place = tobit(place)
         p[k], places[k] = q[at + offsets[taps + place] ], first_places[k] + offsets[place] ]]
   end
   local lines, numbers, places = {}, {}, {}
   for k = 0, taps - 1 do
      lines[k + 1], numbers[k + 1] = ('local x%d = q[at + offsets[taps + %d] ]'):format(k, k), 'x' .. k
      places[k + 1] = ('(x%d - best) * HUGE * HUGE - %d'):format(k, k)
   end
   lines[taps + 1] = 'local best = ' .. greatest(numbers, 1, taps)
   lines[taps + 2] = 'local last = ' .. greatest(places, 1, taps)
   lines[taps + 3] = 'local place = tobit(-last)'
   lines[taps + 4] = 'p[k], places[k] = q[at + offsets[taps + place] ], first_places[k] + offsets[place]'
   return table.concat(lines, '\n')
end

-- One loop for each number of taps and type, because traces are for one type of memory.
local loops = {}
local function loop_for(taps, T)
   if taps > written_out then taps = nil end
   local key = taps or 0
   loops[T] = loops[T] or {}
   loops[T][key] = loops[T][key]
      or templates.compile('nn.pooling.luajit.maxima', LOOP, { body = body_of(taps) })
   return loops[T][key]
end

templates.on_first_use(function()
   written_out = 32 -- less where all are compiled in advance
   for code = 1, types.count do
      local T = types[code]
      for taps = 1, T.real and written_out + 1 or 0 do loop_for(taps, T) end
   end
end)

-- The planes with a border of minus infinity on all sides.
local function with_border(T, q, g)
   local time, row, column, planes = g.time, g.row, g.column, g.planes
   local deep, high, wide, frames, height, width = time.reach, row.reach, column.reach, time.size, row.size, column.size
   local border = cast(T.pointer, rooms.room('maxima', planes * deep * high * wide * T.size))
   for k = 0, planes * deep * high * wide - 1 do border[k] = -math.huge end
   local bytes = width * T.size
   for plane = 0, planes - 1 do
      for t = 0, frames - 1 do
         local to = ((plane * deep + time.border + t) * high + row.border) * wide + column.border
         local from = (plane * frames + t) * height * width
         for y = 0, height - 1 do copy(border + (to + y * wide), q + (from + y * width), bytes) end
      end
   end
   return border
end

-- Whether x, whose planes have `axes` dimensions, and the results are suitable for LuaJIT.
function maxima.are_for_lua(out, places, x, axes)
   return gates.planes(x, axes) and gates.few_for_now(count(x), MOST) and gates.typed(x.T, out) and gates.plain(x, x.T)
      and gates.indices(places)
      and gates.apart(out, x, places) and gates.finite(x)
end

-- Resizes the results, and finds the maxima of windows that begin at `begins`.
function maxima.find(out, places, x, g, begins, first_places)
   local T, rows, columns, frames = x.T, g.row.count, g.column.count, g.frames
   if not gates.begun(out, x, rows, columns, nil, frames) or not gates.begun(places, x, rows, columns, nil, frames) then
      return false
   end
   local q = first_element(x)
   loop_for(g.taps, T)(first_element(out), first_element(places), g.bordered and with_border(T, q, g) or q, g,
      begins, first_places)
   return true
end

-- (All parameters are named, because LuaJIT does not compile loops across calls of vararg functions.)
local function find(out, places, x, g) return g and maxima.find(out, places, x, g, g.begins, g.places) end
function luajit.spatial_max_pooling(out, places, x, kw, kh, dw, dh, pw, ph, by_ceil, lw, lh)
   return maxima.are_for_lua(out, places, x, 2)
      and find(out, places, x, geometry_of(x, kw, kh, dw, dh, pw, ph, by_ceil, lw, lh))
end
function luajit.volumetric_max_pooling(out, places, x, by_ceil, kt, kw, kh, dt, dw, dh, pt, pw, ph, lt, lw, lh)
   return maxima.are_for_lua(out, places, x, 3)
      and find(out, places, x, geometry_of(x, kw, kh, dw, dh, pw, ph, by_ceil, lw, lh, kt, dt, pt, lt))
end

-- Does $move for each of n windows k, of which `windows` belong to each plane, and its position `at` in its plane of
-- `pixels` numbers. One loop covers all windows of all planes, because entering a loop costs as much as many windows.
-- There is no branch at the end of a plane: LuaJIT would specialise the loop for it if recording happened to start
-- there. Positions are read as 32-bit halves. Returns false for a position outside its plane: Python starts again, and
-- raises the error.
local AT_PLACES = [[
   return function(p, q, halves, n, windows, pixels)
      local j, first = 0, tobit(-1)
      windows, pixels = tobit(windows), tobit(pixels)
      for k = 0, n - 1 do
         local at = halves[k + k]
         if bor(arshift(at - 1, 31), arshift(pixels - at, 31), halves[k + k + 1]) ~= 0 then
            return no 'a place outside its plane'
         end
         at = tobit(first + at)
         $move
         j = tobit(j + 1)
         local in_plane = arshift(tobit(j - windows), 31) -- -1 or 0
         j, first = band(j, in_plane), tobit(first + band(pixels, bnot(in_plane)))
      end
      return true
   end
]]
-- Returns a function(T, p, q, places, n, windows, pixels) of this loop.
function maxima.at_places(move)
   local loop_of = types.compiled('nn.pooling.luajit.maxima', AT_PLACES, { move = move, no = no })
   return function(T, p, q, places, n, windows, pixels)
      return loop_of(T)(p, q, cast(halves, places), n, windows, pixels)
   end
end
-- add_plainly: for finite numbers, which can be read directly.
local add_one_by_one, add_plainly = maxima.at_places 'p[at] = get(p, at) + get(q, k)',
   maxima.at_places 'p[at] = p[at] + q[k]'

-- Whether the gradients are few, contiguous, fit the positions, and share no memory with the result.
function maxima.may_add(gradient, x, grad_output, indices)
   local n, m = count(grad_output), count(x)
   return gates.typed(x.T, x, grad_output, gradient) and gates.indices(indices)
      and gates.apart(gradient, x, grad_output, indices) and gates.few_for_now(n > m and n or m, MOST_OF_GRADIENTS)
      and gates.same_size(grad_output, indices) and gates.plain(grad_output, x.T) and gates.plain(indices, indices.T)
end

-- Adds the gradients to their elements in x's planes, which have `axes` dimensions.
function maxima.add_gradients(gradient, x, grad_output, indices, axes)
   local pixels, windows, n, nd = 1, 1, count(grad_output), x.nd
   for d = nd - axes + 1, nd do pixels, windows = pixels * x[2 * d - 1], windows * grad_output[2 * d - 1] end
   if not gates.resized_as(gradient, x) or not few.zero(gradient, count(x)) then return false end
   local add = blas.reads_plainly(grad_output) and add_plainly or add_one_by_one
   return add(x.T, first_element(gradient), first_element(grad_output), first_element(indices), n, windows, pixels)
end

local function add(gradient, x, grad_output, indices, g)
   return g and gates.sized(grad_output, x, g.row.count, g.column.count, nil, g.frames)
      and maxima.add_gradients(gradient, x, grad_output, indices, g.frames and 3 or 2)
end
function luajit.spatial_max_pooling_grad_input(gradient, x, grad_output, indices, kw, kh, dw, dh, pw, ph, by_ceil, lw,
   lh)
   return maxima.may_add(gradient, x, grad_output, indices) and gates.planes(x, 2)
      and add(gradient, x, grad_output, indices, geometry_of(x, kw, kh, dw, dh, pw, ph, by_ceil, lw, lh))
end
function luajit.volumetric_max_pooling_grad_input(gradient, x, grad_output, indices, by_ceil, kt, kw, kh, dt, dw, dh,
   pt, pw, ph, lt, lw, lh)
   return maxima.may_add(gradient, x, grad_output, indices) and gates.planes(x, 3) and add(gradient, x, grad_output,
      indices, geometry_of(x, kw, kh, dw, dh, pw, ph, by_ceil, lw, lh, kt, dt, pt, lt))
end

return maxima
