-- Sorting rows of numbers that are all different: then there is only one order, however it is found. Torch7's quicksort
-- (ordering.lua) jumps to and fro, for which LuaJIT pays three times what C does. Here each number goes to the bucket
-- of its part of the row's range, as many buckets as numbers; what shares one is put in order by insertion. Rows with
-- equal numbers, with NaNs or infinite ones, or of which too many share buckets are left to the quicksort, whole
-- numbers of a small range to repeated.lua. Of some places in a row's order only the numbers in their buckets are put
-- in order, and only these must differ.
local ffi = require 'ffi'
local types = require 'torch.core.types'
local templates = require 'torch.core.templates'
local memory = require 'torch.core.memory'
local rows_of = require 'torch.luajit.row_offsets'
local repeated = require 'torch.luajit.sorting.equal_numbers'

local min, max, floor = math.min, math.max, math.floor

local buckets = {}

local FEWEST = 12       -- numbers of a row; fewer are as fast by insertion alone
local TOGETHER = 2 ^ 13 -- numbers of rows that go through the loops together: each loop is entered once for all of them

local SOURCE = [[
   local MOST_EXACT = 2 ^ 53 -- whole numbers beyond are no doubles
   local CROWDED = 4 -- a number that comes to a bucket is a step for each that is there

   -- Whether n whole numbers, so many to each that their range has, can be all different, and are so where they are
   -- random.
   local function may_differ(scale, n) return scale <= 1 and (scale > 1 / 2 or scale * n < 4) end

   -- v: the numbers of `rows` rows of n, one after the other, times `sign`, from q, where they lie `step` apart; lows,
   -- scales: what a number's bucket in its row follows from; a scale of 0: the row is not for buckets. whole: 1 for
   -- those of these that are whole numbers of a range less than `widest`, else 0. Gives how many rows are for buckets,
   -- and how many are whole.
   local function gather(v, lows, scales, whole, q, get, starts, step, rows, n, sign, widest)
      local row, k, at, low, high, check, odd, for_buckets, of_whole = 0, 0, starts[0], 1 / 0, -1 / 0, 0, 0, 0, 0
      step = tobit(step)
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
               for other = i - n + 1, i do v[other] = 0 end -- so that they have buckets
            end
            row, k = row + 1, 0
            at, low, high, check, odd = starts[row], 1 / 0, -1 / 0, 0, 0
         end
      end
      return for_buckets, of_whole
   end

   -- place: the bucket of each number, counted through all rows; ends: how many each bucket has. A row with crowded
   -- ones gets a scale of 0.
   local function count(place, ends, v, lows, scales, rows, n)
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

   -- w, p: numbers and their positions from 1 by buckets
   local function spread(w, p, v, place, ends, rows, n)
      local sum = 0
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

   -- Puts rows that are nearly in order in order; those with equal numbers get a scale of 0, as others have that are
   -- left out.
   local function insert(w, p, scales, rows, n)
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

   -- Writes `some` numbers of each row, from its place `first` on, and their positions to where r's and l's rows start;
   -- rows with a scale of 0 stay as they are.
   local function write(r, set, r_starts, r_step, l, l_starts, l_step, w, p, scales, rows, n, first, some, sign)
      local row, k, to, at, from, is_sorted = 0, 0, r_starts[0], l_starts[0], tobit(first), scales[0] > 0
      r_step, l_step = tobit(r_step), tobit(l_step)
      for _ = 1, rows * some do
         if is_sorted then
            set(r, to, sign * w[from])
            l[at] = p[from]
         end
         k, to, at, from = k + 1, to + r_step, at + l_step, from + 1
         if k == some then
            row, k = row + 1, 0
            to, at, from, is_sorted = r_starts[row], l_starts[row], tobit(row * n + first), scales[row] > 0
         end
      end
   end

   -- The first and the last of the buckets that have each row's places `first` to `last`, and what the buckets before
   -- hold: three numbers for each row.
   local function bound(bounds, ends, scales, rows, n, first, last)
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

   -- w, p: the numbers in these buckets and their positions from 1, those of each row one after the other; counts: how
   -- many of this row and those before it. There is no branch on what is random.
   local function collect(w, p, counts, v, place, bounds, rows, n)
      local row, k, m, low, high = 0, 0, 0, bounds[0], bounds[1]
      for i = 0, rows * n - 1 do
         local b = place[i]
         k = k + 1
         w[m], p[m] = v[i], k
         m = tobit(m + 1 + arshift(bor(tobit(b - low), tobit(high - b)), 31)) -- the sign of either: outside
         if k == n then
            counts[row], row, k = m, row + 1, 0
            low, high = bounds[3 * row], bounds[3 * row + 1]
         end
      end
   end

   -- Puts the numbers from `start` to `stop` in order.
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

   -- Writes `some` numbers of each row from `first` on, as below, of what was collected. Rows in which one of them is
   -- there twice, or that have more than MOST_COLLECTED, get a scale of 0.
   local MOST_COLLECTED = 128
   local function choose(r, set, r_starts, r_step, l, l_starts, l_step, w, p, counts, bounds, scales, rows, first, some,
      sign)
      local start = 0
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
            local to, at = r_starts[row], l_starts[row]
            for i = from, from + some - 1 do
               set(r, to, sign * w[i])
               l[at] = p[i]
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

local numbers, words = rows_of.array(ffi.typeof 'double'), rows_of.array(ffi.typeof 'int32_t')

-- Whether rows of a tensor along dimension d are for buckets.
function buckets.fit(t, d)
   local T = t.T
   return t[2 * d - 1] >= FEWEST and (T.real or T.whole)
end

-- Of up to so many places in a row's order only these are found.
local MOST_CHOSEN = 64

-- The rows of t, as many as given, as below: rows with a scale of 0 are left, but for those that are whole.
local function order_rows(r, l, t, d, sign, first, some, all_differ, is_sort, t_starts, r_starts, l_starts, rows,
   scales, whole)
   local T, n = t.T, t[2 * d - 1]
   local loops, size = of_type(T), rows * n
   local v, w, lows, place, ends, p = numbers('v', size), numbers('w', size), numbers('lows', rows + 1),
      words('place', size),
      words('ends', size), words('p', size)
   local widest = is_sort and n <= repeated.MOST and repeated.WIDTH * n or 0
   local for_buckets, of_whole = loops.gather(v, lows, scales, whole, t.S.p, T.get, t_starts, t[2 * d], rows, n, sign,
      widest)
   if of_whole > 0 then
      repeated.sort(T, r.S.p, r_starts, r[2 * d], l.S.p, l_starts, l[2 * d], v, lows, whole, rows, n, sign)
   end
   if for_buckets == 0 then return end
   ffi.fill(ends, 4 * rows * n)
   loops.count(place, ends, v, lows, scales, rows, n)
   if not all_differ and some <= MOST_CHOSEN and 4 * some <= n then
      local bounds, counts = words('bounds', 3 * rows + 2), words('counts', rows)
      loops.bound(bounds, ends, scales, rows, n, first, first + some - 1)
      loops.collect(w, p, counts, v, place, bounds, rows, n)
      loops.choose(r.S.p, T.set, r_starts, r[2 * d], l.S.p, l_starts, l[2 * d], w, p, counts, bounds, scales, rows,
         first, some, sign)
   else
      loops.spread(w, p, v, place, ends, rows, n)
      loops.insert(w, p, scales, rows, n)
      loops.write(r.S.p, T.set, r_starts, r[2 * d], l.S.p, l_starts, l[2 * d], w, p, scales, rows, n, first, some, sign)
   end
end

-- r = `some` elements of each row of t along dimension d, from the place `first` (from 0) on in the row's order, l =
-- their positions;
-- t is r or shares no memory with it. all_differ: only in rows in which all numbers do; is_sort: or that are whole
-- numbers of a small range.
-- t_starts, r_starts, l_starts: the offsets of the rows (rows.lua). otherwise(r, l, t, d, offset in t, in r, in l,
-- some, order, a, b, c): called for each row that is not for buckets.
function buckets.order(r, l, t, d, descending, first, some, all_differ, is_sort, t_starts, r_starts, l_starts,
   otherwise, order, a, b, c)
   local n, sign = t[2 * d - 1], descending and -1 or 1
   local all = memory.count(t) / n
   local together = min(all, max(1, floor(TOGETHER / n)))
   local scales, whole = numbers('scales', together + 1), words('whole', together + 1)
   for done = 0, all - 1, together do
      local rows = min(together, all - done)
      order_rows(r, l, t, d, sign, first, some, all_differ, is_sort, t_starts + done, r_starts + done, l_starts + done,
         rows, scales, whole)
      for row = done, done + rows - 1 do
         if scales[row - done] == 0 and whole[row - done] == 0 then
            otherwise(r, l, t, d, t_starts[row], r_starts[row], l_starts[row], some, order, a, b, c)
         end
      end
   end
end

return buckets
