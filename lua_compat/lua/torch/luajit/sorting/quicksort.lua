-- The order of the elements of a row, as Torch7 finds it: by sorting, or by selecting one position.
--
-- Which of several equal elements comes first is part of the result: scripts make batches from such positions. Torch7's
-- quicksort decides it, so this one makes the same exchanges: the pivot is the median of the first, middle and last
-- element, and parts of at most ten elements are left to one insertion sort at the end. A selection continues with the
-- part that has the wanted position. NaN is neither smaller nor greater than anything.
local ffi = require 'ffi'
local types = require 'torch.core.types'
local templates = require 'torch.core.templates'
local rows = require 'torch.luajit.row_offsets'
local buckets = require 'torch.luajit.sorting.buckets'
local kind = require('torch.tensor.overlapping').kind
local is_apart = require('torch.core.overlap').is_apart

local ordering = {}

-- v: values, p: their positions, n: their number. $precedes is < or >.
local SOURCE = [[
   local SMALL = 10

   local function exchange(v, p, a, b)
      local value, position = v[a], p[a]
      v[a], p[a] = v[b], p[b]
      v[b], p[b] = value, position
   end

   -- Puts a pivot in its place. Returns that place, and where the part after it begins.
   local function split(v, p, n, first, last)
      local second = first + 1
      exchange(v, p, rshift(first + last, 1), second)
      if v[last] $precedes v[second] then exchange(v, p, second, last) end
      if v[last] $precedes v[first] then exchange(v, p, first, last) end
      if v[first] $precedes v[second] then exchange(v, p, first, second) end
      local pivot, up, down = v[first], second, last
      while true do
         -- the ends are only reached if there are NaNs
         repeat up = up + 1 until up >= n - 1 or not (v[up] $precedes pivot)
         repeat down = down - 1 until down <= 0 or not (pivot $precedes v[down])
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
         if v[i + 1] $precedes value then
            local position, k = p[i], i + 1
            repeat
               v[k - 1], p[k - 1] = v[k], p[k]
               k = k + 1
            until k >= n or not (v[k] $precedes value)
            v[k - 1], p[k - 1] = value, position
         end
      end
   end

   local function sort(v, p, n)
      if n - 1 > SMALL then split_to_small(v, p, n, 0, n - 1) end
      insert_from_end(v, p, n)
   end

   -- Brings the element that belongs at a position (from 0) there, and those that precede it before it.
   local function select(v, p, n, wanted)
      local first, last = 0, n - 1
      while last > first do
         if last == first + 1 then
            if v[last] $precedes v[first] then exchange(v, p, first, last) end
            return
         end
         local place, after = split(v, p, n, first, last)
         if place <= wanted then first = after end
         if place >= wanted then last = place - 1 end
      end
   end

   return { sort = sort, select = select }
]]

-- Compiled separately for each type, because traces are for one type of memory.
local function algorithms(relation)
   return templates.compile('torch.luajit.sorting.quicksort', SOURCE, { precedes = relation })
end
local of_type = templates.for_each(types, function()
   return { ascending = algorithms '<', descending = algorithms '>' }
end)

local words, doubles = rows.array(ffi.typeof 'int32_t'), rows.array(ffi.typeof 'double')
local arrays = {}
for code = 1, types.count do arrays[types[code]] = rows.array(types[code].element) end

-- n 64-bit whole numbers, `step` apart, as doubles, which LuaJIT compares faster; nil if some are not exact.
local MOST_EXACT = 2LL ^ 53
local function as_doubles(source, step, n)
   local v, are_exact = doubles('doubles', n), true
   for i = 0, n - 1 do
      local x = source[i * step]
      if x > MOST_EXACT or x < -MOST_EXACT then are_exact = false end
      v[i] = tonumber(x)
   end
   return are_exact and v or nil
end

-- What is wanted of each row: `some` elements (nil: all) from position `first` (from 0) on, in their order. falling:
-- largest first. order(algorithms, v, p, n, wanted): brings them to a place in v, which it returns, and their positions
-- to the same place in p. all_differ: the order is unique only for rows whose numbers all differ; is_sort: also for
-- whole numbers of a small range (the other files of this folder handle these cases).

