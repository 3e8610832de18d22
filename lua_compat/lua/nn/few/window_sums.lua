-- Loops over windows of the planes of few images, for layers that sum up their elements: one loop for all windows of all planes, which
-- finds each where it begins in its plane.
local math = require('th.own').math
local ffi = require 'ffi'
local types = require 'torch.types'
local memory = require 'torch.memory'
local few = require 'torch.few'
local compiled = require 'torch.compiled'
local numbers = require 'nn.few.numbers'
local rooms = require 'nn.few.rooms'
local lengths = require 'nn.few.lengths'

local count, fill, room, bytes_at = memory.count, ffi.fill, rooms.room, rooms.bytes_at
local floor = math.floor

local window_sums = {}

local MOST = 2 ^ 14    -- elements of the images, with their borders
local MOST_WRITTEN = 4 -- rows and columns of windows whose elements are written out: LuaJIT would enter a loop anew for each row
local FEWEST = 8       -- columns of wider ones, from which on a loop is as fast as Python

-- p, q, u, a, b: pointers, v: a number, for what the parts of a text do: EACH is done for window k, which begins at `at` and is the j-th of
-- plane c of its image, FIRST before the windows of each plane, LAST after them.
local LOOP = [[
   local get, cast, tobit = ...
   return function(p, q, u, a, b, v, n, places, windows, plane, width, kh, kw, planes)
      local j, c, first, x, y = 0, 0, 0, 0, 0
      local row1, row2, row3 = tobit(width), tobit(2 * width), tobit(3 * width) -- whole numbers for places, that LuaJIT need not convert
      plane = tobit(plane)
      FIRST
      for k = 0, n - 1 do
         local at = tobit(first + places[j])
         EACH
         j = j + 1
         if j == windows then
            LAST
            j, c, first = 0, c + 1, tobit(first + plane)
            if c == planes then c = 0 end
            FIRST
         end
      end
   end
]]

