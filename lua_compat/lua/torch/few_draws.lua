-- Categories drawn from few probabilities, here: the same draws as those of nets/torch7/random.py, in the same order.
local ffi = require 'ffi'
local memory = require 'torch.memory'
local few = require 'torch.few'
local python = require('th.python').functions

local MOST = 8 -- times few.LIMIT probabilities or draws
local draws = {}

local buffer, room = nil, 0 -- the cumulative probabilities of a row

-- The sum of one row, which is left cumulative in the buffer; nil where a probability is negative or NaN.
local function add_up(p, get, first, step, n)
   local sum = 0
   for k = 0, n - 1 do
      local weight = get(p, first + k * step)
      if not (weight >= 0) then return nil end
      sum = sum + weight
      buffer[k] = sum
   end
   return sum
end

-- The first of n places (from 0) whose cumulative probability is not below a draw.
local function place_of(draw, n)
   local low, high = 0, n
   while low < high do
      local middle = low + bit.rshift(high - low, 1)
      if buffer[middle] < draw then low = middle + 1 else high = middle end
   end
   return low
end

-- Takes a place out of the distribution; the rest is scaled to sum to one again.
local function remove(place, n)
   local mass = buffer[place] - (place > 0 and buffer[place - 1] or 0)
   for k = place, n - 1 do buffer[k] = buffer[k] - mass end
   local rest = 1 - mass
   for k = 0, n - 1 do buffer[k] = buffer[k] / rest end
end

-- l = n categories of each row of the matrix of weights, from generator g. false, with nothing done, where that is for
-- Python: for many, for wrong probabilities.
function draws.multinomial(l, g, weights, n, replacement)
   local rows, categories = weights[1], weights[3]
   local most = MOST * few.LIMIT
   if weights.T.device or rows * categories > most or rows * n > most or not memory.is_contiguous(l) then return false end
   if room < categories then buffer, room = ffi.new('double[?]', categories), categories end
   local p, get, row, step = weights.S.p + weights.off, weights.T.get, weights[2], weights[4]
   for i = 0, rows - 1 do
      local sum = add_up(p, get, i * row, step, categories)
      if not (sum and sum > 0 and sum < math.huge) then return false end
   end
   local bytes = python.uniform_bytes(g.number, rows * n) -- kept: `drawn` points into it
   local drawn = ffi.cast('const double*', bytes)
   local to = l.S.p + l.off
   for i = 0, rows - 1 do
      local sum = add_up(p, get, i * row, step, categories)
      for k = 0, categories - 1 do buffer[k] = buffer[k] / sum end
      for j = i * n, i * n + n - 1 do
         buffer[categories - 1] = 1
         local place = place_of(drawn[j], categories)
         to[j] = place + 1
         if not replacement and n > 1 then remove(place, categories) end
      end
   end
   return true, bytes
end

return draws
