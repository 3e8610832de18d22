-- The first place in a row of a number that is there: found by C's search for wide characters, which are four bytes, several at a time.
local ffi = require 'ffi'
local C, band, rshift = ffi.C, bit.band, bit.rshift

ffi.cdef 'const int32_t *th_wmemchr(const int32_t *p, int32_t c, size_t n) __asm__("wmemchr")'
local words = ffi.typeof 'const int32_t *'

local first_places = {}

-- The place, from 0, of the `size` bytes of number `to` at p (which is not zero, of which there are two) in the n numbers from q[at] on.
-- What is not there, because another thread has changed it meanwhile, is at the end. Doubles are looked for by their second half, of which
-- there are fewer equal ones.
local function search(row, wanted, halves, n, k)
   local found = C.th_wmemchr(row + k, wanted[halves - 1], halves * n - k)
   if found == nil then return n - 1 end
   k = found - row
   if halves == 1 then return k end
   if band(k, 1) == 1 and row[k - 1] == wanted[0] then return rshift(k, 1) end
   return search(row, wanted, halves, n, k + 1) -- no loop: LuaJIT does not compile one as a part of what calls it
end

function first_places.of(p, to, q, at, n, size)
   local halves = size / 4
   return search(ffi.cast(words, q) + halves * at, ffi.cast(words, p) + halves * to, halves, n, 0)
end

return first_places
