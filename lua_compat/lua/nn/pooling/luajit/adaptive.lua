-- Maxima and means of as many windows as given, which cover an image, of few elements.
-- The elements of all windows of an image are one list of places; each window is one loop over its part, for
-- four planes together.
local ffi = require 'ffi'
local types = require 'torch.core.types'
local memory = require 'torch.core.memory'
local is_apart = require('torch.core.overlap').is_apart
local few = require 'torch.luajit.elementwise'
local blas = require 'torch.luajit.blas'
local compiled = require 'torch.core.templates'
local ways = require 'torch.core.ways'
local rooms = require 'nn.shared.luajit.scratch'
local fields = require 'nn.shared.luajit.geometry_key'

local luajit = ways.luajit
local count, is_contiguous, resize, resize_as, first_element =
   memory.count, memory.is_contiguous, memory.resize, memory.resize_as, memory.first_element
local floor, ceil, max, tonumber = math.floor, math.ceil, math.max, tonumber

local MOST = 2 ^ 16 -- elements of the images; PyTorch finds these maxima one window after the other

-- Where window k of n of a dimension starts or ends, before rounding. Of maxima Torch7 divides and multiplies
-- in single precision.
local single = types.Float.cast
local function place_of_maximum(k, n, size) return single(single(k / n) * size) end
local function place_of_mean(k, n, size) return k * size / n end

-- The windows at hand, kept while the sizes of images, windows and the way of rounding (`place`) stay: window
-- w of `windows` has the elements starts[w] to starts[w + 1] - 1, which are `places` after the first of a
-- plane, in row `rows` and column `columns` of their window, from 1; heights and widths: of windows.
local function array(n) return ffi.new('int32_t[?]', n) end
local known = {}
local are_same, take, forget = fields{ 'height', 'width', 'n', 'm', 'place' }

local function lay_out(g, wanted)
   local height, width, n, m, place = wanted.height, wanted.width, wanted.n, wanted.m, wanted.place
   local windows, elements = n * m, (height + 2 * n) * (width + 2 * m)
   g.windows, g.starts, g.heights, g.widths = windows, array(windows + 1), array(windows), array(windows)
   g.places, g.rows, g.columns = array(elements), array(elements), array(elements)
   local w, k = 0, 0
   for i = 0, n - 1 do
      local top, bottom = floor(place(i, n, height)), ceil(place(i + 1, n, height))
      for j = 0, m - 1 do
         local left, right = floor(place(j, m, width)), ceil(place(j + 1, m, width))
         g.starts[w], g.heights[w], g.widths[w] = k, bottom - top, right - left
         for y = top, bottom - 1 do
            for x = left, right - 1 do
               g.places[k], g.rows[k], g.columns[k] = y * width + x, y - top + 1, x - left + 1
               k = k + 1
            end
         end
         w = w + 1
      end
   end
   g.starts[w] = k
end

-- Those of images of x; and how many planes there are. Nil where that is for Python.
local function windows_of(x, n, m, place)
   local nd = x.nd
   if nd ~= 3 and nd ~= 4 or few.LIMIT == 0 or not x.T.real or n % 1 ~= 0 or m % 1 ~= 0 or n < 1 or m < 1 then
      return nil
   end
   local height, width = x[2 * nd - 3], x[2 * nd - 1]
   if n > height or m > width or height > 2 ^ 15 or width > 2 ^ 15 or count(x) > MOST then return nil end
   local wanted = { height = height, width = width, n = n, m = m, place = place }
   if not are_same(known, wanted) then
      forget(known)
      lay_out(known, wanted)
      take(known, wanted)
   end
   return known, count(x) / (height * width)
end