-- A text for all elements of a window: written out for kh x kw, or in loops.
local function for_elements(kh, kw, text)
   if not kh then
      return ('for row = at, at + (kh - 1) * width, width do for i = row, row + kw - 1 do %s end end'):format(text:gsub('AT', 'i'))
   end
   local lines = {}
   for y = 0, kh - 1 do
      for x = 0, kw - 1 do lines[#lines + 1] = (text:gsub('AT', y == 0 and 'at + ' .. x or ('at + row%d + %d'):format(y, x))) end
   end
   return table.concat(lines, ' ')
end

-- parts: the texts, in which ALL(...) is for all elements of a window, of which one is at AT, and READ(pointer, place) an element that may be
-- NaN. Gives a function(T, kh, kw, plain): for each type, size (0 for all others) and way of reading, a loop of its own. plain: no element is
-- infinite or NaN.
function window_sums.loop(parts)
   local keys = {}
   for _, code in ipairs{ types.Float.code, types.Double.code } do
      for size = 0, 2 * MOST_WRITTEN ^ 2 + 1 do keys[#keys + 1] = 100 * code + size end
   end
   local made = compiled.for_each(keys, function(key)
      local T, size, plain = types[floor(key / 100)], floor(key % 100 / 2) - 1, key % 2 == 1
      local text = LOOP:gsub('%f[%w]%u%u%u%u+%f[%W]', { FIRST = parts.FIRST or '', LAST = parts.LAST or '', EACH = parts.EACH })
      text = text:gsub('ALL(%b())', function(of_element)
         if size < 0 then return for_elements(nil, nil, of_element:sub(2, -2)) end
         return for_elements(floor(size / MOST_WRITTEN) + 1, size % MOST_WRITTEN + 1, of_element:sub(2, -2))
      end)
      text = text:gsub('READ(%b())', function(given)
         local pointer, place = given:match('^%((%l), (.*)%)$')
         return plain and ('%s[%s]'):format(pointer, place) or ('get(%s, %s)'):format(pointer, place)
      end)
      return compiled.from_text(text, 'nn.few.window_sums')(T.get, T.cast, bit.tobit)
   end)
   return function(T, kh, kw, plain)
      local is_small = kh <= MOST_WRITTEN and kw <= MOST_WRITTEN
      return made(100 * T.host.code + 2 * (is_small and (kh - 1) * MOST_WRITTEN + kw or 0) + (plain and 1 or 0))
   end
end

-- The windows at hand: there is one geometry at a time.
--    planes: of an image; all: of all images; height, width: of one; high, wide: with its border; rows, columns: of windows
--    kh, kw: a window; dh, dw: steps; ph, pw: the border
local g = {}
window_sums.geometry = g

-- Sets it to windows of x; whether they are for LuaJIT. by_ceil: their number is rounded up; most: elements, if not as many as above
function window_sums.set(x, kw, kh, dw, dh, pw, ph, by_ceil, most)
   local nd, T = x.nd, x.T
   if nd ~= 3 and nd ~= 4 or not T.here or T.host ~= types.Float and T.host ~= types.Double or few.LIMIT == 0 then return false end
   if not numbers.are_whole(kw, kh, dw, dh, pw, ph) or kw < 1 or kh < 1 or dw < 1 or dh < 1 then return false end
   local height, width = x[2 * nd - 3], x[2 * nd - 1]
   if pw < 0 or ph < 0 or 2 * pw > kw or 2 * ph > kh then return false end
   local high, wide, all = height + 2 * ph, width + 2 * pw, count(x) / (height * width)
   if all * high * wide > (most or MOST) or kh > high or kw > wide then return false end
   local rows, columns = (high - kh) / dh, (wide - kw) / dw
   if by_ceil and (rows % 1 ~= 0 or columns % 1 ~= 0) then return false end
   g.all, g.planes, g.height, g.width, g.high, g.wide, g.rows, g.columns = all, x[2 * nd - 5], height, width, high, wide, floor(rows) + 1, floor(columns) + 1
   g.kh, g.kw, g.dh, g.dw, g.ph, g.pw = kh, kw, dh, dw, ph, pw
   g.n, g.windows = all * g.rows * g.columns, g.rows * g.columns
   if kw == wide then g.kh, g.kw = 1, kh * kw end -- the rows of a window are one
   return g.kh <= MOST_WRITTEN and g.kw <= MOST_WRITTEN or g.kw >= FEWEST
end

-- Whether t has the sizes of x with the windows' rows and columns for its own.
function window_sums.are_results(t, x)
   local nd = x.nd
   if t.T ~= x.T or t.nd ~= nd or t[2 * nd - 1] ~= g.columns or t[2 * nd - 3] ~= g.rows then return false end
   for d = 1, 2 * nd - 5, 2 do
      if t[d] ~= x[d] then return false end
   end
   return true
end

-- Where each window begins, from the start of a plane with its border: kept while the geometry stays.
local places, room_for_places, known = ffi.new('int32_t[?]', 1), 1, {}
local function find_places()
   if known.rows == g.rows and known.columns == g.columns and known.dh == g.dh and known.dw == g.dw and known.wide == g.wide then return end
   if g.windows > room_for_places then places, room_for_places = ffi.new('int32_t[?]', g.windows), g.windows end
   known.rows, known.columns, known.dh, known.dw, known.wide = g.rows, g.columns, g.dh, g.dw, g.wide
   local k, row, at, column = 0, 0, 0, 0
   for _ = 1, g.windows do
      places[k] = at
      k, at, column = k + 1, at + g.dw, column + 1
      if column == g.columns then row, column = row + g.dh * g.wide, 0 at = row end
   end
end

local function has_border() return g.ph > 0 or g.pw > 0 end

-- Copies the planes of images at `images` into those with a border at `laid`, or back.
local function copy_planes(laid, images, size, is_inward)
   local row, padded = g.width * size, g.wide * size
   local copy_rows = lengths.rows_of_planes(row)
   local first, gap = laid + (g.ph * g.wide + g.pw) * size, 2 * g.ph * padded
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

-- Where the elements of t, in one piece, which become zero, may be added to; window_sums.write gives t what has been added there.
function window_sums.zeros(t)
   local bytes = g.all * g.high * g.wide * t.T.size
   local p = has_border() and room('laid', bytes) or bytes_at(t)
   fill(p, bytes)
   return ffi.cast(t.T.pointer, p)
end
function window_sums.write(t, p)
   if has_border() then copy_planes(ffi.cast('char *', p), bytes_at(t), t.T.size, false) end
end

-- Runs a loop; read, also_read: the tensors, the second may be nil, whose elements decide whether all may be read as they are.
function window_sums.run(loop, read, also_read, p, q, u, a, b, v)
   find_places()
   local plain = few.reads_plainly(read, read) and (not also_read or few.reads_plainly(also_read, also_read))
   loop(read.T, g.kh, g.kw, plain)(p, q, u, a, b, v, g.n, places, g.windows, g.high * g.wide, g.wide, g.kh, g.kw, g.planes)
   return true
end

return window_sums
