-- The windows of a convolution over images or volumes in memory, as rows for the BLAS.
--
-- An image is planes x height x width; of a volume, its planes are time x height x width, and all is the same along time. With its border it is laid out in phases first: with steps of 2, the even and the odd
-- rows, and of each the even and the odd columns, are small planes of their own. Then the pixels that one element of the
-- kernel meets are neighbours, from window to window, in one of these planes, but for some at the end of each row: one block
-- of bytes to copy (to add, for gradients), where a loop over windows would take each row by itself. What lies between the
-- rows of windows is there in the products, too, and is left out of results; in gradients it is zero.
local math = require('th.own').math
local ffi = require 'ffi'
local blas = require 'torch.blas'
local compiled = require 'torch.compiled'
local rooms = require 'nn.few.rooms'

local floor, max, copy, fill, cast, room = math.floor, math.max, ffi.copy, ffi.fill, ffi.cast, rooms.room

local windows = {}

-- The geometry of the convolution at hand: there is one at a time. Those of an image have a time of one, and one frame.
--    kt, kh, kw: the kernel; dt, dh, dw: steps; pt, ph, pw: border; lt, lh, lw: dilation
--    images, planes, time, height, width; frames, rows, columns: of windows
--    pixels: of a plane; windows: of one, too
--    phase_frames, phase_rows, phase_columns: how many phases are in use; deep, high, wide: sizes of one
--    plane, image: elements of what is laid out; run: elements from the first window to the last
--    in_place: an image is laid out as it lies; gapless: so are the windows of one
local g = {}
windows.geometry = g

local MOST_TAPS = 1024
local taps = ffi.new('int32_t[?]', MOST_TAPS) -- bytes from the start of a plane to the pixel that each meets first

-- Sets what the layer says, or what there is of an image.
function windows.set_kernel(kt, kh, kw) g.kt, g.kh, g.kw = kt, kh, kw end
function windows.set_steps(dt, dh, dw) g.dt, g.dh, g.dw = dt, dh, dw end
function windows.set_border(pt, ph, pw) g.pt, g.ph, g.pw = pt, ph, pw end
function windows.set_dilation(lt, lh, lw) g.lt, g.lh, g.lw = lt, lh, lw end

-- Sets the rest; false where it is for Python. size: bytes of an element
function windows.set(size, images, planes, time, height, width, frames, rows, columns)
   local kt, kh, kw, dt, dh, dw, pt, ph, pw, lt, lh, lw = g.kt, g.kh, g.kw, g.dt, g.dh, g.dw, g.pt, g.ph, g.pw, g.lt, g.lh, g.lw
   if kt * kh * kw > MOST_TAPS then return false end
   g.size, g.images, g.planes, g.time, g.height, g.width = size, images, planes, time, height, width
   g.frames, g.rows, g.columns, g.pixels, g.windows = frames, rows, columns, time * height * width, frames * rows * columns
   g.taps = kt * kh * kw
   g.length = planes * g.taps
   local phase_frames, phase_rows = (lt > 1 or kt > dt) and dt or kt, (lh > 1 or kh > dh) and dh or kh
   local phase_columns = (lw > 1 or kw > dw) and dw or kw
   local deep = floor((time + 2 * pt - 1) / dt) + 1
   local high, wide = floor((height + 2 * ph - 1) / dh) + 1, floor((width + 2 * pw - 1) / dw) + 1
   local phase = deep * high * wide
   g.phase_frames, g.phase_rows, g.phase_columns, g.deep, g.high, g.wide = phase_frames, phase_rows, phase_columns, deep, high, wide
   g.plane = phase_frames * phase_rows * phase_columns * phase
   g.image = planes * g.plane
   g.run = ((frames - 1) * high + rows - 1) * wide + columns
   g.in_place = dt == 1 and dh == 1 and dw == 1 and pt == 0 and ph == 0 and pw == 0
   g.gapless = wide == columns and (frames == 1 or high == rows)
   local k = 0
   for c = 0, kt - 1 do
      for i = 0, kh - 1 do
         for j = 0, kw - 1 do
            local z, y, x = c * lt, i * lh, j * lw
            local which = ((z % dt) * phase_rows + y % dh) * phase_columns + x % dw
            taps[k] = (which * phase + (floor(z / dt) * high + floor(y / dh)) * wide + floor(x / dw)) * size
            k = k + 1
         end
      end
   end
   return true
end

