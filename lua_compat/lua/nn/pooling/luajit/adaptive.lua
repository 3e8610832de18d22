-- Adaptive max- and average-pooling of few elements, over a given number of windows that cover an image, and the
-- gradients. The positions of all windows' elements form one list; each window is one loop over its part, for four
-- planes at once.
local ffi = require 'ffi'
local types = require 'torch.core.types'
local memory = require 'torch.core.memory'
local few = require 'torch.luajit.elementwise'
local luajit, no = require('torch.core.ways').of_kernels()
local gates = require 'nn.shared.luajit.gates'
local geometry = require 'nn.shared.luajit.geometry'
local rooms = require 'nn.shared.luajit.scratch'

local count, first_element = memory.count, memory.first_element
local floor, ceil = math.floor, math.ceil

local MOST = 2 ^ 16 -- elements of the images; PyTorch processes one window after another

-- The start or end of window k of n along a dimension, before rounding. For maxima, Torch7 computes in single
-- precision.
local single = types.Float.cast
local function place_of_maximum(k, n, size) return single(single(k / n) * size) end
local function place_of_mean(k, n, size) return k * size / n end

local function array(n) return ffi.new('int32_t[?]', n) end

-- Completes the geometry g of n x m windows over x; `place` rounds their bounds. Window w of `windows` has the elements
-- starts[w] to starts[w + 1] - 1 of the list `places`, which are offsets within a plane, with their `rows` and
-- `columns` within the window (from 1). heights, widths: sizes of windows; planes, pixels: of all images.
local function completing(place)
   return function(g, x)
      if not gates.planes(x, 2) or not gates.whole(1, g.n, g.m) then return false end
      local height, width, n, m = x[2 * g.nd - 3], x[2 * g.nd - 1], g.n, g.m
      if n > height or m > width or height > 2 ^ 15 or width > 2 ^ 15 then
         return no 'more windows than rows or columns'
      end
      g.height, g.width, g.pixels, g.planes = height, width, height * width, count(x) / (height * width)
      local windows, elements = n * m, (height + 2 * n) * (width + 2 * m)
      g.windows, g.starts, g.heights, g.widths = windows, array(windows + 1), array(windows), array(windows)
      g.places, g.rows, g.columns, g.bytes = array(elements), array(elements), array(elements), 12 * elements
      local w, k = 0, 0
      for i = 0, n - 1 do
         local top, bottom = floor(place(i, n, height)), ceil(place(i + 1, n, height))
         for j = 0, m - 1 do
            local left, right = floor(place(j, m, width)), ceil(place(j + 1, m, width))
            g.starts[w], g.heights[w], g.widths[w] = k, bottom - top, right - left
            for y = top, bottom - 1 do
               for at = left, right - 1 do
                  g.places[k], g.rows[k], g.columns[k] = y * width + at, y - top + 1, at - left + 1
                  k = k + 1
               end
            end
            w = w + 1
         end
      end
      g.starts[w] = k
      return g
   end
end
local FIELDS = 'height, width, pixels, planes, windows, starts, heights, widths, places, rows, columns'
local of_maxima = geometry.of('n, m', FIELDS, completing(place_of_maximum))
local of_means = geometry.of('n, m', FIELDS, completing(place_of_mean))

-- Compiles a text that runs for each window of each plane, for four planes, or one, at a time: plane @ starts at
-- q[first@], and its result is k@. $read(pointer, place) reads an element that may be NaN. One function for each type,
-- because traces are for one type of memory.
local LOOPS = [[
   return function(p, q, g, of_rows, of_columns)
      local windows, starts, places, rows, columns, heights, widths =
         g.windows, g.starts, g.places, g.rows, g.columns, g.heights, g.widths
      local planes, pixels = g.planes, g.pixels
      for w = 0, windows - 1 do
         local from, to, height, width, plane = starts[w], starts[w + 1] - 1, heights[w], widths[w], 0
         while plane <= planes - 4 do
            $group(4)
            plane = plane + 4
         end
         while plane < planes do
            $group(1)
            plane = plane + 1
         end
      end
      return true
   end
]]
local GROUP = [[
   local $each($1){first@} = $each($1){(plane + @) * pixels}
   local $each($1){k@} = $each($1){(plane + @) * windows + w}
   $body($1)
]]
local function over_windows(body, read)
   return types.compiled('nn.pooling.luajit.adaptive', LOOPS, { group = GROUP, body = body, read = read })
end
local PLAINLY, CAREFULLY = '$1[$2]', 'get($1, $2)'

-- First the maximum, then its position: the branches for the position are predictable.
local find_maxima = over_windows([[
   local $each($1){best@} = $each($1){q[first@ + places[from] ]}
   for t = from + 1, to do
      local place = places[t]
      $each($1){best@} = $each($1){max(best@, q[first@ + place])}
   end
   $each($1, ;){do
      local t = from
      while q[first@ + places[t] ] ~= best@ do t = t + 1 end
      p[k@], of_rows[k@], of_columns[k@] = q[first@ + places[t] ], rows[t], columns[t]
   end}]])

