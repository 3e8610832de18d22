-- Borders of small images and volumes, computed here: rows are copied as blocks of bytes,
-- also those of a border, which are
-- there already, then the columns of a border one by one. Loops go through all planes: LuaJIT enters each anew.
local ffi = require 'ffi'
local apart = require 'torch.core.overlap'
local few = require 'torch.luajit.elementwise'
local blas = require 'torch.luajit.blas'
local ways = require 'torch.core.ways'
local rooms = require 'nn.shared.luajit.scratch'
local lengths = require 'nn.shared.luajit.copy_rows'

local luajit = ways.luajit
local min, max, huge, copy, fill, cast = math.min, math.max, math.huge, ffi.copy, ffi.fill, ffi.cast
local room, plain, is_apart, bytes_at = rooms.room, rooms.plain, apart.is_apart, rooms.bytes_at
local begin = rooms.begin

local MOST = 2 ^ 16 -- elements of the larger images; for more PyTorch has several threads

-- Where the border's elements come from, for one at `at` (from 0, negative in front) of n.
local sources = {
   reflection = function(at, n) return at < 0 and -at or at >= n and 2 * (n - 1) - at or at end,
   replication = function(at, n) return max(0, min(at, n - 1)) end,
}

-- Planes, frames, height and width of images, which have one frame, or with `further` of volumes; nil for
-- what they are not.
local function sizes(t, further)
   local nd = t.nd
   if further then
      if nd == 5 then return t[1] * t[3], t[5], t[7], t[9] end
      if nd == 4 then return t[1], t[3], t[5], t[7] end
   elseif nd == 4 then
      return t[1] * t[3], 1, t[5], t[7]
   elseif nd == 3 then
      return t[1], 1, t[3], t[5]
   end
end

local function is_border(n, most) return n >= 0 and n % 1 == 0 and n < most end

-- Whether Lua computes a border (l, r, t, b; of a volume, whose border is a replication, also `front` and
-- `back`) of images of that size, and the routines for its gradient.
local function prepare(kind, x, l, r, t, b, front, back)
   local planes, frames, height, width = sizes(x, front)
   if not planes or few.LIMIT == 0 or not x.T.real or front and kind ~= 'replication' then return nil end
   local wide, high = kind == 'reflection' and width or huge, kind == 'reflection' and height or huge
   if not (is_border(l, wide) and is_border(r, wide) and is_border(t, high) and is_border(b, high)) then return nil end
   if front and not (is_border(front, huge) and is_border(back, huge)) then return nil end
   if planes * (frames + (front or 0) + (back or 0)) * (height + t + b) * (width + l + r) > MOST then
      return nil
   end
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

-- The planes at q, height x width, to p with their border.
local function pad_planes(kind, size, p, q, planes, height, width, l, r, t, b)
   local high, wide = height + t + b, width + l + r
   local row, padded = width * size, wide * size
   local source, plane_bytes, copying = sources[kind], high * padded, lengths.rows_of_planes(row)
   if not source then fill(p, planes * plane_bytes) end
   local first = p + l * size -- what is not in the border's columns
   copying(first + t * padded, q, planes, height, padded, (t + b) * padded, row, 0, row)
   if not source then return end
   for y = -t, -1 do
      copying(first + (t + y) * padded, first + (t + source(y, height)) * padded, planes, 1, 0, plane_bytes, 0,
         plane_bytes, row)
   end
   for y = height, height + b - 1 do
      copying(first + (t + y) * padded, first + (t + source(y, height)) * padded, planes, 1, 0, plane_bytes, 0,
         plane_bytes, row)
   end
   local cells = cast(CELLS[size], p)
   for c = -l, -1 do copy_column(cells, l + c, l + source(c, width), planes * high, wide) end
   for c = width, width + r - 1 do copy_column(cells, l + c, l + source(c, width), planes * high, wide) end
end

