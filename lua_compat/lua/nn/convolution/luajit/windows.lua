-- Unfolds the windows of a convolution over images or volumes into rows for BLAS.
--
-- An image is planes x height x width; the planes of a volume are time x height x width, and everything below applies
-- to time, too. An image with its border is first split into phases: with stride 2, the even and odd rows, and of each
-- the even and odd columns, become small planes of their own. In such a plane the pixels that one kernel element meets
-- in successive windows are neighbours, except at the end of each row. For gradients of images, that is one block of
-- bytes to add, where a loop over windows would handle each row separately. There, products include the gaps between
-- rows of windows, which are zero. Elsewhere rows of windows are copied one by one, so that products do no work for
-- gaps.
local ffi = require 'ffi'
local blas = require 'torch.luajit.blas'
local few = require 'torch.luajit.elementwise'
local templates = require 'torch.core.templates'
local types = require 'torch.core.types'
local gates = require 'nn.shared.luajit.gates'
local rooms = require 'nn.shared.luajit.scratch'
local lengths = require 'nn.shared.luajit.copy_rows'

local floor, max, fill, cast, room = math.floor, math.max, ffi.fill, ffi.cast, rooms.room

local into_planes = lengths.into_planes

local windows = {}

local MOST_TAPS = 1024

-- The number of phases in use along one axis.
local function phases_of(span, step, dilation) return (dilation > 1 or span > step) and step or span end

-- The byte offset, within a plane, of the first pixel that each kernel element meets. phase: elements of a phase
local function taps_of(g, phase)
   local taps, c, i, j = ffi.new('int32_t[?]', g.taps), 0, 0, 0
   for k = 0, g.taps - 1 do
      local z, y, x = c * g.lt, i * g.lh, j * g.lw
      local which = ((z % g.dt) * g.phase_rows + y % g.dh) * g.phase_columns + x % g.dw
      taps[k] = (which * phase + (floor(z / g.dt) * g.high + floor(y / g.dh)) * g.wide + floor(x / g.dw)) * g.size
      j = j + 1
      if j == g.kw then i, j = i + 1, 0 end
      if i == g.kh then c, i = c + 1, 0 end
   end
   return taps
end

-- Where each row of a plane goes (its first pixel, for column stride 1), or each pixel: its offset in elements in a
-- laid-out plane, -1 if no window reads it. Also returns the number of entries.
local function layout_of(g, phase)
   local width, dt, dh, dw = g.dw == 1 and 1 or g.width, g.dt, g.dh, g.dw
   local units, x, y, z = g.time * g.height * width, 0, 0, 0
   local places = ffi.new('int32_t[?]', units)
   for k = 0, units - 1 do
      local frame, row, column = floor((z + g.pt) / dt), floor((y + g.ph) / dh), floor((x + g.pw) / dw)
      local a, b, c = z + g.pt - frame * dt, y + g.ph - row * dh, x + g.pw - column * dw
      places[k] = a < g.phase_frames and b < g.phase_rows and c < g.phase_columns
         and ((a * g.phase_rows + b) * g.phase_columns + c) * phase + (frame * g.high + row) * g.wide + column or -1
      x = x + 1
      if x == width then x, y = 0, y + 1 end
      if y == g.height then y, z = 0, z + 1 end
   end
   return places, units
end

-- Completes the geometry of a convolution, which has (those of an image have a time of one, and one frame)
--    T: the type of elements; kt, kh, kw: the kernel; dt, dh, dw: steps; pt, ph, pw: border; lt, lh, lw: dilation
--    images, planes, time, height, width; outputs; frames, rows, columns: of windows
-- with
--    size: bytes of an element; pixels: of a plane; windows: of one, too; taps: elements of the kernel; length: of all
--    planes
--    phase_frames, phase_rows, phase_columns: how many phases are in use; deep, high, wide: sizes of one
--    plane, image: elements of what is laid out; run: elements from the first window to the last
--    in_place: an image is laid out as it lies; gapless: so are the windows of one
--    covers: the kernel covers its image, of which then nothing has to be moved; pointwise: it has one element
windows.FIELDS = [[planes, time, height, width, frames, rows, columns, size, pixels, windows, taps, length,
   phase_frames, phase_rows, phase_columns, deep, high, wide, phase, plane, image, run, in_place, gapless, partial,
   covers, pointwise, of_images, tap_bytes, places, units]]
