-- The order of the elements of a row, as Torch7 finds it: by sorting or by looking for one place.
--
-- Which of several equal elements comes first is part of the result: scripts make batches from such positions. Torch7's
-- quicksort decides it, so here is one that makes the same exchanges: the pivot is the median of the first, middle and
-- last element, and parts of at most ten elements are left to one insertion sort from the end. A selection goes on with
-- the part that has the wanted place. A NaN is neither smaller nor greater than anything.
local ffi = require 'ffi'
local types = require 'torch.types'
local memory = require 'torch.memory'
local compiled = require 'torch.compiled'
local offsets = require('torch.elements').offsets

local ordering = {}

-- v: values, p: their positions, n: how many. PRECEDES is < or >.
local SOURCE = [[
   local middle = ...
   local SMALL = 10

   local function exchange(v, p, a, b)
      local value, position = v[a], p[a]
      v[a], p[a] = v[b], p[b]
      v[b], p[b] = value, position
   end

   -- Puts a pivot in its place; gives this place, and where the part after it begins.
   local function split(v, p, n, first, last)
      local second = first + 1
      exchange(v, p, middle(first + last, 1), second)
      if v[last] PRECEDES v[second] then exchange(v, p, second, last) end
      if v[last] PRECEDES v[first] then exchange(v, p, first, last) end
      if v[first] PRECEDES v[second] then exchange(v, p, first, second) end
      local pivot, up, down = v[first], second, last
      while true do
         -- that the ends are reached happens only where there are NaNs
         repeat up = up + 1 until up >= n - 1 or not (v[up] PRECEDES pivot)
         repeat down = down - 1 until down <= 0 or not (pivot PRECEDES v[down])
         if down < up then break end
         exchange(v, p, up, down)
      end
      exchange(v, p, first, down)
      return down, up
   end

   local function split_to_small(v, p, n, first, last)
      while last - first >= SMALL do
         local place, after = split(v, p, n, first, last)
         if place - first < last - after then
            split_to_small(v, p, n, first, place - 1)
            first = after
         else
            split_to_small(v, p, n, after, last)
            last = place - 1
         end
      end
   end

   local function insert_from_end(v, p, n)
      for i = n - 2, 0, -1 do
         local value = v[i]
         if v[i + 1] PRECEDES value then
            local position, k = p[i], i + 1
            repeat
               v[k - 1], p[k - 1] = v[k], p[k]
               k = k + 1
            until k >= n or not (v[k] PRECEDES value)
            v[k - 1], p[k - 1] = value, position
         end
      end
   end

   local function sort(v, p, n)
      if n - 1 > SMALL then split_to_small(v, p, n, 0, n - 1) end
      insert_from_end(v, p, n)
   end

   -- Brings the element that belongs at a place (from 0) there, and before it those that precede it.
   local function select(v, p, n, wanted)
      local first, last = 0, n - 1
      while last > first do
         if last == first + 1 then
            if v[last] PRECEDES v[first] then exchange(v, p, first, last) end
            return
         end
         local place, after = split(v, p, n, first, last)
         if place <= wanted then first = after end
         if place >= wanted then last = place - 1 end
      end
   end

   return { sort = sort, select = select }
]]

-- Compiled for each type on its own: traces are for one type of memory.
local function algorithms(relation)
   return compiled.from_text(SOURCE:gsub('PRECEDES', relation), 'torch.ordering')(bit.rshift)
end
local made = {}
local function of_type(T)
   made[T] = made[T] or { ascending = algorithms '<', descending = algorithms '>' }
   return made[T]
end
compiled.on_first_use(function()
   for code = 1, types.count do of_type(types[code]) end
end)

local function read(p, i) return p[i] end

local function one_by_one(r, d) -- an iterator over the offsets of r's rows along dimension d
   local firsts = memory.copy_view(r)
   firsts[2 * d - 1] = 1
   return offsets(firsts)
end

-- Calls order(algorithms, v, p, n) for each row of t along dimension d, which is copied to v, with its positions from 1
-- in p. What order gives, the place of the first of the results in v, is where the `count` elements of a row of r
-- (values) and l (positions) are taken from; the rows of r and l lie along the same dimension.
function ordering.each_row(r, l, t, d, count, order)
   local T, n, step = t.T, t[2 * d - 1], t[2 * d]
   -- An array, not a pointer to one: a pointer does not keep from the collector what it points to.
   local v, p = T.array(n), ffi.new('int32_t[?]', n)
   local get = T.floating and T.get or read
   local r_step, l_step = r[2 * d], l[2 * d]
   local next_values, next_positions = one_by_one(r, d), one_by_one(l, d)
   for from in one_by_one(t, d) do
      local source = t.S.p + from
      if step == 1 then
         ffi.copy(v, source, n * T.size)
         T.tidy(v, 0, n - 1)
      else
         for i = 0, n - 1 do v[i] = get(source, i * step) end
      end
      for i = 0, n - 1 do p[i] = i + 1 end
      local first = order(of_type(T), v, p, n)
      local values, positions = r.S.p + next_values(), l.S.p + next_positions()
      for i = 0, count - 1 do
         values[i * r_step], positions[i * l_step] = v[first + i], p[first + i]
      end
   end
end

function ordering.sort(descending)
   local direction = descending and 'descending' or 'ascending'
   return function(algorithm, v, p, n)
      algorithm[direction].sort(v, p, n)
      return 0
   end
end

-- The element that has k - 1 before it.
function ordering.kth(k)
   return function(algorithm, v, p, n)
      algorithm.ascending.select(v, p, n, k - 1)
      return k - 1
   end
end

-- The k smallest or largest; of the sorted smallest all but the last are put in order: it is the largest anyway.
function ordering.top(k, largest, sorted)
   if not largest then
      return function(algorithm, v, p, n)
         algorithm.ascending.select(v, p, n, k - 1)
         if sorted then algorithm.ascending.sort(v, p, k - 1) end
         return 0
      end
   end
   return function(algorithm, v, p, n)
      local rest = n - k
      if rest > 0 then algorithm.ascending.select(v, p, n, rest - 1) end
      if sorted then algorithm.descending.sort(v + rest, p + rest, k) end
      return rest
   end
end

-- The most frequent element, the smallest of several, at the end of its run in the sorted row.
function ordering.mode()
   return function(algorithm, v, p, n)
      algorithm.ascending.sort(v, p, n)
      local place, most, run = 0, 0, 0
      for i = 0, n - 1 do
         run = run + 1
         if i == n - 1 or v[i] ~= v[i + 1] then
            if run > most then place, most = i, run end
            run = 0
         end
      end
      return place
   end
end

return ordering