local function pad(kind, out, x, l, r, t, b, front, back)
   if not prepare(kind, x, l, r, t, b, front, back) then return false end
   local T = x.T
   if not plain(x, T) or out.T ~= T or not is_apart(out, x) then return false end
   local planes, frames, height, width = sizes(x, front)
   local high, wide = height + t + b, width + l + r
   if not front then
      if not begin(out, x, high, wide) then return false end
      pad_planes(kind, T.size, bytes_at(out), bytes_at(x), planes, height, width, l, r, t, b)
      return true
   end
   local deep, frame = frames + front + back, high * wide * T.size
   if not rooms.begin_volumes(out, x, high, wide, nil, deep) then return false end
   local p, q = bytes_at(out), room('frames', planes * frames * frame)
   pad_planes(kind, T.size, q, bytes_at(x), planes * frames, height, width, l, r, t, b)
   for plane = 0, planes - 1 do
      local to, from = p + plane * deep * frame, q + plane * frames * frame
      copy(to + front * frame, from, frames * frame)
      for z = 0, front - 1 do copy(to + z * frame, from, frame) end
      for z = front + frames, deep - 1 do copy(to + z * frame, from + (frames - 1) * frame, frame) end
   end
   return true
end

-- The planes at p, height x width, become the gradients of those that the border at q was made from.
local function add_planes(kind, T, routine, p, q, planes, height, width, l, r, t, b)
   local size, high, wide = T.size, height + t + b, width + l + r
   local row, padded, source = width * size, wide * size, sources[kind]
   local copying = lengths.rows_of_planes(row)
   if not source then
      return copying(p, q + t * padded + l * size, planes, height, row, 0, padded, (t + b) * padded, row)
   end
   -- without the border's columns, which are added to the others
   local narrow = room('narrow', planes * high * row)
   copying(narrow, q + l * size, planes, high, row, 0, padded, 0, row)
   local sums, gradients = cast(T.pointer, narrow), cast(T.pointer, q)
   for c = 0, l - 1 do add_column(sums, source(c - l, width), width, gradients, c, wide, planes * high, T.get) end
   for c = l + width, wide - 1 do
      add_column(sums, source(c - l, width), width, gradients, c, wide, planes * high, T.get)
   end
   for plane = 0, planes - 1 do
      local of_rows, of_image = narrow + plane * high * row, p + plane * height * row
      copy(of_image, of_rows + t * row, height * row)
      for y = 0, t - 1 do blas.add(routine, width, of_rows + y * row, of_image + source(y - t, height) * row) end
      for y = t + height, high - 1 do
         blas.add(routine, width, of_rows + y * row, of_image + source(y - t, height) * row)
      end
   end
end

-- The frames of n planes at q, of which those of a border are added to the first and the last of the others:
-- in a room.
local function add_frames(routine, q, n, elements, size, frames, front, back)
   local frame, deep = elements * size, frames + front + back
   local sums = room('frames', n * frames * frame)
   for plane = 0, n - 1 do
      local to, from = sums + plane * frames * frame, q + plane * deep * frame
      copy(to, from + front * frame, frames * frame)
      for z = 0, front - 1 do blas.add(routine, elements, from + z * frame, to) end
      local last = to + (frames - 1) * frame
      for z = front + frames, deep - 1 do blas.add(routine, elements, from + z * frame, last) end
   end
   return sums
end

local function pad_gradient(kind, grad, x, grad_output, l, r, t, b, front, back)
   local routine = prepare(kind, x, l, r, t, b, front, back)
   if not routine then return false end
   local T = x.T
   if not plain(grad_output, T) or grad.T ~= T or not is_apart(grad, x, grad_output)
      or grad_output.nd ~= x.nd then
      return false
   end
   local planes, frames, height, width = sizes(x, front)
   local others, deep, high, wide = sizes(grad_output, front)
   if others ~= planes or deep ~= frames + (front or 0) + (back or 0) or high ~= height + t + b
      or wide ~= width + l + r or x[1] ~= grad_output[1] then
      return false
   end
   local q
   if front then
      if not rooms.begin_volumes(grad, x, height, width, nil, frames) then return false end
      q = add_frames(routine, bytes_at(grad_output), planes, high * wide, T.size, frames, front, back)
   else
      if not begin(grad, x, height, width) then return false end
      q = bytes_at(grad_output)
   end
   add_planes(kind, T, routine, bytes_at(grad), q, planes * frames, height, width, l, r, t, b)
   return true
end

for _, kind in ipairs{ 'zero', 'reflection', 'replication' } do
   luajit[kind .. '_padding'] = function(...) return pad(kind, ...) end
   luajit[kind .. '_padding_gradient'] = function(...) return pad_gradient(kind, ...) end
end
