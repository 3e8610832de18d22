-- Loops over windows of few images or volumes, for layers that sum up their elements: one loop for all
-- windows of all planes. A window's elements lie at fixed distances from its first.
local ffi = require 'ffi'
local types = require 'torch.core.types'
local memory = require 'torch.core.memory'
local few = require 'torch.luajit.elementwise'
local compiled = require 'torch.core.templates'
local numbers = require 'nn.shared.luajit.as_doubles'
local rooms = require 'nn.shared.luajit.scratch'
local lengths = require 'nn.shared.luajit.copy_rows'
local fields = require 'nn.shared.luajit.geometry_key'

local count, fill, room, bytes_at = memory.count, ffi.fill, rooms.room, rooms.bytes_at
local floor, max = math.floor, math.max

local window_sums = {}

local MOST = 2 ^ 14     -- elements of the images, with their borders
-- elements of windows that are written out: LuaJIT would enter a loop anew for each window
local MOST_WRITTEN = 16

-- p, q, u, a, b: pointers, v: a number, for what the parts of a text do, for window k, which begins at
-- begins[k] and is of plane channels[k] of its image: EACH one by one, FIRST before the windows of each
-- plane, LAST after them.
local LOOP = [[
   local get, cast = ...
   return function(p, q, u, a, b, v, n, begins, offsets, taps, channels, windows)
      local j, x, y = 0, 0, 0
      FIRST
      for k = 0, n - 1 do
         local at = begins[k]
         EACH
         BEHIND
      end
   end
]]
local BEHIND = [[
   j = j + 1
   if j == windows then
      local c = channels[k]
      LAST
      j = 0
      FIRST
   end
]]

-- Windows of which s becomes the sum, rounded to the type at each step, as Torch7's, and then DONE is done;
-- four of them together, whose sums do not wait for each other. In DONE the window is @.
local SUMS = [[
   local get, cast = ...
   return function(p, q, u, a, b, v, n, begins, offsets, taps, channels)
      for k = 0, n - 4, 4 do GROUP4 end
      for k = n - n % 4, n - 1 do GROUP1 end
   end
]]
local GROUP = [[
   local EACH(at@) = EACH(begins[k + @])
   local EACH(s@) = EACH(0)
   ALL(EACH(s@) = EACH(cast(s@ + READ(q, at@ + OFFSET))))
   DONE
]]

-- A text in which ALL(...) is for all elements of a window: written out for so many, or in a loop for more
-- (nil). READ(pointer, place) is an element that may be NaN.
local function for_elements(text, taps)
   text = text:gsub('ALL(%b())', function(of_element)
      of_element = of_element:sub(2, -2):gsub('OFFSET', 'offset')
      if not taps then return ('for tap = 0, taps - 1 do local offset = offsets[tap] %s end'):format(of_element) end
      local lines = {}
      for tap = 0, taps - 1 do
         lines[tap + 1] = ('do local offset = offsets[%d] %s end'):format(tap, of_element)
      end
      return table.concat(lines, ' ')
   end)
   return text
end