function windows.complete(g)
   g.pixels, g.windows, g.taps, g.size = g.time * g.height * g.width, g.frames * g.rows * g.columns,
      g.kt * g.kh * g.kw, g.T.size
   if not gates.within(g.taps, MOST_TAPS, 'a kernel of more than %d elements') then return false end
   g.length = g.planes * g.taps
   g.phase_frames, g.phase_rows, g.phase_columns = phases_of(g.kt, g.dt, g.lt), phases_of(g.kh, g.dh, g.lh),
      phases_of(g.kw, g.dw, g.lw)
   g.deep = floor((g.time + 2 * g.pt - 1) / g.dt) + 1
   g.high, g.wide = floor((g.height + 2 * g.ph - 1) / g.dh) + 1, floor((g.width + 2 * g.pw - 1) / g.dw) + 1
   local phase = g.deep * g.high * g.wide
   g.plane = g.phase_frames * g.phase_rows * g.phase_columns * phase
   g.image = g.planes * g.plane
   g.run = ((g.frames - 1) * g.high + g.rows - 1) * g.wide + g.columns
   local without_border = g.pt == 0 and g.ph == 0 and g.pw == 0
   g.in_place = without_border and g.dt == 1 and g.dh == 1 and g.dw == 1
   g.gapless = g.wide == g.columns and (g.frames == 1 or g.high == g.rows)
   g.partial = g.phase_frames < g.dt or g.phase_rows < g.dh or g.phase_columns < g.dw
   g.covers = g.windows == 1 and without_border and g.kt == g.time and g.kh == g.height and g.kw == g.width
   g.pointwise = g.taps == 1 and g.in_place
   g.phase, g.of_images = phase, {}
   return g
end

-- Adds the tables for moving elements, once it is known that they are not too large.
function windows.lay_out(g)
   g.tap_bytes, g.bytes = taps_of(g, g.phase), 32 * g.taps * g.frames * g.rows
   if not g.in_place then
      g.places, g.units = layout_of(g, g.phase)
      g.bytes = g.bytes + 4 * g.units
   end
   return g
end

-- Where the rows of windows of each kernel element are in a laid-out plane (froms), and where they go for n images
-- (tos): `units` entries of `row` bytes each, which are kept.
local function rows_for(g, n)
   local t = g.of_images[n]
   if t then return t end
   local size, row_of_tap, taps = g.size, n * g.windows * g.size, g.tap_bytes
   local frames, rows, row, wide, deep = g.frames, g.rows, g.columns * size, g.wide * size, g.high * g.wide * size
   if g.gapless then frames, rows, row = 1, 1, g.windows * size end
   local units = g.taps * frames * rows
   local froms, tos = ffi.new('int32_t[?]', units), ffi.new('int32_t[?]', units)
   local k, f, r, from, to = 0, 0, 0, taps[0], 0
   for unit = 0, units - 1 do
      froms[unit], tos[unit] = from + f * deep + r * wide, to + (f * rows + r) * row
      r = r + 1
      if r == rows then r, f = 0, f + 1 end
      if f == frames then
         k, f = k + 1, 0
         if k < g.taps then from, to = taps[k], to + row_of_tap end
      end
   end
   t = { units = units, froms = froms, tos = tos, row = row, to_plane = g.taps * row_of_tap }
   g.of_images[n] = t
   return t
end

-- Compiles a text that moves numbers between two places into two functions, one for each direction: $move is the copy.
local function both_ways(text, there, back)
   return templates.compile('nn.convolution.luajit.windows', text, { move = there }),
      templates.compile('nn.convolution.luajit.windows', text, { move = back })
