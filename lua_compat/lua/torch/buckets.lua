-- Sorting rows of numbers that are all different: then there is only one order, however it is found. Torch7's quicksort
-- (ordering.lua) jumps to and fro, for which LuaJIT pays three times what C does. Here each number goes to the bucket of its part of
-- the row's range, as many buckets as numbers; what shares one is put in order by insertion. Rows with equal numbers, with NaNs or
-- infinite ones, or of which too many share buckets are left to the quicksort.
local math = require('th.own').math
local ffi = require 'ffi'
local types = require 'torch.types'
local compiled = require 'torch.compiled'
local memory = require 'torch.memory'
local rows_of = require 'torch.rows'

local min, max, floor = math.min, math.max, math.floor

local buckets = {}

local FEWEST = 12       -- numbers of a row; fewer are as fast by insertion alone
local TOGETHER = 2 ^ 13 -- numbers of rows that go through the loops together: each loop is entered once for all of them

local SOURCE = [[
   local min, max, tobit = ...
   local MOST_EXACT = 2 ^ 53 -- whole numbers beyond are no doubles
   local CROWDED = 4 -- a number that comes to a bucket is a step for each that is there

   -- Whether n whole numbers, so many to each that their range has, can be all different, and are so where they are random.
   local function may_differ(scale, n) return scale <= 1 and (scale > 1 / 2 or scale * n < 4) end

   -- v: the numbers of `rows` rows of n, one after the other, times `sign`, from q, where they lie `step` apart; lows, scales: what a
   -- number's bucket in its row follows from; a scale of 0: the row is not for buckets.
   local function gather(v, lows, scales, q, get, starts, step, rows, n, sign)
      local row, k, at, low, high, check = 0, 0, starts[0], 1 / 0, -1 / 0, 0
      step = tobit(step)
      for i = 0, rows * n - 1 do
         local x = sign * get(q, at)
         v[i] = x
         low, high, check = min(low, x), max(high, x), check + x * 0
         k, at = k + 1, at + step
         if k == n then
            local scale = (n - 1) / (high - low)
            if check == 0 and scale > 0 and scale < 1 / 0
               and (not IS_WHOLE or low > -MOST_EXACT and high < MOST_EXACT and may_differ(scale, n)) then
               lows[row], scales[row] = low, scale
            else
               lows[row], scales[row] = 0, 0
               for other = i - n + 1, i do v[other] = 0 end -- so that they have buckets
            end
            row, k = row + 1, 0
            at, low, high, check = starts[row], 1 / 0, -1 / 0, 0
         end
      end
   end

   -- place: the bucket of each number, counted through all rows; ends: how many each bucket has. A row with crowded ones gets a
   -- scale of 0.
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

   -- Puts rows that are nearly in order in order; those with equal numbers get a scale of 0, as others have that are left out.
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

   -- Writes `some` numbers of each row, from its place `first` on, and their positions to where r's and l's rows start; rows with a
   -- scale of 0 stay as they are.
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

   return { gather = gather, count = count, spread = spread, insert = insert, write = write }
]]

local made = {}
local function of_type(T)
   made[T] = made[T] or compiled.from_text(SOURCE:gsub('IS_WHOLE', tostring(T.whole)), 'torch.buckets')(min, max, bit.tobit)
   return made[T]
end
compiled.on_first_use(function()
   for code = 1, types.count do of_type(types[code]) end
end)

local numbers, words = rows_of.array(ffi.typeof 'double'), rows_of.array(ffi.typeof 'int32_t')

-- Whether rows of a tensor along dimension d are for buckets.
function buckets.fit(t, d)
   local T = t.T
   return t[2 * d - 1] >= FEWEST and (T.real or T.whole)
end

-- r = `some` elements of each row of t along dimension d, from the place `first` (from 0) on in the row's order, l = their positions;
-- t is r or shares no memory with it. t_starts, r_starts, l_starts: the offsets of the rows (rows.lua).
-- otherwise(r, l, t, d, offset in t, in r, in l, some, ...): called for each row that is not for buckets.
function buckets.order(r, l, t, d, descending, first, some, t_starts, r_starts, l_starts, otherwise, ...)
   local T, n, sign = t.T, t[2 * d - 1], descending and -1 or 1
   local all = memory.count(t) / n
   local loops, together = of_type(T), min(all, max(1, floor(TOGETHER / n)))
   local size = together * n
   local v, w, lows, scales = numbers('v', size), numbers('w', size), numbers('lows', together + 1), numbers('scales', together + 1)
   local place, ends, p = words('place', size), words('ends', size), words('p', size)
   for done = 0, all - 1, together do
      local rows = min(together, all - done)
      loops.gather(v, lows, scales, t.S.p, T.get, t_starts + done, t[2 * d], rows, n, sign)
      ffi.fill(ends, 4 * rows * n)
      loops.count(place, ends, v, lows, scales, rows, n)
      loops.spread(w, p, v, place, ends, rows, n)
      loops.insert(w, p, scales, rows, n)
      loops.write(r.S.p, T.set, r_starts + done, r[2 * d], l.S.p, l_starts + done, l[2 * d], w, p, scales, rows, n, first, some, sign)
      for row = done, done + rows - 1 do
         if scales[row - done] == 0 then otherwise(r, l, t, d, t_starts[row], r_starts[row], l_starts[row], some, ...) end
      end
   end
end

return buckets
