-- Sorts rows of whole numbers of which many are equal. Equal numbers come in the order in which Torch7's quicksort
-- (quicksort.lua) leaves them.
--
-- A number and its position are packed into 32 bits, with the distance from the row's minimum above the position, so
-- that one exchange moves both. The exchanges around a pivot follow from two lists, of the elements not below it and of
-- those not above it. The lists are made without a branch for each element, because a processor cannot predict it. The
-- quicksort's last step, an insertion sort, keeps equal numbers in order; here each number goes to the next free
-- position for its value.
local ffi = require 'ffi'
local types = require 'torch.core.types'
local templates = require 'torch.core.templates'
local rows_of = require 'torch.luajit.row_offsets'

local tobit, arshift, lshift, rshift = bit.tobit, bit.arshift, bit.lshift, bit.rshift

local repeated = {}

local BITS = 15 -- of a position
local MASK = 2 ^ BITS - 1
local SMALL = 10 -- parts of at most this many elements are left to the insertion sort
repeated.MOST = 2 ^ 14 -- numbers of a row
repeated.WIDTH = 2 -- the range of the values must be less than this times their number

local words = rows_of.array(ffi.typeof 'int32_t')
local waiting = ffi.new('int32_t[?]', 2 * 64) -- parts still to be split: the first and last position of each
local above, below -- the lists

local function exchange(c, a, b) c[a], c[b] = c[b], c[a] end
local function is_less(x, y) return arshift(x, BITS) < arshift(y, BITS) end

-- Lists the positions from `first` to `last` of elements not below the pivot (at least `low`) and of those not above it
-- (at most `high`). Returns the length of each list.
local function list(c, first, last, low, high)
   local not_below, not_above = tobit(0), tobit(0)
   for i = first, last do
      local x = c[i]
      above[not_below], below[not_above] = i, i
      not_below = tobit(not_below + 1 + arshift(tobit(x - low), 31)) -- the sign of a difference: 0 or -1
      not_above = tobit(not_above + 1 + arshift(tobit(high - x), 31))
   end
   return not_below, not_above
end

-- Exchanges the elements of one list, from its start, with those of the other, from its end, until they meet. Returns
-- the number of exchanges.
local function exchange_pairs(c, not_below, not_above)
   local k, most = 0, math.min(not_below, not_above)
   while k < most do
      local up, down = above[k], below[not_above - 1 - k]
      if down < up then break end
      c[up], c[down] = c[down], c[up]
      k = k + 1
   end
   return k
end

-- Puts a pivot in its place. Returns that place, and where the part after it begins.
local function split(c, first, last)
   local second = first + 1
   exchange(c, rshift(first + last, 1), second)
   if is_less(c[last], c[second]) then exchange(c, second, last) end
   if is_less(c[last], c[first]) then exchange(c, first, last) end
   if is_less(c[first], c[second]) then exchange(c, first, second) end
   local low = lshift(arshift(c[first], BITS), BITS)
   local not_below, not_above = list(c, second + 1, last - 1, low, low + MASK)
   local pairs_exchanged = exchange_pairs(c, not_below, not_above)
   local up = pairs_exchanged < not_below and above[pairs_exchanged] or last
   local down = pairs_exchanged < not_above and below[not_above - 1 - pairs_exchanged] or second
   if pairs_exchanged > 0 then
      -- The search also stops at elements that were exchanged: at the last pair or, if that was a single element, at
      -- the one before.
      local before, behind = above[pairs_exchanged - 1], below[not_above - pairs_exchanged]
      if before == behind then
         before = pairs_exchanged > 1 and above[pairs_exchanged - 2] or second
         behind = pairs_exchanged > 1 and below[not_above - pairs_exchanged + 1] or last
      end
      up, down = math.min(up, behind), math.max(down, before)
   end
   exchange(c, first, down)
   return down, up
end

