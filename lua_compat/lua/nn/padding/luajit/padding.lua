-- Padding of small images and volumes, and the gradients. Rows, including those of a border, are copied as blocks of
-- bytes; then the border's columns are copied one by one. Loops run over all planes, because LuaJIT enters a loop anew
-- each time.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local types = require 'torch.core.types'
local blas = require 'torch.luajit.blas'
local luajit, no = require('torch.core.ways').of_kernels()
local gates = require 'nn.shared.luajit.gates'
local geometry = require 'nn.shared.luajit.geometry'
local rooms = require 'nn.shared.luajit.scratch'
local lengths = require 'nn.shared.luajit.copy_rows'

local min, max, copy, fill, cast = math.min, math.max, ffi.copy, ffi.fill, ffi.cast
local room, bytes_at = rooms.room, rooms.bytes_at

local MOST = 2 ^ 16 -- elements of the larger images; for more PyTorch has several threads

-- The source of a border's element at `at` (from 0, negative in front) of n.
local sources = {
   reflection = function(at, n) return at < 0 and -at or at >= n and 2 * (n - 1) - at or at end,
   replication = function(at, n) return max(0, min(at, n - 1)) end,
}

-- The rows or columns of a border, from 0 before the border: two lists, of their positions and of what each repeats.
local function repeated(source, n, before, behind)
   local to, from = {}, {}
   for at = -before, source and n + behind - 1 or -before - 1 do
      if at < 0 or at >= n then to[#to + 1], from[#from + 1] = before + at, before + source(at, n) end
   end
   return to, from
end

-- The border's widths are l, r, t, b (left, right, top, bottom), and front and back for volumes.
--    planes, frames, height, width: of all images or volumes (images have one frame); deep, high, wide: with the border
--    rows, columns: of the border; row_sources, column_sources: what they repeat
local function completing(kind)
   return function(g, x)
      local axes, last, source = g.front and 3 or 2, 2 * g.nd - 1, sources[kind]
      if not (gates.planes(x, axes) and gates.whole(0, g.l, g.r, g.t, g.b)
         and gates.whole(0, g.front or 0, g.back)) then
         return false
      end
      if axes == 3 and kind ~= 'replication' then return no 'a border of volumes that repeats no ends' end
      g.frames, g.height, g.width = axes == 3 and x[last - 4] or 1, x[last - 2], x[last]
      if kind == 'reflection' and (max(g.l, g.r) >= g.width or max(g.t, g.b) >= g.height) then
         return no 'a border as wide as the image'
      end
      g.planes = memory.count(x) / (g.frames * g.height * g.width)
      g.deep, g.high, g.wide = g.frames + (g.front or 0) + (g.back or 0), g.height + g.t + g.b, g.width + g.l + g.r
      if not gates.few(g.planes * g.deep * g.high * g.wide, MOST) then return false end
      g.rows, g.row_sources = repeated(source, g.height, g.t, g.b)
      g.columns, g.column_sources = repeated(source, g.width, g.l, g.r)
      return g
   end
end

-- Copies column `from` of `rows` rows to column `to`; rows are `step` elements apart.
local function copy_column(cells, to, from, rows, step)
   for k = 0, (rows - 1) * step, step do cells[to + k] = cells[from + k] end
end

-- Adds column `from` of rows of `wide` elements at q to column `to` of rows of `width` elements at p.
local function add_column(p, to, width, q, from, wide, rows, get)
   for k = 0, rows - 1 do p[to + k * width] = get(p, to + k * width) + get(q, from + k * wide) end
end

-- Copies `planes` planes from q to p with their border.
local function pad_planes(g, kind, size, p, q, planes)
   local row, padded, rows, sources_of_rows = g.width * size, g.wide * size, g.rows, g.row_sources
   local plane, copying = g.high * padded, lengths.into_planes(row)
   if kind == 'zero' then fill(p, planes * plane) end
   local first = p + g.l * size -- the first element outside the border's columns
   copying(first + g.t * padded, q, planes, g.height, padded, row, (g.t + g.b) * padded, row)
   for k = 1, #rows do
      copying(first + rows[k] * padded, first + sources_of_rows[k] * padded, 1, planes, plane, plane, 0, row)
   end
   local cells = cast(types.cells[size], p)
   for k = 1, #g.columns do copy_column(cells, g.columns[k], g.column_sources[k], planes * g.high, g.wide) end
end

local function pad(g, kind, out, x)
   local T = x.T
   if not g or not gates.result(out, x, g.high, g.wide, nil, g.front and g.deep) then return false end
   if not g.front then
      pad_planes(g, kind, T.size, bytes_at(out), bytes_at(x), g.planes)
      return true
   end
   local frames, front, deep, frame = g.frames, g.front, g.deep, g.high * g.wide * T.size
   local p, q = bytes_at(out), room('frames', g.planes * frames * frame)
   pad_planes(g, kind, T.size, q, bytes_at(x), g.planes * frames)
   for plane = 0, g.planes - 1 do
      local to, from = p + plane * deep * frame, q + plane * frames * frame
      copy(to + front * frame, from, frames * frame)
      for z = 0, front - 1 do copy(to + z * frame, from, frame) end
      for z = front + frames, deep - 1 do copy(to + z * frame, from + (frames - 1) * frame, frame) end
   end
   return true
end

-- Adds up at p the gradients of `planes` planes from those of the padded planes at q.
local function add_planes(g, kind, T, routine, p, q, planes)
   local size, high, wide, height, width, t = T.size, g.high, g.wide, g.height, g.width, g.t
   local row, padded = width * size, wide * size
   local copying = lengths.out_of_planes(row)
   if kind == 'zero' then
      return copying(p, q + t * padded + g.l * size, planes, height, row, padded, (t + g.b) * padded, row)
   end
   -- without the border's columns, which are added to the others
   local narrow = room('narrow', planes * high * row)
   copying(narrow, q + g.l * size, planes, high, row, padded, 0, row)
   local sums, gradients, columns, rows = cast(T.pointer, narrow), cast(T.pointer, q), g.columns, g.rows
   for k = 1, #columns do
      add_column(sums, g.column_sources[k] - g.l, width, gradients, columns[k], wide, planes * high, T.get)
   end
   for plane = 0, planes - 1 do
      local of_rows, of_image = narrow + plane * high * row, p + plane * height * row
      copy(of_image, of_rows + t * row, height * row)
      for k = 1, #rows do
         blas.add(routine, width, of_rows + rows[k] * row, of_image + (g.row_sources[k] - t) * row)
      end
   end
end

-- The frames at q, in a scratch buffer, with the border's frames added to the first and the last.
local function add_frames(g, routine, q, size)
   local elements, frames, deep = g.high * g.wide, g.frames, g.deep
   local frame = elements * size
   local sums = room('frames', g.planes * frames * frame)
   for plane = 0, g.planes - 1 do
      local to, from = sums + plane * frames * frame, q + plane * deep * frame
      copy(to, from + g.front * frame, frames * frame)
      for z = 0, g.front - 1 do blas.add(routine, elements, from + z * frame, to) end
      local last = to + (frames - 1) * frame
      for z = g.front + frames, deep - 1 do blas.add(routine, elements, from + z * frame, last) end
   end
   return sums
end

local function pad_gradient(g, kind, gradient, x, grad_output)
   local T, q = x.T, bytes_at(grad_output)
   local routine = g and gates.routine(T)
   if not routine or not gates.gradient(gradient, x, grad_output, g.high, g.wide, nil, g.front and g.deep) then
      return false
   end
   if g.front then q = add_frames(g, routine, q, T.size) end
   add_planes(g, kind, T, routine, bytes_at(gradient), q, g.planes * g.frames)
   return true
end

local FIELDS = 'planes, frames, height, width, deep, high, wide, rows, row_sources, columns, column_sources'
for _, kind in ipairs{ 'zero', 'reflection', 'replication' } do
   local geometry_of = geometry.of('l, r, t, b, front, back', FIELDS, completing(kind))
   luajit[kind .. '_padding'] = function(out, x, l, r, t, b, front, back)
      return pad(geometry_of(x, l, r, t, b, front, back), kind, out, x)
   end
   luajit[kind .. '_padding_gradient'] = function(gradient, x, grad_output, l, r, t, b, ...)
      return pad_gradient(geometry_of(x, l, r, t, b, ...), kind, gradient, x, grad_output)
   end
end