end

-- Moves n planes between `image`, in its own order, and `phases`. All planes are one loop, because LuaJIT enters a loop
-- anew each time. (Offsets are used, because pointers that change in a loop are allocated.)
local rows_inward, rows_outward = both_ways([[
   return function(g, phases, image, n)
      local units, places, plane, bytes, size = g.units, g.places, g.plane * g.size, g.width * g.size, g.size
      local k, base, at = 0, 0, 0
      for _ = 1, n * units do
         local place = places[k]
         if place >= 0 then $move end
         at, k = at + bytes, k + 1
         if k == units then k, base = 0, base + plane end
      end
   end
]], 'copy(phases + (base + place * size), image + at, bytes)',
   'copy(image + at, phases + (base + place * size), bytes)')

-- The same for pixels, as whole numbers of their size (LuaJIT mistakes some NaNs for other values).
local PIXELS = [[
   return function(g, phases, image, n)
      local units, places, plane = g.units, g.places, g.plane
      local k, base = 0, 0
      for i = 0, n * units - 1 do
         local place = places[k]
         if place >= 0 then $move end
         k = k + 1
         if k == units then k, base = 0, base + plane end
      end
   end
]]
-- Fills `rows` rows of n numbers at p with one number of `start` each, cycling through its `several` numbers.
local FILL = [[
   return function(p, start, rows, n, several)
      local k, left = 0, n
      for i = 0, rows * n - 1 do
         p[i] = start[k]
         left = left - 1
         if left == 0 then
            k, left = k + 1, n
            if k == several then k = 0 end
         end
      end
   end
]]
local inward, outward, filling, cells = {}, {}, {}, types.cells
local function make(size) -- separate traces for each size
   if inward[size] then return end
   inward[size], outward[size] = both_ways(PIXELS, 'phases[base + place] = image[i]', 'image[i] = phases[base + place]')
   filling[size] = templates.compile('nn.convolution.luajit.windows', FILL, {})
end
templates.on_first_use(function()
   for _, code in ipairs(types.codes_of_reals) do make(types[code].size) end
end)

-- Moves the pixels in use of n images at p to their phases (is_inward), or back.
local function move(g, phases, p, n, is_inward)
   if g.dw == 1 then return (is_inward and rows_inward or rows_outward)(g, phases, p, n * g.planes) end
   make(g.size)
   local pointer = cells[g.size]
   return (is_inward and inward or outward)[g.size](g, cast(pointer, phases), cast(pointer, p), n * g.planes)
end

-- Lays out n images at p. Returns a pointer to the result.
local function laid_out(g, p, n)
   if g.in_place then return p end
   local bytes = n * g.image * g.size
   local phases = room('phases', bytes)
   fill(phases, bytes)
   move(g, phases, p, n, true)
   return phases
end

local copying_of = lengths.of([[
   return function(columns, phases, images, g, t, bytes)
      local planes, plane, units, froms, tos, to_plane = g.planes, g.plane * g.size, t.units, t.froms, t.tos, t.to_plane
      local to_image, k, c, from, to, first = g.windows * g.size, 0, 0, 0, 0, 0
      for _ = 1, images * planes * units do
         copy(columns + (to + tos[k]), phases + (from + froms[k]), $bytes)
         k = k + 1
         if k == units then
            k, c, from, to = 0, c + 1, from + plane, to + to_plane
            if c == planes then
               c, first = 0, first + to_image
               to = first
            end
         end
      end
   end
]], 'nn.convolution.luajit.windows')

-- Unfolds the windows of n images at p: g.length rows of n * g.windows numbers at `columns`; in each row, one image's
-- windows follow another's.
function windows.unfold(g, p, n, columns)
   local phases, t = laid_out(g, p, n), rows_for(g, n)
   copying_of(t.row)(columns, phases, n, g, t, t.row)
end