-- Where each row of a plane goes (its first pixel, with steps of 1 from column to column), or each pixel: elements from the start of
-- a laid-out plane, -1 for what no window sees. Kept while the geometry stays.
local layout = { places = ffi.new('int32_t[?]', 1), room = 1 }

local function is_known()
   local l = layout
   return l.time == g.time and l.height == g.height and l.width == g.width and l.phase_frames == g.phase_frames
      and l.phase_rows == g.phase_rows and l.phase_columns == g.phase_columns and l.dt == g.dt and l.dh == g.dh and l.dw == g.dw
      and l.pt == g.pt and l.ph == g.ph and l.pw == g.pw
end

local FIELDS = { 'time', 'height', 'width', 'phase_frames', 'phase_rows', 'phase_columns', 'dt', 'dh', 'dw', 'pt', 'ph', 'pw' }

local function find_layout()
   if is_known() then return end
   local time, height, width = g.time, g.height, g.dw == 1 and 1 or g.width
   local dt, dh, dw, pt, ph, pw = g.dt, g.dh, g.dw, g.pt, g.ph, g.pw
   local phase_frames, phase_rows, phase_columns = g.phase_frames, g.phase_rows, g.phase_columns
   local high, wide = g.high, g.wide
   local phase, units = g.deep * high * wide, time * height * width
   if layout.room < units then layout.places, layout.room = ffi.new('int32_t[?]', units), units end
   layout.units = units
   local places, x, y, z = layout.places, 0, 0, 0
   for k = 0, units - 1 do
      local frame, row, column = floor((z + pt) / dt), floor((y + ph) / dh), floor((x + pw) / dw)
      local a, b, c = z + pt - frame * dt, y + ph - row * dh, x + pw - column * dw
      places[k] = a < phase_frames and b < phase_rows and c < phase_columns
         and ((a * phase_rows + b) * phase_columns + c) * phase + (frame * high + row) * wide + column or -1
      x = x + 1
      if x == width then x, y = 0, y + 1 end
      if y == height then y, z = 0, z + 1 end
   end
   for _, field in ipairs(FIELDS) do layout[field] = g[field] end
end

-- Two functions of a text that moves numbers between two places, there and back, by what stands for MOVE in each.
local function both_ways(text, there, back)
   local function way(move) return compiled.from_text('local copy = ...\n' .. text:gsub('MOVE', move), 'nn.few.windows')(copy) end
   return way(there), way(back)
end

-- n planes between `image`, as they lie, and `phases`, laid out. LuaJIT enters a loop anew each time: all planes are one loop.
-- (Pointers that a loop changes are objects: offsets are not.)
local rows_inward, rows_outward = both_ways([[
   return function(phases, image, n, units, places, plane, bytes, size)
      local k, base, at = 0, 0, 0
      for _ = 1, n * units do
         local place = places[k]
         if place >= 0 then MOVE end
         at, k = at + bytes, k + 1
         if k == units then k, base = 0, base + plane end
      end
   end
]], 'copy(phases + (base + place * size), image + at, bytes)', 'copy(image + at, phases + (base + place * size), bytes)')

-- The same of pixels, as whole numbers of their size (LuaJIT takes some NaNs for something else).
local PIXELS = [[
   return function(phases, image, n, units, places, plane)
      local k, base = 0, 0
      for i = 0, n * units - 1 do
         local place = places[k]
         if place >= 0 then MOVE end
         k = k + 1
         if k == units then k, base = 0, base + plane end
      end
   end
]]
-- rows of n numbers at p: each its number of `start`, of which there are `several` in turn.
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
local inward, outward, filling, pointers = {}, {}, {}, { [4] = ffi.typeof('int32_t *'), [8] = ffi.typeof('int64_t *') }
local function make(size) -- traces of their own for each size
   if inward[size] then return end
   inward[size], outward[size] = both_ways(PIXELS, 'phases[base + place] = image[i]', 'image[i] = phases[base + place]')
   filling[size] = compiled.from_text(FILL, 'nn.few.windows')()
end
compiled.on_first_use(function()
   for size in pairs(pointers) do make(size) end
end)

-- The n images at p, those pixels that are in use, to their phases (is_inward), or back.
local function move(phases, p, n, is_inward)
   find_layout()
   local size, units, places = g.size, layout.units, layout.places
   if g.dw == 1 then
      return (is_inward and rows_inward or rows_outward)(phases, p, n * g.planes, units, places, g.plane * size, g.width * size, size)
   end
   make(size)
   local pointer = pointers[size]
   return (is_inward and inward or outward)[size](cast(pointer, phases), cast(pointer, p), n * g.planes, units, places, g.plane)
