-- Index of the first element equal to a number known to occur, found by C's search functions, which compare several at
-- a time. wmemchr, for 4-byte characters, finds 4-byte numbers and halves of larger ones.
local ffi = require 'ffi'
local C, band, rshift, cast = ffi.C, bit.band, bit.rshift, ffi.cast

ffi.cdef [[
   const uint8_t *th_memchr(const uint8_t *p, int c, size_t n) __asm__("memchr");
   const int32_t *th_wmemchr(const int32_t *p, int32_t c, size_t n) __asm__("wmemchr");
]]

local first_places = {}

local bytes, words = ffi.typeof 'const uint8_t *', ffi.typeof 'const int32_t *'

-- These functions return the index, from 0, of the number `to` at p among n numbers, starting at q[at]. A number that
-- another thread has removed meanwhile is reported at the end.

local function of_byte(p, to, q, at, n)
   local row = cast(bytes, q) + at
   local found = C.th_memchr(row, cast(bytes, p)[to], n)
   return found == nil and n - 1 or found - row
end

local function of_word(p, to, q, at, n)
   local row = cast(words, q) + at
   local found = C.th_wmemchr(row, cast(words, p)[to], n)
   return found == nil and n - 1 or found - row
end

-- The same for numbers of two words, from index k on. It searches for the given half (0 or 1), of which fewer are
-- equal.
local function search(row, wanted, n, k, half)
   local found = C.th_wmemchr(row + k, wanted[half], 2 * n - k)
   if found == nil then return n - 1 end
   k = found - row
   if band(k, 1) == half and row[k + 1 - 2 * half] == wanted[1 - half] then return rshift(k, 1) end
   return search(row, wanted, n, k + 1, half) -- recursion, because LuaJIT does not inline loops into a caller's trace
end
local FIRST, SECOND = ffi.abi 'le' and 0 or 1, ffi.abi 'le' and 1 or 0
local function of_double(p, to, q, at, n)
   return search(cast(words, q) + 2 * at, cast(words, p) + 2 * to, n, 0, SECOND)
end
local function of_long(p, to, q, at, n) return search(cast(words, q) + 2 * at, cast(words, p) + 2 * to, n, 0, FIRST) end

local of_real, of_whole = { [4] = of_word, [8] = of_double }, { [1] = of_byte, [4] = of_word, [8] = of_long }

-- The search function for numbers of type T; nil if there is none. It must not be used for zero, which may have either
-- sign.
function first_places.search(T) return (T.whole and of_whole or T.real and of_real or {})[T.size] end

return first_places
