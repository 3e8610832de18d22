-- Masks of few bytes, in one piece, looked at four at a time, and elements written where they are ones. Which are ones is as good as
-- random, so no loop has a branch: elements are bits that a mask keeps or lets go. Each gives nil or false, with nothing done, where
-- that is for what computes otherwise.
local math = require('th.own').math
local ffi = require 'ffi'
local types = require 'torch.types'
local memory = require 'torch.memory'
local is_apart = require('torch.apart').is_apart
local few = require 'torch.few'
local compiled = require 'torch.compiled'

local count, is_contiguous, first_element = memory.count, memory.is_contiguous, memory.first_element
local band, bor, rshift, cast, min = bit.band, bit.bor, bit.rshift, ffi.cast, math.min

local masks = {}

local MOST = 2 ^ 15 -- elements
local words = ffi.typeof 'int32_t *'

-- The bits that any four of n bytes have, and those that all have.
local function bits_of(p, n)
   local any, all, q = 0, -1, cast(words, p)
   for k = 0, (n - n % 4) / 4 - 1 do any, all = bor(any, q[k]), band(all, q[k]) end
   for k = n - n % 4, n - 1 do
      local four = p[k] * 0x01010101
      any, all = bor(any, four), band(all, four)
   end
   return any, all
end

-- The bits of a mask, nil where it is not for this, and whether all its bytes are ones and zeros.
local function looked_at(mask)
   local n = count(mask)
   if mask.T.host ~= types.Byte or not mask.T.here or n == 0 or n > MOST or few.LIMIT == 0 or not is_contiguous(mask) then return nil end
   local any, all = bits_of(first_element(mask), n)
   return any, all, band(any, 0xfefefefe) == 0
end

-- Whether all bytes are ones and zeros; whether all, or any, are not zeros.
function masks.are_valid(mask)
   local _, _, valid = looked_at(mask)
   return valid
end
function masks.all(mask)
   local any, all, valid = looked_at(mask)
   if any and valid then return all == 0x01010101 end
end
function masks.any(mask)
   local any = looked_at(mask)
   if any then return any ~= 0 end
end

-- How many ones a valid mask has: four bytes are added up at once, as long as none becomes more than 255.
local AT_ONCE = 4 * 255
function masks.ones(mask)
   local _, _, valid = looked_at(mask)
   if not valid then return nil end
   local p, n, sum = first_element(mask), count(mask), 0
   for first = 0, n - 4, AT_ONCE do
      local q, four = cast(words, p + first), 0
      for k = 0, min(AT_ONCE, n - n % 4 - first) / 4 - 1 do four = four + q[k] end
      sum = sum + band(four, 255) + band(rshift(four, 8), 255) + band(rshift(four, 16), 255) + rshift(four, 24)
   end
   for k = n - n % 4, n - 1 do sum = sum + p[k] end
   return sum
end

-- Functions for elements of each size, seen as whole numbers: p = v, or the next of q's elements, where the mask has a one. Of four and
-- eight bytes; traces are for one size.
local FILL = [[
   local band, bor = ...
   return function(p, mask, n, v)
      for i = 0, n - 1 do
         local one = mask[i] + ZERO
         p[i] = bor(band(p[i], one - 1), band(v, -one))
      end
   end
]]
local COPY = [[
   local band, bor, min = ...
   return function(p, mask, n, q, last)
      local k = 0
      for i = 0, n - 1 do
         local one = mask[i] + ZERO
         p[i] = bor(band(p[i], one - 1), band(q[k], -one))
         k = min(last, k + mask[i])
      end
   end
]]
local cells, fill, copy, value_of = {}, {}, {}, {}
for size, row in pairs{ [4] = { 'int32_t', '0' }, [8] = { 'int64_t', '0LL' } } do
   local ctype, zero = unpack(row)
   cells[size], value_of[size] = ffi.typeof(ctype .. ' *'), ffi.new(ctype .. '[1]')
   fill[size] = compiled.from_text(FILL:gsub('ZERO', zero), 'torch.few')(band, bor)
   copy[size] = compiled.from_text(COPY:gsub('ZERO', zero), 'torch.few')(band, bor, min)
end

local function suit(r, mask)
   local n = count(r)
   return cells[r.T.size] and r.T.here and n > 0 and n <= MOST and few.LIMIT > 0 and mask.T.host == types.Byte and is_contiguous(r)
      and is_contiguous(mask) and is_apart(r, mask)
end

-- r's elements, where the mask of as many zeros and ones has ones, become a number of its type.
function masks.fill(r, mask, number)
   if not suit(r, mask) or not (r.T.real or r.T.whole) then return false end
   local size = r.T.size
   local cell = value_of[size]
   cast(r.T.pointer, cell)[0] = number
   fill[size](cast(cells[size], first_element(r)), first_element(mask), count(r), cell[0])
   return true
end

-- They become the first elements of s in turn, of which there are at least as many as ones.
function masks.copy(r, mask, s)
   local last = count(s) - 1
   if s.T ~= r.T or not suit(r, mask) or last < 0 or not is_contiguous(s) or not is_apart(r, s) then return false end
   local pointer = cells[r.T.size]
   copy[r.T.size](cast(pointer, first_element(r)), first_element(mask), count(r), cast(pointer, first_element(s)), last)
   return true
end

return masks