-- The inverse, summing: each pixel of the n images at p becomes the sum of the numbers that were unfolded from it, plus
-- its plane's number of `start`, if given.
function windows.fold(g, routine, columns, p, n, start)
   local size, run, count, plane, taps = g.size, g.run, g.taps, g.plane * g.size, g.tap_bytes
   local bytes, row = run * size, n * run * size
   local phases = p
   if g.partial or g.in_place then windows.begin(g, p, n * g.planes, g.pixels, start, g.planes) end
   if not g.in_place then
      phases = room('phases', n * g.image * size)
      windows.begin(g, phases, n * g.planes, g.plane, start, g.planes)
   end
   local to, k = 0, 0
   for i = 0, n - 1 do
      local from = i * bytes
      for _ = 1, g.length do
         blas.add(routine, run, columns + from, phases + (to + taps[k]))
         from, k = from + row, k + 1
         if k == count then k, to = 0, to + plane end
      end
   end
   if not g.in_place then move(g, phases, p, n, false) end
end

local MOST_FILLED = 64 -- numbers of a row; longer rows are copied, doubling each time

-- Fills `count` rows of n numbers at p with one number of `start` each, cycling through its `several` numbers, or with
-- zero.
function windows.begin(g, p, count, n, start, several)
   local size = g.size
   if not start then return fill(p, count * n * size) end
   if n <= MOST_FILLED then
      make(size)
      return filling[size](cast(cells[size], p), cast(cells[size], start), count, n, several)
   end
   p, start = cast(cells[size], p), cast(cells[size], start)
   for k = 0, count - 1 do few.fill_in_one_piece(p + k * n, start[k % several], n, size) end
end

-- Copies contiguous rows of windows to `spread`, where rows are g.wide numbers apart, frames g.high rows, and planes
-- `of_plane` bytes.
local function spread_rows(g, spread, results, planes, of_plane)
   local size, frames, rows = g.size, g.frames, g.rows
   local row, wide, whole = g.columns * size, g.wide * size, g.run * size
   if g.gapless then return into_planes(whole)(spread, results, 1, planes, of_plane, whole, 0, whole) end
   if frames == 1 then
      return into_planes(row)(spread, results, planes, rows, wide, row, of_plane - rows * wide, row)
   end
   for plane = 0, planes - 1 do
      into_planes(row)(spread + plane * of_plane, results + plane * frames * rows * row, frames, rows, wide, row,
         (g.high - rows) * wide, row)
   end
end

-- Spreads n images of results at p, each `planes` x frames x rows x columns, to g.run numbers for each plane, with
-- zeros in the gaps between rows; in each plane, one image follows another.
function windows.spread(g, p, planes, n)
   if n == 1 and g.gapless then return p end
   local bytes = g.run * g.size
   local spread = room('spread', planes * n * bytes)
   if not g.gapless then fill(spread, planes * n * bytes) end
   for i = 0, n - 1 do
      spread_rows(g, spread + i * bytes, p + i * planes * g.windows * g.size, planes, n * bytes)
   end
   return spread
end

-- Rearranges n images of results at p so that the results of a plane form one row. Returns a pointer to them.
function windows.mixed(g, p, planes, n)
   if n == 1 then return p end
   local bytes = g.windows * g.size
   local mixed, copy_planes = room('spread', planes * n * bytes), into_planes(bytes)
   for i = 0, n - 1 do
      copy_planes(mixed + i * bytes, p + i * planes * bytes, 1, planes, n * bytes, bytes, 0, bytes)
   end
   return mixed
end

-- The inverse: moves such rows to n images of results at p.
function windows.part(g, mixed, p, planes, n)
   local bytes = g.windows * g.size
   local copy_planes = into_planes(bytes)
   for i = 0, n - 1 do
      copy_planes(p + i * planes * bytes, mixed + i * bytes, 1, planes, bytes, n * bytes, 0, bytes)
   end
end

local LEAST = 256 -- numbers in a row: products with shorter rows are slow

-- How many images to process at once, if each has `numbers` numbers in a row.
function windows.at_once(numbers) return (max(1, floor(LEAST / numbers))) end

return windows
