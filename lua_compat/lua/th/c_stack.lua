-- How much of the C stack is in use. LuaJIT checks a coroutine's own stack, but not C's, of which it uses 80 bytes for
-- each nested resume and 9 KB for each nested callback of gsub; the process would crash when it is full. Called by
-- th/boot.lua.
local ffi = require 'ffi'
local create, resume, yield, tonumber = coroutine.create, coroutine.resume, coroutine.yield, tonumber

-- Of 8 MB, a thread's usual stack, this leaves what nested calls of string.format can use (4.1 MB), and some for
-- kernels. The limit for coroutines is lower, because each adds its position to an error's text.
local MOST_FOR_CALLBACKS, MOST_FOR_COROUTINES = 3.4 * 2 ^ 20, 2 ^ 20

-- A coroutine that reads from LuaJIT's record of it where the C stack was when it was resumed.
local CFRAME = 10 -- index of the word in the record, with 64-bit pointers
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

-- Counts from the current position.
function c_stack.begin()
   resume(probe)
   top = here
end

-- Whether a coroutine may be resumed, or gsub may call a function, at the current depth.
function c_stack.fits_coroutine()
   resume(probe)
   return top - here < MOST_FOR_COROUTINES
end

function c_stack.fits_callback()
   resume(probe)
   return top - here < MOST_FOR_CALLBACKS
end

return c_stack