-- A function for each type (traces are for one type of memory) of a text that is done for each window of each
-- plane, four planes, or one, together: of plane @ the first element is q[first@], and its result k@.
-- READ(pointer, place) is an element that may be NaN.
local LOOPS = [[
   local get, cast, max = ...
   return function(p, q, planes, pixels, g, of_rows, of_columns)
      local windows, starts, places, rows, columns, heights, widths =
         g.windows, g.starts, g.places, g.rows, g.columns, g.heights, g.widths
      for w = 0, windows - 1 do
         local from, to, height, width, plane = starts[w], starts[w + 1] - 1, heights[w], widths[w], 0
         while plane <= planes - 4 do
            GROUP4
            plane = plane + 4
         end
         while plane < planes do
            GROUP1
            plane = plane + 1
         end
      end
   end
]]
local function over_windows(body, is_plain)
   return compiled.for_each(types.codes_of_reals, function(code)
      local text = LOOPS:gsub('GROUP(%d)', function(together)
         local begin =
            'local EACH(first@) = EACH((plane + @) * pixels) local EACH(k@) = EACH((plane + @) * windows + w)\n'
         return compiled.written_out((begin .. body):gsub('ALSO(%b())', function(text)
            local all = {}
            for plane = 0, together - 1 do all[plane + 1] = text:sub(2, -2):gsub('@', plane) end
            return table.concat(all, '\n')
         end), together)
      end)
      return compiled.from_text(compiled.reading(text, is_plain), 'nn.pooling.luajit.adaptive')(types[code].get,
         types[code].cast, max)
   end)
end

-- The greatest first, then where it is: the branches of that can be guessed.
local find_maxima = over_windows([[
   local EACH(best@) = EACH(q[first@ + places[from] ])
   for t = from + 1, to do
      local place = places[t]
      EACH(best@) = EACH(max(best@, q[first@ + place]))
   end
   ALSO(do
      local t = from
      while q[first@ + places[t] ] ~= best@ do t = t + 1 end
      p[k@], of_rows[k@], of_columns[k@] = q[first@ + places[t] ], rows[t], columns[t]
   end)]], true)

-- Sums and quotients are rounded to the type at each step, as Torch7's.
local AVERAGE = [[
   local EACH(s@) = EACH(0)
   for t = from, to do
      local place = places[t]
      EACH(s@) = EACH(cast(s@ + READ(q, first@ + place)))
   end
   EACH(p[k@]) = EACH(cast(s@ / width) / height)]]
local find_means, find_means_plainly = over_windows(AVERAGE), over_windows(AVERAGE, true)
local DISTRIBUTE = [[
   local EACH(s@) = EACH(cast(cast(READ(q, k@) / width) / height))
   for t = from, to do
      local place = places[t]
      EACH(p[first@ + place]) = EACH(READ(p, first@ + place) + s@)
   end]]
local distribute, distribute_plainly = over_windows(DISTRIBUTE), over_windows(DISTRIBUTE, true)

local function sizes_of_both(out)
   if out.nd == 3 then return 4, { 2, out[1], out[3], out[5] } end
   return 5, { 2, out[1], out[3], out[5], out[7] }
end

function luajit.adaptive_max_pooling(out, indices, x, n, m)
   if out.T ~= x.T or indices.T.host ~= types.Long or not indices.T.here or not is_apart(out, x, indices)
      or not is_apart(indices, x) then
      return false
   end
   local g, planes = windows_of(x, n, m, place_of_maximum)
   if not g then return false end
   x = rooms.in_one_piece(x)
   if not is_contiguous(x) or not blas.reads_plainly(x, true) or not rooms.begin(out, x, n, m) then
      return false
   end
   resize(indices, sizes_of_both(out))
   if not is_contiguous(indices) then return false end
   local of_rows = first_element(indices)
   find_maxima(x.T.host.code)(first_element(out), first_element(x), planes, g.height * g.width, g, of_rows,
      of_rows + count(out))
   return true
end

-- Whether gradients are for the images, and to be written.
local function fit(gradient, x, grad_output)
   local nd = x.nd
   if gradient.T ~= x.T or grad_output.T ~= x.T or grad_output.nd ~= nd or x[1] ~= grad_output[1] or nd == 4
      and x[3] ~= grad_output[3] then
      return false
   end
   return is_apart(gradient, x, grad_output) and count(x) > 0
