-- Shared by the layers that LuaJIT computes: scratch buffers that are reused by the next call, and contiguous copies.
local ffi = require 'ffi'
local new_rooms = require 'torch.core.scratch'
local memory = require 'torch.core.memory'
local pointwise = require 'torch.operations.pointwise'

local cast = ffi.cast

local rooms = { room = new_rooms() }

-- (In parentheses, because LuaJIT does not compile a function that ends in a tail call of an FFI function.)
function rooms.bytes_at(t) return (cast('char *', t.S.p + t.off)) end

-- t, or a contiguous copy of it if it has few elements; a layer then computes the same bits.
local MOST_COPIED = 2 ^ 16 -- elements
function rooms.in_one_piece(t)
   if memory.is_contiguous(t) or not t.T.real or memory.count(t) > MOST_COPIED then return t end
   return pointwise.copy_of(t)
end

return rooms
