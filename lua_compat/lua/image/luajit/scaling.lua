-- Scaling of images, with Torch7's bits: places and weights in single precision, pixels in the type of the image, or in
-- single precision for whole numbers. The width is scaled first, then the height.
local ffi = require 'ffi'
local cubic_of = require 'image.luajit.cubic'
local memory = require 'torch.core.memory'
local new_rooms = require 'torch.core.scratch'
local templates = require 'torch.core.templates'
local types = require 'torch.core.types'

local floor, min, max, cast = math.floor, math.min, math.max, ffi.cast
local single = types.Float.cast
local rooms = new_rooms()
local function room(name, T, n) return (cast(T.pointer, rooms(name, n * T.size))) end

-- How n elements are made from `length`: by which of VALUES, the first element that each needs, and its weights. stop:
-- the elements from there on are copies of the last.
local indices, numbers = ffi.typeof 'int32_t[?]', ffi.typeof 'double[?]'
local function new_plan(way, length, n, stop)
   return { way = way, length = length, n = n, stop = stop or n, first = indices(n), last = indices(n),
      weight = numbers(n), rest = numbers(n), count = numbers(n), within = 0 }
end

local function nearest(length, n)
   local plan, step = new_plan('nearest', length, n), single(length / n)
   for i = 0, n - 1 do plan.first[i] = min(floor(single(i * step)), length - 1) end
   return plan
end

-- Results between the elements; the first and last of both coincide.
local function between(way, length, n)
   if length == 1 then return nearest(length, n) end
   local plan, step = new_plan(way, length, n, n - 1), single((length - 1) / max(n - 1, 1))
   for i = 0, n - 2 do
      local place = single(i * step)
      local first = min(floor(place), length - 2)
      local weight = single(place - first)
      plan.first[i], plan.weight[i], plan.rest[i] = first, weight, single(1 - weight)
   end
   return plan
end

-- Means over n intervals of equal lengths, whose end elements are weighted. inner: the elements between them, `within`
-- for each result; where there are fewer, or no end, `length`.
local function means(length, n)
   local plan, step, first, weight, within = new_plan('mean', length, n), single(length / n), 0, 1, 0
   for i = 0, n - 1 do
      local stop = single((i + 1) * step)
      local last = min(floor(stop), length)
      local rest, count = single(stop - last), weight
      for _ = first + 1, last - 1 do count = single(count + 1) end
      if last < length then count = single(count + rest) end
      plan.first[i], plan.last[i], plan.weight[i], plan.rest[i], plan.count[i] = first, last, weight, rest, count
      within = max(within, last - first - 1)
      first, weight = min(last, length - 1), single(1 - rest)
   end
   plan.within, plan.inner = within, indices(within * n)
   for i = 0, n - 1 do
      for k = 0, within - 1 do
         local at = plan.first[i] + 1 + k
         plan.inner[k * n + i] = at < plan.last[i] and at or length
      end
   end
   return plan
end

local plan_for = {
   simple = nearest,
   bilinear = function(length, n)
      return n > length and between('linear', length, n) or n < length and means(length, n) or nearest(length, n)
   end,
   bicubic = function(length, n) return n == length and nearest(length, n) or between('cubic', length, n) end,
}

-- What an element of the result becomes: v. $x(k): the element k after the first; w, rest: its weights; single(v): v in
-- single precision; $round(v): v in the type in which pixels are computed.
local VALUES = {
   nearest = 'local v = $x(0)',
   linear = 'local v = $round($round($x(0) * rest) + $round($x(1) * w))',
   cubic = 'local v = cubic($x(-1), $x(0), $x(1), $x(2), w)',
   mean = [[
      local v, last = single(line[first] * w), lasts[i]
      $add
      v = single(v + $round(line[last] * rest))
      v = single(v / counts[i])
   ]],
}

-- What stands before and after a line. Beyond the ends of a spline, elements continue on a line. Adding -0 changes
-- nothing.
local ENDS = {
   nearest = '',
   linear = '',
   cubic = [[
      line[-1] = 2 * line[0] - line[1]
      line[length] = 2 * line[length - 1] - line[length - 2]
   ]],
   mean = 'line[length] = -0.0',
}

-- The elements of every line at p from those at q, which have another type.
local ACROSS = [[
   return function(p, q, lines, plan, line)
      local length, n, firsts, weights, rests = plan.length, plan.n, plan.first, plan.weight, plan.rest
      local lasts, counts, stop, inner, within = plan.last, plan.count, plan.stop, plan.inner, plan.within
      for k = 0, lines - 1 do
         local q, p = q + k * length, p + k * n
         for x = 0, length - 1 do line[x] = get(q, x) end
         $ends
         for i = 0, stop - 1 do
            local first, w, rest = firsts[i], weights[i], rests[i]
            $value
            p[i] = $stored
         end
         if stop < n then p[stop] = line[length - 1] end
      end
   end
]]

