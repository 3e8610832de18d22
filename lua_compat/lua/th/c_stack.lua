-- How much of the C stack is in use. LuaJIT checks a coroutine's own stack, but not C's, of which it uses 80 bytes for
-- each nested resume and 9 KB for each nested callback of gsub; the process would crash when it is full. Called by
-- th/boot.lua.
local ffi = require 'ffi'
local create, resume, yield = coroutine.create, coroutine.resume, coroutine.yield
local error, match, tonumber, tostring = error, string.match, tonumber, tostring

-- Of 8 MB, a thread's usual stack, this leaves what nested calls of string.format can use (4.1 MB), and some for
-- kernels. The limit for coroutines is lower, because each adds its position to an error's text.
local MOST_FOR_CALLBACKS, MOST_FOR_COROUTINES = 3.4 * 2 ^ 20, 2 ^ 20

-- A coroutine that reads from LuaJIT's record of it where the C stack was when it was resumed.
local CFRAME = 10 -- index of the word in the record, with 64-bit pointers
local probe, words, here

local function start()
   probe = create(function()
      while true do
         here = tonumber(words[CFRAME])
         yield()
      end
   end)
   words = ffi.cast('uint64_t *', tonumber(match(tostring(probe), '0x%x+')))
end
start()

local function position()
   if not resume(probe) then -- an error in it, of memory or of a script's hook, has ended it
      start()
      if not resume(probe) then error('C stack overflow', 0) end
   end
   return here
end

local c_stack = {}
local top

-- Counts from the current position.
function c_stack.begin() top = position() end

-- Whether a coroutine may be resumed, or gsub may call a function, at the current depth.
function c_stack.fits_coroutine() return top - position() < MOST_FOR_COROUTINES end
function c_stack.fits_callback() return top - position() < MOST_FOR_CALLBACKS end

return c_stack
