-- Scratch buffers for intermediate results. Each is kept for the next call.
local ffi = require 'ffi'

local cast = ffi.cast
local ALIGNMENT = 64 -- bytes: a cache line

-- Returns a function(name, bytes) that returns a pointer to a buffer of at least that many bytes. Buffers are found by
-- name and belong to that function.
return function()
   local kept = {}
   return function(name, bytes)
      local room = kept[name]
      if not room or room.bytes < bytes then
         room = { bytes = bytes, memory = ffi.new('char[?]', bytes + ALIGNMENT) }
         local over = tonumber(cast('uintptr_t', room.memory) % ALIGNMENT)
         room.p = cast('char *', room.memory) + (ALIGNMENT - over)
         kept[name] = room
      end
      return room.p
   end
end
