-- The windows of a convolution over images in memory, as rows for the BLAS.
--
-- An image is planes x height x width. With its border it is laid out in phases first: with steps of 2, the even and the odd
-- rows, and of each the even and the odd columns, are small planes of their own. Then the pixels that one element of the
-- kernel meets are neighbours, from window to window, in one of these planes, but for some at the end of each row: one block
-- of bytes to copy (to add, for gradients), where a loop over windows would take each row by itself. What lies between the
-- rows of windows is there in the products, too, and is left out of results; in gradients it is zero.
local math = require('th.own').math
local ffi = require 'ffi'
local blas = require 'torch.blas'
local rooms = require 'nn.few.rooms'

local floor, max, copy, fill, room = math.floor, math.max, ffi.copy, ffi.fill, rooms.room

local windows = {}

-- The geometry of the convolution at hand: there is one at a time.
--    images, planes, height, width; rows, columns: of windows; kernel kh x kw, steps dh, dw, border ph, pw, dilation lh, lw
--    phase_rows, phase_columns: how many phases are in use; high, wide: sizes of one
--    plane, image: elements of what is laid out; run: elements from the first window to the last
--    in_place: an image is laid out as it lies
local g = {}
windows.geometry = g

local MOST_TAPS = 1024
local taps = ffi.new('int32_t[?]', MOST_TAPS) -- bytes from the start of a plane to the pixel that each meets first

-- Sets it; false where it is for Python. size: bytes of an element
function windows.set(size, images, planes, height, width, rows, columns, kh, kw, dh, dw, ph, pw, lh, lw)
   if kh * kw > MOST_TAPS then return false end
   g.size, g.images, g.planes, g.height, g.width, g.rows, g.columns = size, images, planes, height, width, rows, columns
   g.kh, g.kw, g.dh, g.dw, g.ph, g.pw = kh, kw, dh, dw, ph, pw
   g.taps = kh * kw
   g.length = planes * kh * kw
   local phase_rows, phase_columns = (lh > 1 or kh > dh) and dh or kh, (lw > 1 or kw > dw) and dw or kw
   local high, wide = floor((height + 2 * ph - 1) / dh) + 1, floor((width + 2 * pw - 1) / dw) + 1
   g.phase_rows, g.phase_columns, g.high, g.wide = phase_rows, phase_columns, high, wide
   g.plane = phase_rows * phase_columns * high * wide
   g.image = planes * g.plane
   g.run = (rows - 1) * wide + columns
   g.in_place = dh == 1 and dw == 1 and ph == 0 and pw == 0
   local k = 0
   for i = 0, kh - 1 do
      for j = 0, kw - 1 do
         local y, x = i * lh, j * lw
         local phase = (y % dh) * phase_columns + x % dw
         taps[k] = (phase * high * wide + floor(y / dh) * wide + floor(x / dw)) * size
         k = k + 1
      end
   end
   return true
end

-- Rows of the image at `image`, those that are in use, to their phases (inward), or back.
local function move_rows(routine, phases, image, inward)
   local size, width, height, high, wide = g.size, g.width, g.height, g.high, g.wide
   local dh, dw, phase_rows, phase_columns = g.dh, g.dw, g.phase_rows, g.phase_columns
   for b = 0, phase_columns - 1 do
      local first = (b - g.pw) % dw -- the first pixel of this phase
      local n, at = floor((width - 1 - first) / dw) + 1, floor((first + g.pw) / dw)
      if n > 0 then
         for plane = 0, g.planes - 1 do
            local of_plane, source = phases + plane * g.plane * size, image + (plane * height * width + first) * size
            for y = 0, height - 1 do
               local row = floor((y + g.ph) / dh)
               local a = y + g.ph - row * dh
               if a < phase_rows then
                  local target = of_plane + (((a * phase_columns + b) * high + row) * wide + at) * size
                  local pixels = source + y * width * size
                  if dw == 1 then
                     if inward then copy(target, pixels, n * size) else copy(pixels, target, n * size) end
                  elseif inward then
                     blas.copy(routine, n, pixels, dw, target, 1)
                  else
                     blas.copy(routine, n, target, 1, pixels, dw)
                  end
               end
            end
         end
      end
   end
