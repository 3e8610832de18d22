-- Max-pooling of few images and volumes, computed here, of numbers all of which are finite.
--
-- LuaJIT enters a loop anew each time, which costs as much as small windows: all windows of all planes are one loop,
-- and the numbers that a small window sees are written out in it. Which of them is the greatest is random, and a
-- processor guesses
-- branches: the first place is the greatest of the negative ones, where a difference to the maximum makes one infinite.
local ffi = require 'ffi'
local types = require 'torch.core.types'
local memory = require 'torch.core.memory'
local apart = require 'torch.core.overlap'
local few = require 'torch.luajit.elementwise'
local blas = require 'torch.luajit.blas'
local ways = require 'torch.core.ways'
local compiled = require 'torch.core.templates'
local rooms = require 'nn.shared.luajit.scratch'

local luajit = ways.luajit
local count = memory.count
local floor, ceil, max, cast, copy = math.floor, math.ceil, math.max, ffi.cast, ffi.copy
local plain, is_apart = rooms.plain, apart.is_apart

local maxima = {}

local MOST = 2 ^ 17 -- numbers of all images; for more, several threads are faster
local MOST_WINDOWS = 2 ^ 15

-- From the first number of a window to each that it sees: in the image, then in the memory that is read.
local MOST_TAPS = 1024
local offsets = ffi.new('int32_t[?]', 2 * MOST_TAPS)
maxima.MOST_WINDOWS, maxima.MOST_TAPS = MOST_WINDOWS, MOST_TAPS

-- Where each window begins: in the memory that is read, and in its plane of the image, from 1. (LuaJIT computes with
-- whole numbers from memory as such, with others that it cannot tell from fractions as with those.)
function maxima.new_begins() return ffi.new('int32_t[?]', MOST_WINDOWS) end
local begins, places_of_begins = maxima.new_begins(), maxima.new_begins()
maxima.begins, maxima.places_of_begins = begins, places_of_begins

-- One dimension of what is pooled: its size, how many windows there are, the step from one to the next, the border
-- before it, how many numbers a window sees, their distance, and the size with the border.
local function axis() return { size = 1, count = 1, step = 1, border = 0, span = 1, dilation = 1, reach = 1 } end
local time, row, column = axis(), axis(), axis()
local all_axes = { time, row, column }
maxima.time, maxima.row, maxima.column = time, row, column

-- Sets the time of images.
function maxima.one_frame()
   time.size, time.count, time.step, time.border, time.span, time.dilation, time.reach = 1, 1, 1, 0, 1, 1, 1
end

-- Fills them for so many planes.
local function lay_out(planes)
   local k, wide, width = 0, column.reach, column.size
   local first = 1 - (time.border * row.size + row.border) * width - column.border
   for t = 0, time.count - 1 do
      for r = 0, row.count - 1 do
         local at, place = (t * time.step * row.reach + r * row.step) * wide,
            first + (t * time.step * row.size + r * row.step) * width
         for c = 0, column.count - 1 do
            begins[k], places_of_begins[k] = at + c * column.step, place + c * column.step
            k = k + 1
         end
      end
   end
   local plane = time.reach * row.reach * wide
   for w = k, planes * k - 1 do
      begins[w], places_of_begins[w] = begins[w - k] + plane, places_of_begins[w - k]
   end
end

-- Fills the offsets; how many numbers a window sees.
function maxima.set_taps()
   local n, taps = time.span * row.span * column.span, 0
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
   return n
end

local LOOP = [[
   local max, min, tobit, begins, first_places, offsets = ...
   local HUGE, LEAST = 1e308, -1e300 -- less than any number of which the square is finite
   return function(p, places, q, n, taps)
      for k = 0, n - 1 do
         local at = begins[k]
         BODY
      end
   end
]]

-- max(...) of so many texts, of neighbouring halves: one maximum does not wait for all that come before it.
local function greatest(texts, first, last)
   if first == last then return texts[first] end
   local middle = floor((first + last) / 2)
   return ('max(%s, %s)'):format(greatest(texts, first, middle), greatest(texts, middle + 1, last))
end

local written_out = 64 -- numbers of the largest window that is

-- The body for windows of so many numbers; nil: of more.
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

-- The loops are made for each number of taps and type on its own: traces are for one type of memory.
local loops = {}
local function loop_for(taps, T)
   if taps > written_out then taps = nil end
   local key = taps or 0
   loops[T] = loops[T] or {}
   loops[T][key] = loops[T][key]
      or compiled.from_text(LOOP:gsub('BODY', body_of(taps)), 'nn.pooling.luajit.maxima')(math.max, math.min, bit.tobit,
         begins, places_of_begins, offsets)
   return loops[T][key]