-- The rows of every plane at p from those at q, which have the same type. edges: room for two rows of that type.
local DOWN = [[
   return function(p, q, planes, width, plan, sums, edges)
      local length, n, firsts, weights, rests = plan.length, plan.n, plan.first, plan.weight, plan.rest
      local lasts, counts, stop = plan.last, plan.count, plan.stop
      for _ = 1, planes do
         $edges
         for i = 0, stop - 1 do
            local first, w, rest = firsts[i], weights[i], rests[i]
            local a = q + first * width
            $row
            p = p + width
         end
         if stop < n then
            copy(p, q + (length - 1) * width, width * $size)
            p = p + width
         end
         q = q + length * width
      end
   end
]]
local EDGES = [[
   local last = q + (length - 1) * width
   for x = 0, width - 1 do
      edges[x] = 2 * q[x] - q[x + width]
      edges[x + width] = 2 * last[x] - last[x - width]
   end
]]
local ROWS = {
   nearest = 'copy(p, a, width * $size)',
   linear = [[
      for x = 0, width - 1 do
         $value
         p[x] = v
      end
   ]],
   cubic = [[
      local before, after = a - width, a + 2 * width
      if first == 0 then before = edges end
      if first == length - 2 then after = edges + width end
      for x = 0, width - 1 do p[x] = cubic(before[x], a[x], a[x + width], after[x], w) end
   ]],
   mean = [[
      for x = 0, width - 1 do sums[x] = a[x] * w end
      for _ = 1, lasts[i] - first - 1 do
         a = a + width
         for x = 0, width - 1 do sums[x] = sums[x] + a[x] end
      end
      if lasts[i] < length then
         a = a + width
         for x = 0, width - 1 do sums[x] = sums[x] + $round(a[x] * rest) end
      end
      local count = counts[i]
      for x = 0, width - 1 do p[x] = single(sums[x] / count) end
   ]],
}

-- How many elements between the ends of a mean are added without a loop.
local MOST_APART = 4
local function added(within)
   if within > MOST_APART then return 'for k = 0, within - 1 do v = single(v + line[inner[k * n + i]]) end' end
   return within > 0 and ('$each(%d, ;){v = single(v + line[inner[@ * n + i]])}'):format(within) or ''
end

local codes = {}
for code = 1, types.Double.code do codes[code] = code end

-- How a value is rounded as if it were stored in that type.
local function stored_as(T)
   return T == types.Byte and 'floor(min(max(single(single($1) + 0.5), 0), 255))' or T.integer and 'to($1)' or '$1'
end

local function compile(text, values, also) return templates.compile('image.luajit.scaling', text, values, also) end
local function rounded_in(T) return T == types.Double and '($1)' or 'single($1)' end

-- By way, then by type (and for means, by how many elements are added without a loop).
local across_of, down_of = {}, {}
for way, value in pairs(VALUES) do
   local keys = {}
   for _, code in ipairs(codes) do
      for within = 0, way == 'mean' and MOST_APART + 1 or 0 do keys[#keys + 1] = code + 16 * within end
   end
   across_of[way] = templates.for_each(keys, function(key)
      local T = types[key % 16]
      return compile(ACROSS, { value = value, stored = stored_as(T):gsub('%$1', 'v'), get = T.get, ends = ENDS[way] },
         { x = 'line[first + $1]', single = single, round = rounded_in(T), to = T.cast, add = added(floor(key / 16)),
            cubic = cubic_of(T.real and T or types.Float) })
   end)
   down_of[way] = templates.for_each(types.codes_of_reals, function(code)
      local T = types[code]
      return compile(DOWN, { row = ROWS[way], size = T.size, edges = way == 'cubic' and EDGES or '' },
         { value = value, x = 'a[x + $1 * width]', single = single, round = rounded_in(T), cubic = cubic_of(T) })
   end)
end

-- Writes n pixels at q to p, which has that type.
local WRITE = [[
   return function(p, q, n)
      for i = 0, n - 1 do $write end
   end
]]
local write_of = templates.for_each(codes, function(code)
   local T = types[code]
   local write = T == types.Byte and 'p[i] = ' .. stored_as(T):gsub('%$1', 'q[i]') or 'set(p, i, q[i])'
   return compile(WRITE, { write = write }, { single = single, set = T.set })
end)

-- Scales src to the size of out, which has as many channels. Both are contiguous.
return function(out, src, mode)
   local T, R = src.T.host, out.T.host
   local last, channels = 2 * src.nd - 1, src.nd == 3 and src[1] or 1
   local height, width, rows, columns = src[last - 2], src[last], out[last - 2], out[last]
   local across, down = plan_for[mode](width, columns), plan_for[mode](height, rows)
   -- pixels are computed in this type; the nearest pixels are exact
   local W = (mode == 'simple' and T ~= types.Float or T == types.Double) and types.Double or types.Float
   local lines, q, p = channels * height, nil, memory.first_element(out)
   q = room('lines', W, lines * columns)
   across_of[across.way](T.code + 16 * min(across.within, MOST_APART + 1))(q, memory.first_element(src), lines, across,
      room('line', W, width + 2) + 1)
   local result = R == W and p or room('result', W, channels * rows * columns)
   down_of[down.way](W.code)(result, q, channels, columns, down, room('sums', types.Float, columns),
      room('edges', W, 2 * columns))
   if R ~= W then write_of(R.code)(p, result, channels * rows * columns) end
end