end

-- n images at p, laid out: where they lie.
local function laid_out(routine, p, n)
   if g.in_place then return p end
   local bytes = g.image * g.size
   local phases = room('phases', n * bytes)
   fill(phases, n * bytes)
   for i = 0, n - 1 do move_rows(routine, phases + i * bytes, p + i * g.planes * g.height * g.width * g.size, true) end
   return phases
end

-- What the windows of n images at p see: g.length rows of n * g.run numbers, those of one image after those of another.
function windows.unfold(routine, p, n)
   local bytes, count, plane = g.run * g.size, g.taps, g.plane * g.size
   local phases, columns = laid_out(routine, p, n), room('columns', n * g.length * bytes)
   local row = n * bytes
   for i = 0, n - 1 do
      local to, from = columns + i * bytes, phases + i * g.image * g.size
      for _ = 1, g.planes do
         for k = 0, count - 1 do
            copy(to, from + taps[k], bytes)
            to = to + row
         end
         from = from + plane
      end
   end
   return columns
end

-- The sums of such rows in each pixel: the n images at p become them, plus in each plane its number of `start`, if given.
function windows.fold(routine, columns, p, n, start)
   local size, run, count, plane, image = g.size, g.run, g.taps, g.plane * g.size, g.image * g.size
   local pixels = g.height * g.width
   local bytes, row = run * size, n * run * size
   local partial = g.phase_rows < g.dh or g.phase_columns < g.dw
   local phases = p
   if partial or g.in_place then windows.begin(p, n * g.planes, pixels, start, g.planes) end
   if not g.in_place then
      phases = room('phases', n * image)
      windows.begin(phases, n * g.planes, g.plane, start, g.planes)
   end
   for i = 0, n - 1 do
      local from, to = columns + i * bytes, phases + i * image
      for _ = 1, g.planes do
         for k = 0, count - 1 do
            blas.add(routine, run, from, to + taps[k])
            from = from + row
         end
         to = to + plane
      end
      if not g.in_place then move_rows(routine, phases + i * image, p + i * g.planes * pixels * size, false) end
   end
end

-- count rows of n numbers at p: each its number of `start`, of which there are `several` in turn, or zero.
function windows.begin(p, count, n, start, several)
   local size = g.size
   if not start then return fill(p, count * n * size) end
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

-- n images of results at p, each `planes` x rows x columns, as g.run numbers for each plane, zero between the rows; those of
-- one image after those of another.
function windows.spread(p, planes, n)
   local bytes, whole, row, wide = g.run * g.size, g.rows * g.columns * g.size, g.columns * g.size, g.wide * g.size
   if n == 1 and g.wide == g.columns then return p end
   local spread = room('spread', planes * n * bytes)
   if g.wide ~= g.columns then fill(spread, planes * n * bytes) end
   for i = 0, n - 1 do
      for plane = 0, planes - 1 do
         local from, to = p + (i * planes + plane) * whole, spread + (plane * n + i) * bytes
         if g.wide == g.columns then
            copy(to, from, whole)
         else
            for _ = 1, g.rows do
               copy(to, from, row)
               from, to = from + row, to + wide
            end
         end
      end
   end
   return spread
end

-- The other way round: n images of results at p from such rows.
function windows.gather(spread, p, planes, n)
   local bytes, whole, row, wide = g.run * g.size, g.rows * g.columns * g.size, g.columns * g.size, g.wide * g.size
   for i = 0, n - 1 do
      for plane = 0, planes - 1 do
         local to, from = p + (i * planes + plane) * whole, spread + (plane * n + i) * bytes
         if g.wide == g.columns then
            copy(to, from, whole)
         else
            for _ = 1, g.rows do
               copy(to, from, row)
               from, to = from + wide, to + row
            end
         end
      end
   end
end

local LEAST = 256 -- numbers of a row: products of fewer are slow

-- How many images to take at once.
function windows.at_once() return max(1, floor(LEAST / g.run)) end

return windows
