-- Means of windows of images of few elements, as nn/few.lua says, where all windows lie on the image.
local math = require('th.own').math
local ffi = require 'ffi'
local types = require 'torch.types'
local memory = require 'torch.memory'
local is_apart = require('torch.apart').is_apart
local few = require 'torch.few'
local compiled = require 'torch.compiled'
local in_lua = require('torch.kernels').in_lua
local numbers = require 'nn.few.numbers'
local rooms = require 'nn.few.rooms'

local count, is_contiguous, first_element = memory.count, memory.is_contiguous, memory.first_element
local floor = math.floor

local MOST = 2 ^ 14    -- elements of the images
local MOST_WRITTEN = 4 -- rows and columns of windows whose elements are written out: LuaJIT would enter a loop anew for each row
local FEWEST = 8       -- columns of wider ones, from which on a loop is as fast as Python

-- One loop over all windows, k, of which each begins at `at`.
local WINDOWS = [[
   local get, cast = ...
   return function(p, q, planes, height, width, rows, columns, kh, kw, dh, dw)
      local k, elements = 0, kh * kw
      for first = 0, (planes - 1) * height * width, height * width do
         local row, at, column = first, first, 0
         for _ = 1, rows * columns do
            DO
            k, at, column = k + 1, at + dw, column + 1
            if column == columns then
               row, column = row + dh * width, 0
               at = row
            end
         end
      end
   end
]]

-- A text for all elements of a window: written out for kh x kw, or in loops.
local function for_elements(kh, kw, text)
   if not kh then
      return ('for y = at, at + (kh - 1) * width, width do for x = y, y + kw - 1 do %s end end'):format(text:gsub('AT', 'x'))
   end
   local parts = {}
   for y = 0, kh - 1 do
      for x = 0, kw - 1 do parts[#parts + 1] = (text:gsub('AT', ('at + (%d * width + %d)'):format(y, x))) end
   end
   return table.concat(parts, ' ')
end

-- p = the means of q; the elements of p become larger by what the gradients q of the means are for each. Sums and quotients are rounded to the type
-- at each step, as Torch7's.
local function mean(kh, kw) return 'local s = 0 ' .. for_elements(kh, kw, 's = cast(s + get(q, AT))') .. ' p[k] = s / elements' end
local function slope(kh, kw) return 'local s = cast(get(q, k) / elements) ' .. for_elements(kh, kw, 'p[AT] = get(p, AT) + s') end

-- For each type and size, 0 for all others, a function of its own.
local function for_windows(text)
   local keys = {}
   for _, code in ipairs{ types.Float.code, types.Double.code } do
      for size = 0, MOST_WRITTEN ^ 2 do keys[#keys + 1] = 100 * code + size end
   end
   local made = compiled.for_each(keys, function(key)
      local T, size = types[floor(key / 100)], key % 100 - 1
      local body = size < 0 and text() or text(floor(size / MOST_WRITTEN) + 1, size % MOST_WRITTEN + 1)
      return compiled.from_text(WINDOWS:gsub('DO', body), 'nn.few.averages')(T.get, T.cast)
   end)
   return function(T, kh, kw)
      local is_small = kh <= MOST_WRITTEN and kw <= MOST_WRITTEN
      return made(100 * T.host.code + (is_small and (kh - 1) * MOST_WRITTEN + kw or 0))
   end
end
local average, distribute = for_windows(mean), for_windows(slope)

-- The planes of images, their height and width, and rows and columns of windows; nil where those are for Python.
local function windows(x, kw, kh, dw, dh, pw, ph, ceil)
   local nd, T = x.nd, x.T.host
   if nd ~= 3 and nd ~= 4 or pw ~= 0 or ph ~= 0 or T ~= types.Float and T ~= types.Double then return nil end
   if not numbers.are_whole(kw, kh, dw, dh) or kw < 1 or kh < 1 or dw < 1 or dh < 1 then return nil end
   if (kw > MOST_WRITTEN or kh > MOST_WRITTEN) and kw < FEWEST then return nil end
   local n, height, width = count(x), x[2 * nd - 3], x[2 * nd - 1]
   if n > MOST or few.LIMIT == 0 or not is_contiguous(x) or kh > height or kw > width then return nil end
   local rows, columns = (height - kh) / dh, (width - kw) / dw
   if ceil and (rows % 1 ~= 0 or columns % 1 ~= 0) then return nil end
   return n / (height * width), height, width, floor(rows) + 1, floor(columns) + 1
end

function in_lua.spatial_average_pooling(out, x, kw, kh, dw, dh, pw, ph, ceil)
   local planes, height, width, rows, columns = windows(x, kw, kh, dw, dh, pw, ph, ceil)
   if not planes or out.T ~= x.T or not x.T.here or not is_apart(out, x) or not rooms.begin(out, x, rows, columns) then return false end
   average(x.T, kh, kw)(first_element(out), first_element(x), planes, height, width, rows, columns, kh, kw, dh, dw)
   return true
end

function in_lua.spatial_average_pooling_grad_input(gradient, x, grad_output, kw, kh, dw, dh, pw, ph, ceil)
   local planes, height, width, rows, columns = windows(x, kw, kh, dw, dh, pw, ph, ceil)
   local nd = x.nd
   if not planes or gradient.T ~= x.T or grad_output.T ~= x.T or not x.T.here or grad_output.nd ~= nd or not is_apart(gradient, x, grad_output) then return false end
   if grad_output[2 * nd - 1] ~= columns or grad_output[2 * nd - 3] ~= rows or count(grad_output) ~= planes * rows * columns then return false end
   if grad_output[1] ~= x[1] or not is_contiguous(grad_output) then return false end
   memory.resize_as(gradient, x)
   if not is_contiguous(gradient) then return false end
   ffi.fill(first_element(gradient), count(x) * x.T.size)
   distribute(x.T, kh, kw)(first_element(gradient), first_element(grad_output), planes, height, width, rows, columns, kh, kw, dh, dw)
   return true
end