-- Orders one row of t along dimension d. The row is copied to v, its positions (from 1) to p. What is wanted goes to a
-- row of r (values) and l (positions). starts: where the rows begin (row_offsets.lua).
local function order_row(r, l, t, d, starts, row, wanted)
   local T, n, step = t.T, t[2 * d - 1], t[2 * d]
   local compared, p, source = T, words('p', n), t.S.p + starts[3 * row]
   local v = T.whole and T.size == 8 and as_doubles(source, step, n)
   if v then
      compared = types.Double
   else
      v = arrays[T]('v', n)
      if step == 1 then
         ffi.copy(v, source, n * T.size)
         T.tidy(v, 0, n - 1)
      else
         local get = T.get_moved
         for i = 0, n - 1 do v[i] = get(source, i * step) end
      end
   end
   for i = 0, n - 1 do p[i] = i + 1 end
   local first = wanted.order(of_type(compared), v, p, n, wanted)
   local values, positions = r.S.p + starts[3 * row + 1], l.S.p + starts[3 * row + 2]
   local r_step, l_step = r[2 * d], l[2 * d]
   for i = 0, (wanted.some or n) - 1 do
      values[i * r_step], positions[i * l_step] = v[first + i], p[first + i]
   end
end

-- The same for all rows; those of r and l have the same dimension.
local function each_row(r, l, t, d, wanted)
   local starts, count = rows.starts(t, r, l, d)
   for row = 0, count - 1 do order_row(r, l, t, d, starts, row, wanted) end
   return true
end

-- The same, with rows processed together where possible. Rows that share memory are ordered in turn.
local function sorted_rows(r, l, t, d, wanted)
   if not buckets.fit(t, d) or kind(r) or kind(l) or t ~= r and not is_apart(t, r, l) then
      return each_row(r, l, t, d, wanted)
   end
   return buckets.order(r, l, t, d, wanted, order_row)
end

-- The following functions set r to elements and l to positions for each row of t along dimension d; this way always
-- computes.

local function sort(algorithms, v, p, n, wanted)
   (wanted.falling and algorithms.descending or algorithms.ascending).sort(v, p, n)
   return 0
end
local rising = { order = sort, first = 0, all_differ = true, is_sort = true, falling = false }
local falling = { order = sort, first = 0, all_differ = true, is_sort = true, falling = true }
function ordering.sort(r, l, t, d, is_falling) return sorted_rows(r, l, t, d, is_falling and falling or rising) end

local function select_kth(algorithms, v, p, n, wanted)
   algorithms.ascending.select(v, p, n, wanted.first)
   return wanted.first
end

-- The k-th smallest element.
function ordering.kthvalue(r, l, t, d, k)
   return sorted_rows(r, l, t, d, { order = select_kth, first = k - 1, some = 1, falling = false })
end

-- The smallest ones are sorted except for the last, which is the largest of them anyway.
local function select_top(algorithms, v, p, n, wanted)
   local k, sorted = wanted.some, wanted.sorted
   if not wanted.falling then
      algorithms.ascending.select(v, p, n, k - 1)
      if sorted then algorithms.ascending.sort(v, p, k - 1) end
      return 0
   end
   local rest = n - k
   if rest > 0 then algorithms.ascending.select(v, p, n, rest - 1) end
   if sorted then algorithms.descending.sort(v + rest, p + rest, k) end
   return rest
end

-- The k smallest or largest
function ordering.topk(r, l, t, d, k, largest, sorted)
   local wanted = { order = select_top, first = 0, some = k, falling = largest, sorted = sorted }
   return (sorted and sorted_rows or each_row)(r, l, t, d, wanted)
end

local function find_most_frequent(algorithms, v, p, n)
   algorithms.ascending.sort(v, p, n)
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

-- The most frequent element (the smallest of several), at the end of its run in the sorted row; the first element if
-- all differ.
local most_frequent = { order = find_most_frequent, first = 0, some = 1, all_differ = true, falling = false }
function ordering.mode(r, l, t, d) return sorted_rows(r, l, t, d, most_frequent) end

return ordering