-- Splits a row from `first` to `last` into small parts. The larger of two parts waits, so that few do.
local function split_to_small(c, first, last)
   if last - first <= SMALL then return end
   local count = 0
   while true do
      while last - first >= SMALL do
         local place, after = split(c, first, last)
         if place - first < last - after then
            waiting[count], waiting[count + 1] = after, last
            last = place - 1
         else
            waiting[count], waiting[count + 1] = first, place - 1
            first = after
         end
         count = count + 2
      end
      if count == 0 then break end
      count = count - 2
      first, last = waiting[count], waiting[count + 1]
   end
end

-- c: the numbers at v of `rows` rows of n, packed as distance from the row's minimum and position; zeros for rows that
-- are not `whole`.
local function pack(c, v, lows, whole, rows, n)
   local row, k, low, is_whole = 0, 0, lows[0], whole[0] == 1
   for i = 0, rows * n - 1 do
      c[i] = is_whole and lshift(v[i] - low, BITS) + k or 0
      k = k + 1
      if k == n then
         row, k = row + 1, 0
         low, is_whole = lows[row], whole[row] == 1
      end
   end
end

-- places: where the numbers of each distance, less than `width`, begin in their row, computed by counting.
local function find_places(places, c, rows, n, width)
   ffi.fill(places, 4 * rows * (width + 1))
   local k, first = 0, 1
   for i = 0, rows * n - 1 do
      local number = first + arshift(c[i], BITS)
      places[number] = places[number] + 1
      k = k + 1
      if k == n then k, first = 0, first + width + 1 end
   end
   local sum
   k, sum = 0, 0
   for i = 0, rows * (width + 1) - 1 do
      sum = sum + places[i]
      places[i], k = sum, k + 1
      if k > width then k, sum = 0, 0 end
   end
end

-- For each type, because traces are for one type of memory: writes the numbers of `whole` rows, times `sign`, and their
-- positions to where r's and l's rows start.
local WRITE = [[
   return function(r, l, d, starts, rows, n, m, sign)
      local c, places, v, whole, width, p, positions = m.packed, m.places, m.v, m.whole, $width * n, r.S.p, l.S.p
      local row, k, first, of_row, r_start, l_start, is_whole = 0, 0, 0, 0, starts[1], starts[2], whole[0] == 1
      local r_step, l_step = tobit(r[2 * d]), tobit(l[2 * d])
      for i = 0, rows * n - 1 do
         if is_whole then
            local x = c[i]
            local number, place = of_row + arshift(x, $bits), band(x, $mask)
            local to = places[number]
            places[number] = to + 1
            set(p, tobit(r_start + to * r_step), sign * v[first + place])
            positions[tobit(l_start + to * l_step)] = place + 1
         end
         k = k + 1
         if k == n then
            row, k, first, of_row = row + 1, 0, first + n, of_row + width + 1
            r_start, l_start, is_whole = starts[3 * row + 1], starts[3 * row + 2], whole[row] == 1
         end
      end
   end
]]
local write_for = templates.for_each(types, function(T)
   return templates.compile('torch.luajit.sorting.equal_numbers', WRITE, { set = T.set, bits = BITS, mask = MASK,
      width = repeated.WIDTH })
end)

-- Sorts those of `rows` rows of n numbers whose m.whole is 1: all are whole, and less than WIDTH * n above their
-- minimum, m.lows. m: the arrays of buckets.order, where m.v is the numbers times `sign`.
function repeated.sort(r, l, d, starts, rows, n, m, sign)
   m.packed, m.places = words('packed', rows * n), words('places', rows * (repeated.WIDTH * n + 1))
   above, below = words('above', n + 1), words('below', n + 1)
   pack(m.packed, m.v, m.lows, m.whole, rows, n)
   for row = 0, rows - 1 do
      if m.whole[row] == 1 then split_to_small(m.packed, row * n, row * n + n - 1) end
   end
   find_places(m.places, m.packed, rows, n, repeated.WIDTH * n)
   write_for(r.T)(r, l, d, starts, rows, n, m, sign)
end

return repeated
