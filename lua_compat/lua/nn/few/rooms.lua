-- What the layers that LuaJIT computes (nn/few/) share: room that stays for the next call, and how they see records.
local ffi = require 'ffi'
local memory = require 'torch.memory'
local pointwise = require 'torch.pointwise'

local is_contiguous, cast = memory.is_contiguous, ffi.cast
local ALIGNMENT = 64 -- bytes

local rooms = {}

-- A pointer to so many bytes, by name.
local kept = {}
function rooms.room(name, bytes)
   local room = kept[name]
   if not room or room.bytes < bytes then
      room = { bytes = bytes, memory = ffi.new('char[?]', bytes + ALIGNMENT) }
      local over = tonumber(cast('uintptr_t', room.memory) % ALIGNMENT)
      room.p = cast('char *', room.memory) + (ALIGNMENT - over)
      kept[name] = room
   end
   return room.p
end

-- n ones of type T: the sums of rows are their products with them.
local ones = {}
function rooms.ones(T, n)
   local found = ones[T]
   if not found or found.n < n then
      found = { n = n, numbers = ffi.new(T.array, n) }
      for k = 0, n - 1 do found.numbers[k] = 1 end
      ones[T] = found
   end
   return found.numbers
end

function rooms.bytes_at(t) return cast('char *', t.S.p + t.off) end

-- Whether a tensor has elements, of type T and in one piece.
function rooms.plain(t, T) return t.T == T and t.S and t.nd > 0 and is_contiguous(t) end

-- t, or a copy of it in one piece where it has few elements and does not lie so: what a layer computes has the same bits then.
local MOST_COPIED = 2 ^ 16 -- elements
function rooms.in_one_piece(t)
   if is_contiguous(t) or not t.T.real or memory.count(t) > MOST_COPIED then return t end
   local copy = memory.temporary(t.T)
   memory.resize_as(copy, t)
   pointwise.copy(copy, t)
   return copy
end

return rooms
