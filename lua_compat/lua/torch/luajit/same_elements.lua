-- Whether two tensors have the same elements. They are made contiguous if necessary: C compares memory faster than a
-- loop does. The first elements are compared one by one, because tensors that differ usually differ there.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local few = require 'torch.luajit.elementwise'
local types = require 'torch.core.types'
local no = require('torch.core.ways').no

local count, first_element = memory.count, memory.first_element

ffi.cdef 'int th_memcmp(const void *p, const void *q, size_t n) __asm__("memcmp");'

local FIRST = 8
local MOST = 2 ^ 16 -- real numbers: NaN ~= NaN, and 0 == -0, so equal bits are not the same as equal numbers

local DIFFER = [[
   return function(p, q, n)
      for i = 0, n - 1 do
         if get(p, i) ~= get(q, i) then return true end
      end
      return false
   end
]]
local first_differ = types.compiled('torch.luajit.same_elements', DIFFER, {}, types.codes_of_numbers)

-- Returns whether this way could decide, and whether the elements of a and b, of the same sizes, are equal.
local function same_elements(a, b)
   local T, n = a.T, count(a)
   if b.T ~= T or n == 0 or few.LIMIT == 0 or not (T.real or T.whole) then return no 'other types' end
   local p, q = first_element(a), first_element(b)
   if first_differ(T)(p, q, 1) then return true, false end
   if not few.are_turned(a, b, b) then p, q = few.in_one_piece(a, 1, n), few.in_one_piece(b, 2, n) end
   if not (p and q) then return no 'many non-contiguous elements' end
   if first_differ(T)(p, q, n < FIRST and n or FIRST) then return true, false end
   if n <= FIRST and T.real then return true, true end -- whole numbers of 64 bits were rounded
   local same = ffi.C.th_memcmp(p, q, n * T.size) == 0
   if T.whole then return true, same end
   if same and n <= MOST and few.are_finite(T, n, p, p) then return true, true end
   return no 'real numbers of different bits, or many'
end

return same_elements