end

compiled.on_first_use(function()
   written_out = 32 -- where all are made at once
   for code = 1, types.count do
      local T = types[code]
      for taps = 1, T.real and written_out + 1 or 0 do loop_for(taps, T) end
   end
end)

-- Finds the maxima of n windows that begins and offsets say, in the memory at q.
function maxima.find(out, places, q, n, taps)
   loop_for(taps, out.T)(out.S.p + out.off, places.S.p + places.off, q, n, taps)
   return true
end

-- Whether every window has a number that is not the border's.
local function all_reach(size, span, step, padding, dilation)
   for first = -padding, -1, step do
      local tap = ceil(-first / dilation)
      if tap >= span or first + tap * dilation >= size then return false end
   end
   return true
end

-- Sets a dimension; false for what is unusual: a window begins behind the end, an argument is wrong.
local function set(axis, size, span, step, padding, dilation, by_ceil)
   if span % 1 ~= 0 or step % 1 ~= 0 or padding % 1 ~= 0 or dilation % 1 ~= 0 then return false end
   if span < 1 or step < 1 or padding < 0 or dilation < 1 or padding > span / 2 then return false end
   local room = size + 2 * padding - dilation * (span - 1) - 1
   if room < 0 or padding > 0 and not all_reach(size, span, step, padding, dilation) then return false end
   local n = (by_ceil and ceil or floor)(room / step) + 1
   if (n - 1) * step >= size + padding then
      if padding == 0 then return false end
      n = n - 1
   end
   axis.size, axis.count, axis.step, axis.border, axis.span, axis.dilation = size, n, step, padding, span, dilation
   axis.reach = (n - 1) * step + dilation * (span - 1) + 1 -- as far as windows see
   return true
end

-- The planes with so many numbers more, of the least one, before and behind.
local function with_border(T, q, planes)
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

-- Whether x, of planes of `axes` dimensions, and the results are for LuaJIT.
function maxima.are_for_lua(out, places, x, axes)
   local T, n = x.T, count(x)
   if few.LIMIT == 0 or x.nd ~= axes + 1 and x.nd ~= axes + 2 or n == 0 or n > MOST or not plain(x, T)
      or not T.real then
      return false
   end
   return out.T == T and places.T.host == types.Long and is_apart(out, x, places)
end

-- Windows over the planes of x, whose dimensions are set.
local function pool(out, places, x, axes)
   local windows, numbers = time.count * row.count * column.count, time.size * row.size * column.size
   local taps, planes = time.span * row.span * column.span, count(x) / numbers
   if taps > MOST_TAPS or planes * windows > MOST_WINDOWS or not blas.reads_plainly(x, true) then return false end
   local begin = axes == 3 and rooms.begin_volumes or rooms.begin
   if not begin(out, x, row.count, column.count, nil, time.count) then return false end
   if not begin(places, x, row.count, column.count, nil, time.count) then return false end
   local q = x.S.p + x.off
   local bordered = false
   for _, axis in ipairs(all_axes) do bordered = bordered or axis.border > 0 or axis.reach > axis.size end
   for _, axis in ipairs(all_axes) do
      axis.reach = bordered and max(axis.reach, axis.size + axis.border) or axis.size
   end
   if bordered then q = with_border(x.T, q, planes) end
   maxima.set_taps()
   lay_out(planes)
   return maxima.find(out, places, q, planes * windows, taps)
end

local function of_images(out, places, x, kw, kh, dw, dh, pw, ph, by_ceil, lw, lh)
   if not maxima.are_for_lua(out, places, x, 2) then return false end
   local nd = x.nd
   maxima.one_frame()
   return set(row, x[2 * nd - 3], kh, dh, ph, lh or 1, by_ceil)
      and set(column, x[2 * nd - 1], kw, dw, pw, lw or 1, by_ceil)
      and pool(out, places, x, 2)
end

local function of_volumes(out, places, x, by_ceil, kt, kw, kh, dt, dw, dh, pt, pw, ph, lt, lw, lh)
   if not maxima.are_for_lua(out, places, x, 3) then return false end
   local nd = x.nd
   return set(time, x[2 * nd - 5], kt, dt, pt, lt, by_ceil) and set(row, x[2 * nd - 3], kh, dh, ph, lh, by_ceil)
      and set(column, x[2 * nd - 1], kw, dw, pw, lw, by_ceil) and pool(out, places, x, 3)
end

luajit.spatial_max_pooling, luajit.volumetric_max_pooling = of_images, of_volumes

return maxima
