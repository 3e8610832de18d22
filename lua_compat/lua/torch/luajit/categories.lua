-- Draws categories with given probabilities.
local ffi = require 'ffi'
local bit = require 'bit'
local unit = require('torch.tensor.generator').unit

local categories = {}

local buffer, room = nil, 0 -- the cumulative probabilities of a row

-- The sum of one row; its cumulative sums are left in the buffer.
local function add_up(p, get, first, step, n)
   local sum = 0
   for k = 0, n - 1 do
      sum = sum + get(p, first + k * step)
      buffer[k] = sum
   end
   return sum
end

local function make_room(n)
   if room < n then
      buffer = ffi.new('double[?]', n)
      room = n
   end
end

-- The first of n indices (from 0) whose cumulative probability is at least `draw`.
local function place_of(draw, n)
   local low, high = 0, n
   while low < high do
      local middle = low + bit.rshift(high - low, 1)
      if buffer[middle] < draw then low = middle + 1 else high = middle end
   end
   return low
end

-- Removes an index from the distribution and rescales the rest to sum to one.
local function remove(place, n)
   local mass = buffer[place] - (place > 0 and buffer[place - 1] or 0)
   for k = place, n - 1 do buffer[k] = buffer[k] - mass end
   local rest = 1 - mass
   for k = 0, n - 1 do buffer[k] = buffer[k] / rest end
end

-- Whether each row of a matrix of weights has a positive sum.
function categories.have_mass(weights)
   local rows, n = weights[1], weights[3]
   make_room(n)
   for i = 0, rows - 1 do
      if not (add_up(weights.S.p, weights.T.get, weights.off + i * weights[2], weights[4], n) > 0) then return false end
   end
   return true
end

-- Draws n categories for each row of such a matrix with generator g, and writes them to a pointer to whole numbers.
function categories.multinomial(to, g, weights, n, replacement)
   local rows, most = weights[1], weights[3]
   for i = 0, rows - 1 do
      local sum = add_up(weights.S.p, weights.T.get, weights.off + i * weights[2], weights[4], most)
      for k = 0, most - 1 do buffer[k] = buffer[k] / sum end
      for j = i * n, i * n + n - 1 do
         buffer[most - 1] = 1
         local place = place_of(unit(g), most)
         to[j] = place + 1
         if not replacement and n > 1 then remove(place, most) end
      end
   end
end

-- Walker's alias method, by Vose: each category is kept with some probability, else replaced by its alias. q: the
-- probabilities times n; on return, the probabilities of keeping. Returns the list of aliases; nil if there can be
-- none.
function categories.alias_table(q, n)
   local alias, small, large = {}, {}, {}
   for i = 1, n do
      alias[i] = 0
      local list = q[i] < 1 and small or large
      list[#list + 1] = i
   end
   while #small > 0 and #large > 0 do
      local giver, taker = large[#large], small[#small]
      alias[taker] = giver
      q[giver] = q[giver] - (1 - q[taker])
      small[#small] = nil
      if q[giver] < 1 then
         large[#large] = nil
         small[#small + 1] = giver
      end
   end
   local least, largest = math.huge, -math.huge
   for i = 1, n do least, largest = math.min(least, q[i]), math.max(largest, q[i]) end
   if least <= 0 then return nil end
   for i = 1, n do
      if largest > 1 then q[i] = q[i] / largest end
      -- In the result, a category without an alias has alias 1; it is always kept.
      if alias[i] <= 1 then alias[i], q[i] = 1, 1 end
   end
   return alias
end

return categories