end

-- Gives the gradient zeros, in one piece.
local function begin(gradient, x)
   resize_as(gradient, x)
   return is_contiguous(gradient) and few.zero(gradient, count(gradient))
end

-- The gradients at q go to where each maximum was; false for a place outside: Python begins anew, and raises
-- the error.
local ADD = [[
   local band, bnot, arshift, tobit, tonumber, get = ...
   return function(p, q, planes, pixels, g, of_rows, of_columns)
      local starts, places, windows, width, w, first = g.starts, g.places, tobit(g.windows), g.width, 0,
         tobit(0)
      pixels = tobit(pixels)
      for k = 0, planes * windows - 1 do
         local at = places[starts[w] ] + (tonumber(of_rows[k]) - 1) * width + tonumber(of_columns[k]) - 1
         if not (at >= 0 and at < pixels) then return false end
         at = first + at
         p[at] = get(p, at) + get(q, k)
         w = tobit(w + 1)
         local in_plane = arshift(tobit(w - windows), 31) -- -1 or 0: no branch is taken at the end of a plane
         w, first = band(w, in_plane), tobit(first + band(pixels, bnot(in_plane)))
      end
      return true
   end
]]
local add_for = compiled.for_each(types.codes_of_reals, function(code)
   return compiled.from_text(ADD, 'nn.pooling.luajit.adaptive')(bit.band, bit.bnot, bit.arshift, bit.tobit, tonumber,
      types[code].get)
end)

function luajit.adaptive_max_pooling_grad_input(gradient, x, grad_output, indices)
   local nd = x.nd
   if nd ~= 3 and nd ~= 4 or not fit(gradient, x, grad_output) or not is_apart(gradient, indices) then return false end
   if indices.T.host ~= types.Long or not indices.T.here or indices.nd ~= nd + 1 or indices[1] ~= 2
      or not is_contiguous(indices) then
      return false
   end
   for d = 1, nd do
      if indices[2 * d + 1] ~= grad_output[2 * d - 1] then return false end
   end
   local g, planes = windows_of(x, grad_output[2 * nd - 3], grad_output[2 * nd - 1], place_of_maximum)
   if not g then return false end
   grad_output = rooms.in_one_piece(grad_output)
   if not is_contiguous(grad_output) or not begin(gradient, x) then return false end
   local of_rows = first_element(indices)
   return add_for(x.T.host.code)(first_element(gradient), first_element(grad_output), planes,
      g.height * g.width, g, of_rows, of_rows + count(grad_output))
end

function luajit.adaptive_average_pooling(out, x, n, m)
   if out.T ~= x.T or not is_apart(out, x) then return false end
   local g, planes = windows_of(x, n, m, place_of_mean)
   if not g then return false end
   x = rooms.in_one_piece(x)
   if not is_contiguous(x) or not rooms.begin(out, x, n, m) then return false end
   local run = few.reads_plainly(x, x) and find_means_plainly or find_means
   run(x.T.host.code)(first_element(out), first_element(x), planes, g.height * g.width, g)
   return true
end

function luajit.adaptive_average_pooling_gradient(gradient, x, grad_output, n, m)
   local nd = x.nd
   local g, planes = windows_of(x, n, m, place_of_mean)
   if not g or not fit(gradient, x, grad_output) or grad_output[2 * nd - 3] ~= n
      or grad_output[2 * nd - 1] ~= m then
      return false
   end
   grad_output = rooms.in_one_piece(grad_output)
   if not is_contiguous(grad_output) or not begin(gradient, x) then return false end
   local run = few.reads_plainly(grad_output, grad_output) and distribute_plainly or distribute
   run(x.T.host.code)(first_element(gradient), first_element(grad_output), planes, g.height * g.width, g)
   return true
end
