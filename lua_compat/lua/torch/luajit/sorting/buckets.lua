-- Sorts rows of numbers that are all different, whose order does not depend on the algorithm. Torch7's quicksort
-- (quicksort.lua) has unpredictable branches and jumps, for which LuaJIT takes three times as long as C. Here each
-- number goes into a bucket for its part of the row's range, with as many buckets as numbers; an insertion sort orders
-- those that share one. Left to the quicksort are rows with equal numbers, NaNs or infinities, and rows in which too
-- many numbers share a bucket. Whole numbers of a small range go to equal_numbers.lua. If only some positions of the
-- sorted row are wanted, only the numbers in their buckets are sorted, and only these must be different.
local ffi = require 'ffi'
local types = require 'torch.core.types'
local templates = require 'torch.core.templates'
local rows_of = require 'torch.luajit.row_offsets'
local repeated = require 'torch.luajit.sorting.equal_numbers'

local min, max, floor = math.min, math.max, math.floor

local buckets = {}

local FEWEST = 12       -- numbers of a row; shorter rows are as fast by insertion alone
local TOGETHER = 2 ^ 13 -- numbers of the rows processed together: each loop is entered once for all of them

local SOURCE = [[
   local MOST_EXACT = 2 ^ 53 -- larger whole numbers are not exact doubles
   local CROWDED = 4 -- adding a number to a bucket takes a step for each number in it

   -- Whether n whole numbers of a range (scale: n relative to it) can be all different, and probably are if they are
   -- random.
   local function may_differ(scale, n) return scale <= 1 and (scale > 1 / 2 or scale * n < 4) end

   -- m.v: the numbers of `rows` rows of t along d, contiguous, times `sign`. m.lows, m.scales: give a number's bucket
   -- in its row; scale 0: the row is not for buckets. m.whole: 1 for those rows that have whole numbers of a range
   -- below `widest`, else 0. Returns the number of rows for buckets, and of whole rows.
   local function gather(t, d, starts, rows, m, sign, widest)
      local v, lows, scales, whole, q, get, n = m.v, m.lows, m.scales, m.whole, t.S.p, t.T.get, t[2 * d - 1]
      local row, k, at, low, high, check, odd, for_buckets, of_whole = 0, 0, starts[0], 1 / 0, -1 / 0, 0, 0, 0, 0
      local step = tobit(t[2 * d])
      for i = 0, rows * n - 1 do
         local x = sign * get(q, at)
         v[i] = x
         low, high, check = min(low, x), max(high, x), check + x * 0
         $add_odd
         k, at = k + 1, at + step
         if k == n then
            local scale, are_exact = (n - 1) / (high - low), low > -MOST_EXACT and high < MOST_EXACT
            whole[row] = 0
            if high - low < widest and check == 0 and odd == 0 and are_exact then
               lows[row], scales[row], whole[row], of_whole = low, 0, 1, of_whole + 1
            elseif check == 0 and scale > 0 and scale < 1 / 0
               and (not $is_whole or are_exact and may_differ(scale, n)) then
               lows[row], scales[row], for_buckets = low, scale, for_buckets + 1
            else
               lows[row], scales[row] = 0, 0
               for other = i - n + 1, i do v[other] = 0 end -- so that they have a bucket
            end
            row, k = row + 1, 0
            at, low, high, check, odd = starts[3 * row], 1 / 0, -1 / 0, 0, 0
         end
      end
      return for_buckets, of_whole
   end

   -- m.place: the bucket of each number, counted through all rows; m.ends: the number of elements in each bucket. A row
   -- with crowded buckets gets scale 0.
   local function count(m, rows, n)
      local place, ends, v, lows, scales = m.place, m.ends, m.v, m.lows, m.scales
      local row, k, low, scale, first, crowd = 0, 0, lows[0], scales[0], 0, 0
      for i = 0, rows * n - 1 do
         local bucket = first + (v[i] - low) * scale
         place[i] = bucket
         local b = place[i]
         local there = ends[b] + 1
         ends[b] = there
         k, crowd = k + 1, crowd + there
         if k == n then
            if crowd > CROWDED * n then scales[row] = 0 end
            row, k, first, crowd = row + 1, 0, first + n, 0
            low, scale = lows[row], scales[row]
         end
      end
   end

   -- m.w, m.p: the numbers and their positions (from 1), ordered by bucket
   local function spread(m, rows, n)
      local w, p, v, place, ends, sum = m.w, m.p, m.v, m.place, m.ends, 0
      for b = 0, rows * n - 1 do
         local c = ends[b]
         ends[b] = sum
         sum = sum + c
      end
      local k = 0
      for i = 0, rows * n - 1 do
         local b = place[i]
         local to = ends[b]
         k = k + 1
         ends[b], w[to], p[to] = to + 1, v[i], k
         if k == n then k = 0 end
      end
   end

   -- Sorts rows that are already nearly sorted. Rows with equal numbers get scale 0, like others that are left out.
   local function insert(m, rows, n)
      local w, p, scales = m.w, m.p, m.scales
      local row, k, start, last = 0, 1, 0, scales[0] > 0 and w[0] or -1 / 0
      for i = 1, rows * n - 1 do
         local x = w[i]
         if k == n then
            row, k, start = row + 1, 0, i
            if scales[row] == 0 then x = -1 / 0 end
         elseif not (last < x) and scales[row] > 0 then
            local to, position = i, p[i]
            while to > start and x < w[to - 1] do
               w[to], p[to] = w[to - 1], p[to - 1]
               to = to - 1
            end
            w[to], p[to] = x, position
            if to > start and w[to - 1] == x then scales[row] = 0 end
            x = last
         end
         k, last = k + 1, x
      end
   end

   -- Writes the wanted values and positions of each row to where r's and l's rows start; rows with scale 0 are skipped.
   local function write(r, l, d, starts, rows, n, m, wanted)
      local values, positions, set, w, p, scales = r.S.p, l.S.p, r.T.set, m.w, m.p, m.scales
      local first, some, sign = wanted.first, wanted.some or n, wanted.falling and -1 or 1
      local row, k, to, at, from, is_sorted = 0, 0, starts[1], starts[2], tobit(first), scales[0] > 0
      local r_step, l_step = tobit(r[2 * d]), tobit(l[2 * d])
      for _ = 1, rows * some do
         if is_sorted then
            set(values, to, sign * w[from])
            positions[at] = p[from]
         end
         k, to, at, from = k + 1, to + r_step, at + l_step, from + 1
         if k == some then
            row, k = row + 1, 0
            to, at, from, is_sorted = starts[3 * row + 1], starts[3 * row + 2], tobit(row * n + first), scales[row] > 0
         end
      end
   end

   -- The first and the last bucket that contain positions `first` to `last` of each row, and the number of elements in
   -- the buckets before them: three numbers for each row.
   local function bound(m, rows, n, first, last)
      local bounds, ends, scales = m.bounds, m.ends, m.scales
      for row = 0, rows - 1 do
         local at, b, sum = 3 * row, row * n, 0
         if scales[row] > 0 then
            while sum + ends[b] <= first do b, sum = b + 1, sum + ends[b] end
            bounds[at], bounds[at + 2] = b, sum
            while sum + ends[b] <= last do b, sum = b + 1, sum + ends[b] end
            bounds[at + 1] = b
         else
            bounds[at], bounds[at + 1], bounds[at + 2] = 1, 0, 0
         end
      end
   end

   -- m.w, m.p: the numbers in these buckets and their positions (from 1), row after row; m.counts: their number,
   -- cumulative over the rows. There is no branch on random data.
   local function collect(m, rows, n)
      local w, p, counts, v, place, bounds = m.w, m.p, m.counts, m.v, m.place, m.bounds
      local row, k, to, low, high = 0, 0, 0, bounds[0], bounds[1]
      for i = 0, rows * n - 1 do
         local b = place[i]
         k = k + 1
         w[to], p[to] = v[i], k
         to = tobit(to + 1 + arshift(bor(tobit(b - low), tobit(high - b)), 31)) -- negative: outside
         if k == n then
            counts[row], row, k = to, row + 1, 0
            low, high = bounds[3 * row], bounds[3 * row + 1]
         end
      end
   end

   -- Sorts the numbers from `start` to `stop`.
   local function arrange(w, p, start, stop)
      for i = start + 1, stop do
         local x, position, to = w[i], p[i], i
         while to > start and x < w[to - 1] do
            w[to], p[to] = w[to - 1], p[to - 1]
            to = to - 1
         end
         w[to], p[to] = x, position
      end
   end

   -- Writes what is wanted of each row, as above, from the collected numbers. Rows in which two of these are equal, or
   -- with more than MOST_COLLECTED of them, get scale 0.
   local MOST_COLLECTED = 128
   local function choose(r, l, d, starts, rows, m, wanted)
      local values, positions, set, r_step, l_step = r.S.p, l.S.p, r.T.set, r[2 * d], l[2 * d]
      local w, p, counts, bounds, scales = m.w, m.p, m.counts, m.bounds, m.scales
      local first, some, sign, start = wanted.first, wanted.some, wanted.falling and -1 or 1, 0
      for row = 0, rows - 1 do
         local stop = counts[row] - 1
         local from = start + first - bounds[3 * row + 2]
         local is_fit = scales[row] > 0 and stop - start < MOST_COLLECTED
         if is_fit then
            arrange(w, p, start, stop)
            for i = max(from - 1, start), min(from + some, stop) - 1 do
               if w[i] == w[i + 1] then is_fit = false end
            end
         end
         if is_fit then
            local to, at = starts[3 * row + 1], starts[3 * row + 2]
            for i = from, from + some - 1 do
               set(values, to, sign * w[i])
               positions[at] = p[i]
               to, at = to + r_step, at + l_step
            end
         else
            scales[row] = 0
         end
         start = stop + 1
      end
   end

   return { gather = gather, count = count, spread = spread, insert = insert, write = write, bound = bound,
      collect = collect, choose = choose }
]]

