-- Borders of small images, computed here, as nn/few.lua says: rows are copied as blocks of bytes, also those of a border, which are
-- there already, then the columns of a border one by one. Loops go through all planes: LuaJIT enters each anew.
local math = require('th.own').math
local ffi = require 'ffi'
local memory = require 'torch.memory'
local apart = require 'torch.apart'
local few = require 'torch.few'
local blas = require 'torch.blas'
local kernels = require 'torch.kernels'
local rooms = require 'nn.few.rooms'
local lengths = require 'nn.few.lengths'

local count = memory.count
local min, max, copy, fill, cast = math.min, math.max, ffi.copy, ffi.fill, ffi.cast
local room, plain, is_apart, bytes_at = rooms.room, rooms.plain, apart.is_apart, rooms.bytes_at
local begin = rooms.begin

local MOST = 2 ^ 16 -- elements of the larger images; for more PyTorch has several threads

-- Where the border's elements come from, for one at `at` (from 0, negative in front) of n.
local sources = {
   reflection = function(at, n) return at < 0 and -at or at >= n and 2 * (n - 1) - at or at end,
   replication = function(at, n) return max(0, min(at, n - 1)) end,
}

-- Planes, height and width of images; nil for what they are not.
local function sizes(t)
   if t.nd == 4 then return t[1] * t[3], t[5], t[7] end
   if t.nd == 3 then return t[1], t[3], t[5] end
end

local function is_border(n, most) return n >= 0 and n % 1 == 0 and n < most end

-- Whether Lua computes a border (l, r, t, b) of images of that size, and the routines for its gradient.
local function prepare(kind, x, l, r, t, b, further)
   local planes, height, width = sizes(x)
   if not planes or further or few.LIMIT == 0 or not x.T.real then return nil end
   local wide, high = kind == 'reflection' and width or math.huge, kind == 'reflection' and height or math.huge
   if not (is_border(l, wide) and is_border(r, wide) and is_border(t, high) and is_border(b, high)) then return nil end
   if planes * (height + t + b) * (width + l + r) > MOST then return nil end
   return blas.of_rows(x.T)
end

-- Elements as whole numbers: NaNs keep their bits.
local CELLS = { [4] = ffi.typeof('int32_t *'), [8] = ffi.typeof('int64_t *') }

-- Column `to` of `rows` rows becomes column `from` of the same rows, `step` elements apart.
local function copy_column(cells, to, from, rows, step)
   for k = 0, (rows - 1) * step, step do cells[to + k] = cells[from + k] end
end

-- Column `to` of rows of `width` elements at p is added to by column `from` of rows of `wide` elements at q.
local function add_column(p, to, width, q, from, wide, rows, get)
   for k = 0, rows - 1 do p[to + k * width] = get(p, to + k * width) + get(q, from + k * wide) end
end

local function pad(kind, out, x, l, r, t, b, further)
   if not prepare(kind, x, l, r, t, b, further) then return false end
   local T = x.T
   if not plain(x, T) or out.T ~= T or not is_apart(out, x) then return false end
   local planes, height, width = sizes(x)
   local high, wide, size = height + t + b, width + l + r, T.size
   if not begin(out, x, high, wide) then return false end
   local p, q, row, padded = bytes_at(out), bytes_at(x), width * size, wide * size
   local source, plane_bytes, copying = sources[kind], high * padded, lengths.rows_of_planes(row)
   if not source then fill(p, planes * plane_bytes) end
   local first = p + l * size -- what is not in the border's columns
   copying(first + t * padded, q, planes, height, padded, (t + b) * padded, row, 0, row)
   if not source then return true end
   for y = -t, -1 do copying(first + (t + y) * padded, first + (t + source(y, height)) * padded, planes, 1, 0, plane_bytes, 0, plane_bytes, row) end
   for y = height, height + b - 1 do
      copying(first + (t + y) * padded, first + (t + source(y, height)) * padded, planes, 1, 0, plane_bytes, 0, plane_bytes, row)
   end
   local cells = cast(CELLS[size], p)
   for c = -l, -1 do copy_column(cells, l + c, l + source(c, width), planes * high, wide) end
   for c = width, width + r - 1 do copy_column(cells, l + c, l + source(c, width), planes * high, wide) end
   return true
end

local function pad_gradient(kind, grad, x, grad_output, l, r, t, b, further)
   local routine = prepare(kind, x, l, r, t, b, further)
   if not routine then return false end
   local T = x.T
   if not plain(grad_output, T) or grad.T ~= T or not is_apart(grad, x, grad_output) or grad_output.nd ~= x.nd then return false end
   local planes, height, width = sizes(x)
   local others, high, wide = sizes(grad_output)
   if others ~= planes or high ~= height + t + b or wide ~= width + l + r or x.nd == 4 and x[1] ~= grad_output[1] then return false end
   if not begin(grad, x, height, width) then return false end
   local size = T.size
   local p, q, row, padded = bytes_at(grad), bytes_at(grad_output), width * size, wide * size
   local source = sources[kind]
   if not source then
      for plane = 0, planes - 1 do
         local to, from = p + plane * height * row, q + (plane * high + t) * padded + l * size
         for _ = 1, height do
            copy(to, from, row)
            to, from = to + row, from + padded
         end
      end
      return true
   end
   local narrow = room('narrow', planes * high * row) -- without the border's columns, which are added to the others
   local to, from = narrow, q + l * size
   for _ = 1, planes * high do
      copy(to, from, row)
      to, from = to + row, from + padded
   end
   local sums, gradients = cast(T.pointer, narrow), cast(T.pointer, q)
   for c = 0, l - 1 do add_column(sums, source(c - l, width), width, gradients, c, wide, planes * high, T.get) end
   for c = l + width, wide - 1 do add_column(sums, source(c - l, width), width, gradients, c, wide, planes * high, T.get) end
   for plane = 0, planes - 1 do
      local of_rows, of_image = narrow + plane * high * row, p + plane * height * row
      copy(of_image, of_rows + t * row, height * row)
      for y = 0, t - 1 do blas.add(routine, width, of_rows + y * row, of_image + source(y - t, height) * row) end
      for y = t + height, high - 1 do blas.add(routine, width, of_rows + y * row, of_image + source(y - t, height) * row) end
   end
   return true
end

for _, kind in ipairs{ 'zero', 'reflection', 'replication' } do
   kernels.in_lua[kind .. '_padding'] = function(...) return pad(kind, ...) end
   kernels.in_lua[kind .. '_padding_gradient'] = function(...) return pad_gradient(kind, ...) end
end