-- Sums and quotients are rounded to the type after each step, as in Torch7.
local AVERAGE = [[
   local $each($1){s@} = $each($1){0}
   for t = from, to do
      local place = places[t]
      $each($1){s@} = $each($1){to_type(s@ + $read(q, first@ + place))}
   end
   $each($1){p[k@]} = $each($1){to_type(s@ / width) / height}]]
local find_means, find_means_plainly = over_windows(AVERAGE, CAREFULLY), over_windows(AVERAGE, PLAINLY)
local DISTRIBUTE = [[
   local $each($1){s@} = $each($1){to_type(to_type($read(q, k@) / width) / height)}
   for t = from, to do
      local place = places[t]
      $each($1){p[first@ + place]} = $each($1){$read(p, first@ + place) + s@}
   end]]
local distribute, distribute_plainly = over_windows(DISTRIBUTE, CAREFULLY),
   over_windows(DISTRIBUTE, PLAINLY)

local function sizes_of_both(out)
   if out.nd == 3 then return 4, { 2, out[1], out[3], out[5] } end
   return 5, { 2, out[1], out[3], out[5], out[7] }
end

function luajit.adaptive_max_pooling(out, indices, x, n, m)
   local g = gates.indices(indices) and gates.apart(out, indices) and gates.apart(indices, x)
      and gates.few(count(x), MOST) and of_maxima(x, n, m)
   if not g then return false end
   x = rooms.in_one_piece(x)
   if not gates.finite(x) or not gates.result(out, x, n, m) or not gates.resized(indices, sizes_of_both(out)) then
      return false
   end
   local of_rows = first_element(indices)
   return find_maxima(x.T)(first_element(out), first_element(x), g, of_rows, of_rows + count(out))
end

-- Adds the gradients at q to the positions of the maxima: nowhere for a window without one, whose row or column is 0.
-- Returns false for a position outside its plane: Python starts again, and raises the error.
local ADD = [[
   return function(p, q, g, of_rows, of_columns)
      local starts, places, windows, width, w, first = g.starts, g.places, tobit(g.windows), g.width, 0,
         tobit(0)
      local pixels = tobit(g.pixels)
      for k = 0, g.planes * windows - 1 do
         local row, column = tonumber(of_rows[k]), tonumber(of_columns[k])
         if row * column ~= 0 then
            local at = places[starts[w] ] + (row - 1) * width + column - 1
            if not (at >= 0 and at < pixels) then return no 'a place outside its plane' end
            at = first + at
            p[at] = get(p, at) + get(q, k)
         end
         w = tobit(w + 1)
         local in_plane = arshift(tobit(w - windows), 31) -- -1 or 0: avoids a branch at the end of a plane
         w, first = band(w, in_plane), tobit(first + band(pixels, bnot(in_plane)))
      end
      return true
   end
]]
local add_for = types.compiled('nn.pooling.luajit.adaptive', ADD, { no = no })

-- Whether the indices have a row and a column for each element of y. (A loop would be entered in each call.)
local function are_places_of(indices, y)
   return indices.nd == y.nd + 1 and indices[1] == 2 and indices[3] == y[1] and indices[5] == y[3]
      and indices[7] == y[5] and (y.nd == 3 or indices[9] == y[7]) or no 'indices of other sizes'
end

function luajit.adaptive_max_pooling_grad_input(gradient, x, grad_output, indices)
   local last = 2 * x.nd - 1
   local n, m = grad_output[last - 2], grad_output[last]
   local g = gates.planes(x, 2, grad_output) and gates.indices(indices) and gates.apart(gradient, indices)
      and gates.few(count(x), MOST) and gates.plain(indices, indices.T) and are_places_of(indices, grad_output)
      and of_maxima(x, n, m)
   grad_output = g and rooms.in_one_piece(grad_output)
   if not g or not gates.gradient(gradient, x, grad_output, n, m) or not few.zero(gradient, count(x)) then
      return false
   end
   local of_rows = first_element(indices)
   return add_for(x.T)(first_element(gradient), first_element(grad_output), g, of_rows,
      of_rows + count(grad_output))
end

function luajit.adaptive_average_pooling(out, x, n, m)
   local g = gates.few(count(x), MOST) and of_means(x, n, m)
   x = g and rooms.in_one_piece(x)
   if not g or not gates.result(out, x, n, m) then return false end
   local run = few.reads_plainly(x, x) and find_means_plainly or find_means
   return run(x.T)(first_element(out), first_element(x), g)
end

function luajit.adaptive_average_pooling_gradient(gradient, x, grad_output, n, m)
   local g = gates.few(count(x), MOST) and of_means(x, n, m)
   grad_output = g and rooms.in_one_piece(grad_output)
   if not g or not gates.gradient(gradient, x, grad_output, n, m) or not few.zero(gradient, count(x)) then
      return false
   end
   local run = few.reads_plainly(grad_output, grad_output) and distribute_plainly or distribute
   return run(x.T)(first_element(gradient), first_element(grad_output), g)
end