end

-- n images at p, laid out: where they lie.
local function laid_out(p, n)
   if g.in_place then return p end
   local bytes = n * g.image * g.size
   local phases = room('phases', bytes)
   fill(phases, bytes)
   move(phases, p, n, true)
   return phases
end

-- What the windows of n images at p see: g.length rows of n * g.run numbers, those of one image after those of another.
function windows.unfold(p, n)
   local bytes, count, plane = g.run * g.size, g.taps, g.plane * g.size
   local columns = room('columns', n * g.length * bytes)
   local phases, row, k, from = laid_out(p, n), n * bytes, 0, 0
   for i = 0, n - 1 do
      local to = i * bytes
      for _ = 1, g.length do
         copy(columns + to, phases + (from + taps[k]), bytes)
         to, k = to + row, k + 1
         if k == count then k, from = 0, from + plane end
      end
   end
   return columns
end

-- The sums of such rows in each pixel: the n images at p become them, plus in each plane its number of `start`, if given.
function windows.fold(routine, columns, p, n, start)
   local size, run, count, plane = g.size, g.run, g.taps, g.plane * g.size
   local bytes, row = run * size, n * run * size
   local partial = g.phase_frames < g.dt or g.phase_rows < g.dh or g.phase_columns < g.dw
   local phases = p
   if partial or g.in_place then windows.begin(p, n * g.planes, g.pixels, start, g.planes) end
   if not g.in_place then
      phases = room('phases', n * g.image * size)
      windows.begin(phases, n * g.planes, g.plane, start, g.planes)
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
   if not g.in_place then move(phases, p, n, false) end
end

local MOST_FILLED = 64 -- numbers of a row; more are copied, twice as many each time

-- count rows of n numbers at p: each its number of `start`, of which there are `several` in turn, or zero.
function windows.begin(p, count, n, start, several)
   local size = g.size
   if not start then return fill(p, count * n * size) end
   if n <= MOST_FILLED then
      make(size)
      return filling[size](cast(pointers[size], p), cast(pointers[size], start), count, n, several)
   end
   local bytes = n * size
   for k = 0, count - 1 do
      local row, done = p + k * bytes, size
      copy(row, start + (k % several) * size, size)
      while done < bytes do
         local more = done < bytes - done and done or bytes - done
         copy(row + done, row, more)
         done = done + more
      end
   end
end

-- Rows of windows between results, where they lie one after the other, and `spread`, where they begin `wide` bytes apart, with
-- `gap_of_frame` more between frames; all of n planes, one loop as above.
local spread_rows, gather_rows = both_ways([[
   return function(spread, results, n, row, wide, frames, rows, gap_of_frame, behind)
      local r, f, to, from = 0, 0, 0, 0
      for _ = 1, n * frames * rows do
         MOVE
         to, from, r = to + wide, from + row, r + 1
         if r == rows then
            to, r, f = to + gap_of_frame, 0, f + 1
            if f == frames then to, f = to + behind, 0 end
         end
      end
   end
]], 'copy(spread + to, results + from, row)', 'copy(results + from, spread + to, row)')

-- Calls one of them for n images of `planes` planes.
local function move_results(f, spread, p, planes, n)
   local size = g.size
   local row, wide, bytes = g.columns * size, g.wide * size, g.run * size
   local frames, rows, gap_of_frame = g.frames, g.rows, (g.high - g.rows) * wide
   if g.gapless then row, wide, frames, rows, gap_of_frame = bytes, bytes, 1, 1, 0 end
   local behind = n * bytes - frames * (rows * wide + gap_of_frame) -- to the next plane
   for i = 0, n - 1 do f(spread + i * bytes, p + i * planes * g.windows * size, planes, row, wide, frames, rows, gap_of_frame, behind) end
end

-- n images of results at p, each `planes` x frames x rows x columns, as g.run numbers for each plane, zero between the rows; those of
-- one image after those of another.
function windows.spread(p, planes, n)
   if n == 1 and g.gapless then return p end
   local bytes = planes * n * g.run * g.size
   local spread = room('spread', bytes)
   if not g.gapless then fill(spread, bytes) end
   move_results(spread_rows, spread, p, planes, n)
   return spread
end

-- The other way round: n images of results at p from such rows.
function windows.gather(spread, p, planes, n) move_results(gather_rows, spread, p, planes, n) end

local LEAST = 256 -- numbers of a row: products of fewer are slow

-- How many images to take at once.
function windows.at_once() return max(1, floor(LEAST / g.run)) end

return windows