local of_type = templates.for_each(types, function(T)
   return templates.compile('torch.luajit.sorting.buckets', SOURCE, { is_whole = T.whole,
      add_odd = T.whole and '' or 'odd = odd + (x - floor(x))' })
end)

local memory_of = rows_of.memory{ v = 'double', w = 'double', lows = 'double', scales = 'double', whole = 'int32_t',
   place = 'int32_t', ends = 'int32_t', p = 'int32_t', bounds = 'int32_t', counts = 'int32_t' }

-- Whether rows of a tensor along dimension d can be sorted by buckets.
function buckets.fit(t, d)
   local T = t.T
   return t[2 * d - 1] >= FEWEST and (T.real or T.whole)
end

-- Up to this many positions of a sorted row, only these are determined.
local MOST_CHOSEN = 64

-- Sorts the given number of rows of t. Rows with scale 0 are left, unless they are whole.
local function order_rows(r, l, t, d, starts, rows, m, wanted)
   local n, sign = t[2 * d - 1], wanted.falling and -1 or 1
   local loops, some = of_type(t.T), wanted.some or n
   local widest = wanted.is_sort and n <= repeated.MOST and repeated.WIDTH * n or 0
   local for_buckets, of_whole = loops.gather(t, d, starts, rows, m, sign, widest)
   if of_whole > 0 then repeated.sort(r, l, d, starts, rows, n, m, sign) end
   if for_buckets == 0 then return end
   ffi.fill(m.ends, 4 * rows * n)
   loops.count(m, rows, n)
   if not wanted.all_differ and some <= MOST_CHOSEN and 4 * some <= n then
      loops.bound(m, rows, n, wanted.first, wanted.first + some - 1)
      loops.collect(m, rows, n)
      loops.choose(r, l, d, starts, rows, m, wanted)
   else
      loops.spread(m, rows, n)
      loops.insert(m, rows, n)
      loops.write(r, l, d, starts, rows, n, m, wanted)
   end
end

-- r = what is wanted (see quicksort.lua) of each row of t along dimension d, l = the positions. t is r or shares no
-- memory with it. otherwise(r, l, t, d, starts, row, wanted) is called for each row that is not for buckets.
function buckets.order(r, l, t, d, wanted, otherwise)
   local n, starts, all = t[2 * d - 1], rows_of.starts(t, r, l, d)
   local together = min(all, max(1, floor(TOGETHER / n)))
   local m = memory_of((together + 1) * n)
   for done = 0, all - 1, together do
      local rows, from = min(together, all - done), starts + 3 * done
      order_rows(r, l, t, d, from, rows, m, wanted)
      for row = 0, rows - 1 do
         if m.scales[row] == 0 and m.whole[row] == 0 then otherwise(r, l, t, d, from, row, wanted) end
      end
   end
   return true
end

return buckets