-- A function(T, taps, plain) that gives a loop for each type, number of elements (0: more) and way of reading
-- on its own. plain: no element is infinite or NaN.
local function loops_of(text)
   local keys = {}
   for _, code in ipairs{ types.Float.code, types.Double.code } do
      for size = 0, 2 * MOST_WRITTEN + 1 do keys[#keys + 1] = 100 * code + size end
   end
   local made = compiled.for_each(keys, function(key)
      local T, taps, plain = types[floor(key / 100)], floor(key % 100 / 2), key % 2 == 1
      local of_size = for_elements(text, taps > 0 and taps)
      return compiled.from_text(compiled.reading(of_size, plain), 'nn.shared.luajit.window_sums')(T.get, T.cast)
   end)
   return function(T, taps, plain)
      return made(100 * T.host.code + 2 * (taps <= MOST_WRITTEN and taps or 0) + (plain and 1 or 0))
   end
end

-- A loop of windows one by one: parts are FIRST, EACH and LAST, in which ALL(...) is for all elements, of
-- which one is at AT.
function window_sums.loop(parts)
   local text = LOOP:gsub('BEHIND', (parts.FIRST or parts.LAST) and BEHIND or '')
   local written = { FIRST = parts.FIRST or '', LAST = parts.LAST or '', EACH = parts.EACH }
   text = text:gsub('%f[%w]%u%u%u%u+%f[%W]', written)
   return loops_of((text:gsub('%f[%w]AT%f[%W]', 'at + OFFSET')))
end

-- A loop that sums windows up, and does `done`.
function window_sums.sums(done)
   local function of(windows) return compiled.written_out(GROUP:gsub('DONE', done), windows) end
   return loops_of((SUMS:gsub('GROUP(%d)', function(windows) return of(tonumber(windows)) end)))
end

-- The windows at hand: there is one geometry at a time. Images have a time of one.
-- planes: of an image; all: of all images; time, height, width: of one; high, wide: with its border, as far as windows
-- see; frames, rows,
--    columns: of windows
--    kt, kh, kw: a window; dt, dh, dw: steps; ph, pw: the border; taps: elements of a window
local g = {}
window_sums.geometry = g

-- How many windows there are along an axis, and as far as they and the axis with its border reach; nil where
-- that is for Python.
local function along(size, span, step, border, by_ceil)
   if span < 1 or step < 1 or border < 0 or 2 * border > span or span > size + 2 * border then return nil end
   local n = (size + 2 * border - span) / step
   if by_ceil and n % 1 ~= 0 then
      n = floor(n) + 1
      if n * step >= size + border then return nil end -- it begins behind the end
   end
   n = floor(n) + 1
   return n, max(size + 2 * border, (n - 1) * step + span)
end

-- Sets the time of windows, with the others' sizes to follow.
local function set_time(time, kt, dt, frames) g.time, g.kt, g.dt, g.frames = time, kt, dt, frames end

-- Sets the rest to windows of x; whether they are for LuaJIT. most: elements, if not as many as above
local function set(x, kw, kh, dw, dh, pw, ph, by_ceil, most)
   local nd, T = x.nd, x.T
   local height, width = x[2 * nd - 3], x[2 * nd - 1]
   local rows, high = along(height, kh, dh, ph, by_ceil)
   local columns, wide = along(width, kw, dw, pw, by_ceil)
   if not (rows and columns) or not T.here or T.host ~= types.Float and T.host ~= types.Double
      or few.LIMIT == 0 then
      return false
   end
   local all = count(x) / (g.time * height * width)
   if all * g.time * high * wide > (most or MOST) then return false end
   g.all, g.planes, g.height, g.width, g.high, g.wide, g.rows, g.columns =
      all, x[g.axis], height, width, high, wide, rows, columns
   g.kh, g.kw, g.dh, g.dw, g.ph, g.pw = kh, kw, dh, dw, ph, pw
   g.windows, g.taps = g.frames * rows * columns, g.kt * kh * kw
   g.n = all * g.windows
   return true
end

-- Sets it to windows of x; whether they are for LuaJIT. by_ceil: their number is rounded up; most: elements,
-- if not as many as above
function window_sums.set(x, kw, kh, dw, dh, pw, ph, by_ceil, most)
   local nd = x.nd
   if nd ~= 3 and nd ~= 4 or not numbers.are_whole(kw, kh, dw, dh, pw, ph) then return false end
   set_time(1, 1, 1, 1)
   g.axis = 2 * nd - 5
   return set(x, kw, kh, dw, dh, pw, ph, by_ceil, most)
end

-- The same of volumes, which have no border.
function window_sums.set_volumes(x, kt, kw, kh, dt, dw, dh)
   local nd = x.nd
   if nd ~= 4 and nd ~= 5 or not numbers.are_whole(kt, kw, kh, dt, dw, dh) then return false end
   local time = x[2 * nd - 5]
   local frames = along(time, kt, dt, 0)
   if not frames then return false end
   set_time(time, kt, dt, frames)
   g.axis = 2 * nd - 7
   return set(x, kw, kh, dw, dh, 0, 0)
end

-- Whether t has the sizes of x with the windows' frames, rows and columns for its own.
function window_sums.are_results(t, x)
   local nd, axis = x.nd, g.axis
   if t.T ~= x.T or t.nd ~= nd or t[2 * nd - 1] ~= g.columns or t[2 * nd - 3] ~= g.rows or axis == 2 * nd - 7
      and t[2 * nd - 5] ~= g.frames then
      return false
   end
   for d = 1, axis, 2 do
      if t[d] ~= x[d] then return false end
   end
   return true
end

-- Where each window begins in the planes with their borders, which plane of its image it is of, and how far
-- its elements are from the first: kept while the geometry stays.
local function of_whole_numbers(n) return ffi.new('int32_t[?]', n) end
local begins, channels, offsets, room_for_windows, room_for_taps =
   of_whole_numbers(1), of_whole_numbers(1), of_whole_numbers(1), 1, 1
local known = {}
local lie_so, take_geometry, forget_geometry = fields{ 'all', 'planes', 'time', 'high', 'wide', 'frames', 'rows',
   'columns',
   'kt', 'kh', 'kw', 'dt', 'dh', 'dw' }

local function find_offsets()
   if g.taps > room_for_taps then
      offsets = of_whole_numbers(g.taps)
      room_for_taps = g.taps
   end
   local z, y, x = 0, 0, 0
   for tap = 0, g.taps - 1 do
      offsets[tap] = (z * g.high + y) * g.wide + x
      x = x + 1
      if x == g.kw then x, y = 0, y + 1 end
      if y == g.kh then y, z = 0, z + 1 end
   end
end

local function find_places()
   if lie_so(known, g) then return end
   forget_geometry(known)
   if g.n > room_for_windows then
      begins, channels = of_whole_numbers(g.n), of_whole_numbers(g.n)
      room_for_windows = g.n
   end
   local plane, frame, row, column = 0, 0, 0, 0
   for k = 0, g.n - 1 do
      begins[k] = ((plane * g.time + frame * g.dt) * g.high + row * g.dh) * g.wide + column * g.dw
      channels[k] = plane % g.planes
      column = column + 1
      if column == g.columns then column, row = 0, row + 1 end
      if row == g.rows then row, frame = 0, frame + 1 end
      if frame == g.frames then frame, plane = 0, plane + 1 end
   end
   find_offsets()
   take_geometry(known, g)
end

local function has_border() return g.high > g.height or g.wide > g.width end

-- Copies the planes of images at `images` into those with a border at `laid`, or back.
local function copy_planes(laid, images, size, is_inward)
   local row, padded = g.width * size, g.wide * size
   local copy_rows = lengths.rows_of_planes(row)
   local first, gap = laid + (g.ph * g.wide + g.pw) * size, (g.high - g.height) * padded
   if is_inward then return copy_rows(first, images, g.all, g.height, padded, gap, row, 0, row) end
   return copy_rows(images, first, g.all, g.height, row, 0, padded, gap, row)
end

-- The elements of x, in one piece, with their border of zeros: where they are.
function window_sums.elements(x)
   if not has_border() then return memory.first_element(x) end
   local bytes = g.all * g.high * g.wide * x.T.size
   local laid = room('laid', bytes)
   fill(laid, bytes)
   copy_planes(laid, bytes_at(x), x.T.size, true)
   return ffi.cast(x.T.pointer, laid)
end

-- Where the elements of t, in one piece, which become zero, may be added to; window_sums.write gives t what has been
-- added there.
function window_sums.zeros(t)
   local bytes = g.all * g.time * g.high * g.wide * t.T.size
   local p = has_border() and room('laid', bytes) or bytes_at(t)
   fill(p, bytes)
   return ffi.cast(t.T.pointer, p)
end
function window_sums.write(t, p)
   if has_border() then copy_planes(ffi.cast('char *', p), bytes_at(t), t.T.size, false) end
end

-- Runs a loop; read, also_read: the tensors, the second may be nil, whose elements decide whether all may be read as
-- they are.
function window_sums.run(loop, read, also_read, p, q, u, a, b, v)
   find_places()
   local plain = few.reads_plainly(read, read) and (not also_read or few.reads_plainly(also_read, also_read))
   loop(read.T, g.taps, plain)(p, q, u, a, b, v, g.n, begins, offsets, g.taps, channels, g.windows)
   return true
end

return window_sums
