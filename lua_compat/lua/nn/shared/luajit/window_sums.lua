-- Loops over windows of few images or volumes, for layers that add up their elements: one loop for all windows of all
-- planes. The elements of a window have fixed distances from its first.
local ffi = require 'ffi'
local types = require 'torch.core.types'
local memory = require 'torch.core.memory'
local few = require 'torch.luajit.elementwise'
local templates = require 'torch.core.templates'
local no = require('torch.core.ways').no
local gates = require 'nn.shared.luajit.gates'
local geometry = require 'nn.shared.luajit.geometry'
local rooms = require 'nn.shared.luajit.scratch'
local lengths = require 'nn.shared.luajit.copy_rows'

local shared = require 'th.python'
local count, first_element, fill, room, bytes_at = memory.count, memory.first_element, ffi.fill, rooms.room,
   rooms.bytes_at

local window_sums = {}

local MOST = 2 ^ 14 -- elements of the images, with their borders
-- elements of unrolled windows; otherwise LuaJIT would enter a loop anew for each window
local MOST_WRITTEN = 16

-- The parts of a text use pointers p, q, u, a, b, a number v, and the geometry g. Window k begins at begins[k] and
-- belongs to plane channels[k] of its image. $window runs for each window, $first before the windows of each plane,
-- $last after them.
local LOOP = [[
   return function(g, p, q, u, a, b, v)
      local n, begins, offsets, taps, channels, windows = g.n, g.begins, g.offsets, g.taps, g.channels, g.windows
      local j, x, y = 0, 0, 0
      $first
      for k = 0, n - 1 do
         local at = begins[k]
         $window
         $behind
      end
      return true
   end
]]
local BEHIND = [[
   j = j + 1
   if j == windows then
      local c = channels[k]
      $last
      j = 0
      $first
   end
]]

-- Computes for each window the sum s, rounded to the type after each step as in Torch7, and then runs $done. Four
-- windows are processed together, because their sums do not depend on each other; in $done, window @ of $1.
local SUMS = [[
   return function(g, p, q, _, a, b)
      local n, begins, offsets, taps, channels = g.n, g.begins, g.offsets, g.taps, g.channels
      $fours(k)
      return true
   end
]]
local GROUP = [[
   local $each($1){at@} = $each($1){begins[k + @]}
   local $each($1){s@} = $each($1){0}
   $all($each($1){s@} = $each($1){to_type(s@ + $read(q, at@ + offset))})
   $done($1)
]]

-- $all(...) runs for all elements of a window, with the element's index in $at: unrolled, or in a loop for large
-- windows.
local WRITTEN_OUT = '$each($taps, ;){do local offset = offsets[@] $1 end}'
local IN_A_LOOP = 'for tap = 0, taps - 1 do local offset = offsets[tap] $1 end'

