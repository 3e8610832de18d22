-- Max-pooling of few images, computed here, as nn/few.lua says, of numbers all of which are finite.
--
-- LuaJIT enters a loop anew each time, which costs as much as small windows: all windows of all planes are one loop, and the
-- numbers that a small window sees are written out in it. Which of them is the greatest is random, and a processor guesses
-- branches: the first place is the greatest of the negative ones, where a difference to the maximum makes one infinite.
local math = require('th.own').math
local ffi = require 'ffi'
local types = require 'torch.types'
local memory = require 'torch.memory'
local apart = require 'torch.apart'
local few = require 'torch.few'
local blas = require 'torch.blas'
local kernels = require 'torch.kernels'
local compiled = require 'torch.compiled'
local rooms = require 'nn.few.rooms'

local count = memory.count
local floor, ceil, cast, copy = math.floor, math.ceil, ffi.cast, ffi.copy
local begin, plain, is_apart = rooms.begin, rooms.plain, apart.is_apart

local MOST = 2 ^ 15 -- numbers of all images; PyTorch is faster at more

-- From the first number of a window to each that it sees: in the image, then in the memory that is read.
local MOST_TAPS = 1024
local offsets = ffi.new('int32_t[?]', 2 * MOST_TAPS)

-- Where each window begins: in the memory that is read, and in its plane of the image, from 1. (LuaJIT computes with whole
-- numbers from memory as such, with others that it cannot tell from fractions as with those.)
local begins, places_of_begins = ffi.new('int32_t[?]', MOST), ffi.new('int32_t[?]', MOST)

-- Fills them for so many planes of rows x columns windows: `plane` numbers from plane to plane, hops from window to window.
local function lay_out(planes, rows, columns, plane, row, column, first, row_of_image, column_of_image)
   local k = 0
   for r = 0, rows - 1 do
      for c = 0, columns - 1 do
         begins[k], places_of_begins[k] = r * row + c * column, first + r * row_of_image + c * column_of_image
         k = k + 1
      end
   end
   for w = k, planes * k - 1 do
      begins[w], places_of_begins[w] = begins[w - k] + plane, places_of_begins[w - k]
   end
end

local LOOP = [[
   local max, tobit, begins, first_places, offsets = ...
   local HUGE = 1e308
   return function(p, places, q, n, taps)
      for k = 0, n - 1 do
         local at = begins[k]
         BODY
      end
   end
]]

-- The body for windows of kh x kw numbers; nil: of any.
local function body_of(kh, kw)
   if not kh then
      return [[
         local best, place = q[at], 0
         for tap = 1, taps - 1 do
            local x = q[at + offsets[taps + tap] ]
            if x > best then best, place = x, tap end
         end
         p[k], places[k] = best, first_places[k] + offsets[place] ]]
   end
   local lines, last = {}, kh * kw - 1
   local function add(...) lines[#lines + 1] = (...):format(select(2, ...)) end
   for k = 0, last do
      add('local x%d = q[at + offsets[taps + %d] ]', k, k)
      add(k == 0 and 'local best = x0' or 'best = max(best, x%d)', k)
   end
   add('local last = -%d', last)
   for k = 0, last - 1 do add('last = max(last, (x%d - best) * HUGE * HUGE - %d)', k, k) end
   add('local place = tobit(-last)')
   add('p[k], places[k] = q[at + offsets[taps + place] ], first_places[k] + offsets[place]')
   return table.concat(lines, '\n')
end

-- The loops are made for each size and type on its own: traces are for one type of memory.
local WRITTEN_OUT = 3 -- rows and columns of the largest window that is
local loops = {}
local function loop_for(kh, kw, T)
   if kh > WRITTEN_OUT or kw > WRITTEN_OUT then kh, kw = nil, nil end
   local key = kh and kh * (WRITTEN_OUT + 1) + kw or 0
   loops[T] = loops[T] or {}
   loops[T][key] = loops[T][key]
      or compiled.from_text(LOOP:gsub('BODY', body_of(kh, kw)), 'nn.few.maxima')(math.max, bit.tobit, begins,
         places_of_begins, offsets)
   return loops[T][key]
end

compiled.on_first_use(function()
   for code = 1, types.count do
      local T = types[code]
      for kh = 1, T.real and WRITTEN_OUT + 1 or 0 do
         for kw = 1, WRITTEN_OUT + 1 do loop_for(kh, kw, T) end
      end
   end
end)

-- How many windows there are along a dimension; nil for what is unusual: one begins behind the end, an argument is wrong.
local function windows(size, span, step, padding, dilation, by_ceil)
   if span % 1 ~= 0 or step % 1 ~= 0 or padding % 1 ~= 0 or dilation % 1 ~= 0 then return nil end
   if span < 1 or step < 1 or padding < 0 or dilation < 1 or padding > span / 2 or padding > 0 and dilation > 1 then return nil end
   local room = size + 2 * padding - dilation * (span - 1) - 1
   if room < 0 then return nil end
   local n = (by_ceil and ceil or floor)(room / step) + 1
   if (n - 1) * step >= size + padding then
      if padding == 0 then return nil end
      n = n - 1
   end
   return n
end

-- The images with so many rows and columns more, of the least number, before and behind.
local function with_border(T, q, planes, height, width, top, left, high, wide)
   local border = cast(T.pointer, rooms.room('maxima', planes * high * wide * T.size))
   for k = 0, planes * high * wide - 1 do border[k] = -math.huge end
   local bytes = width * T.size
   for plane = 0, planes - 1 do
      local to, from = (plane * high + top) * wide + left, plane * height * width
      for y = 0, height - 1 do copy(border + (to + y * wide), q + (from + y * width), bytes) end
   end
   return border
end

local function maxima(out, places, x, kw, kh, dw, dh, pw, ph, by_ceil, lw, lh)
   local T, nd, n = x.T, x.nd, count(x)
   lw, lh = lw or 1, lh or 1
   if few.LIMIT == 0 or nd ~= 3 and nd ~= 4 or n > MOST or not plain(x, T) or not T.real then return false end
   if n == 0 or out.T ~= T or places.T.host ~= types.Long or not is_apart(out, x, places) or kh * kw > MOST_TAPS then return false end
   local height, width = x[2 * nd - 3], x[2 * nd - 1]
   local rows, columns = windows(height, kh, dh, ph, lh, by_ceil), windows(width, kw, dw, pw, lw, by_ceil)
   if not rows or not columns or n / (height * width) * rows * columns > MOST or not blas.reads_plainly(x, true) then return false end
   if not begin(out, x, rows, columns) or not begin(places, x, rows, columns) then return false end
   local planes, q = n / (height * width), x.S.p + x.off
   local high, wide = (rows - 1) * dh + lh * (kh - 1) + 1, (columns - 1) * dw + lw * (kw - 1) + 1
   if ph > 0 or pw > 0 or high > height or wide > width then
      high, wide = math.max(high, height + ph), math.max(wide, width + pw)
      q = with_border(T, q, planes, height, width, ph, pw, high, wide)
   else
      high, wide = height, width
   end
   local taps = 0
   for i = 0, kh - 1 do
      for j = 0, kw - 1 do
         offsets[taps], offsets[kh * kw + taps] = i * lh * width + j * lw, i * lh * wide + j * lw
         taps = taps + 1
      end
   end
   lay_out(planes, rows, columns, high * wide, dh * wide, dw, 1 - ph * width - pw, dh * width, dw)
   loop_for(kh, kw, T)(out.S.p + out.off, places.S.p + places.off, q, planes * rows * columns, taps)
   return true
end

kernels.in_lua.spatial_max_pooling = maxima
