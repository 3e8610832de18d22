-- Rooms: memory for what is computed on the way. A room stays for the next call.
local ffi = require 'ffi'

local cast = ffi.cast
local ALIGNMENT = 64 -- bytes: a line of the processor's cache

-- A function(name, bytes) that gives a pointer to so many bytes, by name; the rooms are its own.
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