-- Returns a function(T, taps, plain) that returns the loop for that type, number of elements (0: many) and way of
-- reading. plain: all elements are finite.
local function loops_of(text, parts)
   local keys = {}
   for _, code in ipairs(types.codes_of_reals) do
      for size = 0, 2 * MOST_WRITTEN + 1 do keys[#keys + 1] = 100 * code + size end
   end
   local made = templates.for_each(keys, function(key)
      local T, taps, plain = types[math.floor(key / 100)], math.floor(key % 100 / 2), key % 2 == 1
      return templates.compile('nn.shared.luajit.window_sums', text, parts, { taps = taps, at = 'at + offset',
         all = taps > 0 and WRITTEN_OUT or IN_A_LOOP, read = plain and '$1[$2]' or 'get($1, $2)', get = T.get,
         to_type = T.cast })
   end)
   return function(T, taps, plain)
      return made(100 * T.host.code + 2 * (taps <= MOST_WRITTEN and taps or 0) + (plain and 1 or 0))
   end
end

-- A loop over single windows; parts: window, and optionally first and last.
function window_sums.loop(parts)
   parts.first, parts.behind = parts.first or '', parts.last and BEHIND or ''
   return loops_of(LOOP, parts)
end

-- A loop that adds up windows and then runs `done`.
function window_sums.sums(done) return loops_of(SUMS, { elements = GROUP, done = done }) end

-- The number of windows along an axis, and the extent of the windows and the axis with its border; nil if Python has to
-- compute.
local function along(size, span, step, border, by_ceil)
   local n = gates.windows(size, span, step, border, 1, by_ceil)
   return n, n and math.max(size + 2 * border, (n - 1) * step + span)
end

local function whole_numbers(n) return (ffi.new('int32_t[?]', n)) end

-- Computes where each window begins in the padded planes, which plane of its image it belongs to, and the offsets of
-- its elements.
local function find_places(g, dt)
   g.begins, g.channels, g.offsets, g.bytes = whole_numbers(g.n), whole_numbers(g.n), whole_numbers(g.taps), 8 * g.n
   local plane, frame, row, column = 0, 0, 0, 0
   for k = 0, g.n - 1 do
      g.begins[k] = ((plane * g.time + frame * dt) * g.high + row * g.dh) * g.wide + column * g.dw
      g.channels[k] = plane % g.planes
      column = column + 1
      if column == g.columns then column, row = 0, row + 1 end
      if row == g.rows then row, frame = 0, frame + 1 end
      if frame == g.frames then frame, plane = 0, plane + 1 end
   end
   local z, y, x = 0, 0, 0
   for tap = 0, g.taps - 1 do
      g.offsets[tap] = (z * g.high + y) * g.wide + x
      x = x + 1
      if x == g.kw then x, y = 0, y + 1 end
      if y == g.kh then y, z = 0, z + 1 end
   end
end

-- Completes the geometry g of windows over x. It has kw, kh, dw, dh and optionally the border pw and ph, by_ceil (the
-- number of windows is rounded up), and kt and dt for volumes, which have no border. Added are:
--    planes: of an image; all: of all images; time, height, width: of one; high, wide: with its border, as far as
--    windows read; frames (1 for images), rows, columns: of windows; windows: in a plane; n: in all; taps: elements of
--    a window
-- most: the largest number of elements, if not MOST
function window_sums.complete(g, x, most)
   local axes, last, kt, dt = g.kt and 3 or 2, 2 * g.nd - 1, g.kt or 1, g.dt or 1
   if not gates.planes(x, axes) then return false end
   g.volumes, g.pw, g.ph = axes == 3, g.pw or 0, g.ph or 0
   g.time, g.height, g.width, g.planes = axes == 3 and x[last - 4] or 1, x[last - 2], x[last], x[last - 2 * axes]
   g.frames = along(g.time, kt, dt, 0)
   if not g.frames then return false end
   g.rows, g.high = along(g.height, g.kh, g.dh, g.ph, g.by_ceil)
   if not g.rows then return false end
   g.columns, g.wide = along(g.width, g.kw, g.dw, g.pw, g.by_ceil)
   if not g.columns then return false end
   g.all = count(x) / (g.time * g.height * g.width)
   local elements_of_all = g.all * g.time * g.high * g.wide
   if not gates.few_for_now(elements_of_all, most or MOST) then return false end
   g.is_large = elements_of_all > (most or MOST)
   g.windows, g.taps = g.frames * g.rows * g.columns, kt * g.kh * g.kw
   g.n, g.has_border = g.all * g.windows, g.high > g.height or g.wide > g.width
   find_places(g, dt)
   return g
end

-- The geometry of windows for a layer whose numbers have these names, optionally with further fields.
function window_sums.geometry_of(names, complete, further)
   return geometry.of(names, [[kt, kw, kh, dt, dw, dh, pw, ph, by_ceil, volumes, time, height, width, planes, frames,
      rows, columns, high, wide, all, is_large, windows, taps, n, has_border, begins, channels, offsets, ]]
         .. (further or ''),
      complete)
end

-- Whether windows over more elements than the limit are still for LuaJIT.
function window_sums.is_for_now(g) return not (g.is_large and shared.pytorch) or no 'many elements' end

-- Copies n planes at `images`, whose elements have `size` bytes, to padded ones at `laid`, or back.
function window_sums.copy_planes(g, n, laid, images, size, is_inward)
   local row, padded = g.width * size, g.wide * size
   local first, gap = laid + (g.ph * g.wide + g.pw) * size, (g.high - g.height) * padded
   if is_inward then return lengths.into_planes(row)(first, images, n, g.height, padded, row, gap, row) end
   return lengths.out_of_planes(row)(images, first, n, g.height, row, padded, gap, row)
end

-- A pointer to the elements of x, which is contiguous, padded with zeros.
local function elements(g, x)
   if not g.has_border then return first_element(x) end
   local bytes = g.all * g.high * g.wide * x.T.size
   local laid = room('laid', bytes)
   fill(laid, bytes)
   window_sums.copy_planes(g, g.all, laid, bytes_at(x), x.T.size, true)
   return (ffi.cast(x.T.pointer, laid))
end

-- Whether a loop may read all elements of both tensors directly; s may be nil.
local function reads_plainly(t, s) return few.reads_plainly(t, t) and (not s or few.reads_plainly(s, s)) end
window_sums.reads_plainly = reads_plainly

-- Resizes out to one element for each window of x, and computes them by `loop`, of window_sums.sums. a, b: its pointers
function window_sums.reduce(loop, g, out, x, a, b)
   if not g or not window_sums.is_for_now(g) then return false end
   x = rooms.in_one_piece(x)
   return gates.result(out, x, g.rows, g.columns, nil, g.volumes and g.frames or nil)
      and loop(x.T, g.taps, reads_plainly(x))(g, first_element(out), elements(g, x), nil, a, b)
end

-- Resizes gradient to x's sizes and zeros, and adds to the elements of each window by `loop`, of window_sums.loop.
function window_sums.distribute(loop, g, gradient, x, grad_output, a)
   if not g or not window_sums.is_for_now(g) then return false end
   grad_output = rooms.in_one_piece(grad_output)
   local T = x.T
   if not gates.gradient(gradient, x, grad_output, g.rows, g.columns, nil, g.volumes and g.frames or nil) then
      return false
   end
   local bytes = g.all * g.time * g.high * g.wide * T.size
   local p = g.has_border and room('laid', bytes) or bytes_at(gradient)
   fill(p, bytes)
   loop(T, g.taps, reads_plainly(grad_output))(g, ffi.cast(T.pointer, p), first_element(grad_output), nil, a)
   if g.has_border then window_sums.copy_planes(g, g.all, p, bytes_at(gradient), T.size, false) end
   return true
end

return window_sums
