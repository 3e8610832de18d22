-- How much of C's stack is in use. LuaJIT sees the end of a coroutine's own stack, but not that of C's, of which it
-- takes 80 bytes for each coroutine that is resumed within another and 9 KB for each callback of gsub within another:
-- the process would end there. Called by th/boot.lua.
local ffi = require 'ffi'
local create, resume, yield, tonumber = coroutine.create, coroutine.resume, coroutine.yield, tonumber

-- Of 8 MB, the usual stack of a thread, what nested calls of string.format take at most (4.1 MB) is left, and some for
-- what the kernels call. Coroutines end sooner: each adds its position to an error's text.
local MOST_FOR_CALLBACKS, MOST_FOR_COROUTINES = 3.4 * 2 ^ 20, 2 ^ 20

-- A coroutine that reads, in LuaJIT's record of itself, where C's stack was when it was resumed.
local CFRAME = 10 -- the record's word, where pointers have 64 bits
local words, here
local probe = create(function()
   while true do
      here = tonumber(words[CFRAME])
      yield()
   end
end)
words = ffi.cast('uint64_t *', tonumber(tostring(probe):match('0x%x+')))

local c_stack = {}
local top

-- Takes what is in use now for nothing.
function c_stack.begin()
   resume(probe)
   top = here
end

-- Whether a coroutine may be resumed, or gsub call a function, within what runs.
function c_stack.fits_coroutine()
   resume(probe)
   return top - here < MOST_FOR_COROUTINES
end

function c_stack.fits_callback()
   resume(probe)
   return top - here < MOST_FOR_CALLBACKS
end

return c_stack
