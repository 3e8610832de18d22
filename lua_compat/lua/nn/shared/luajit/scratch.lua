-- Shared by the layers that LuaJIT computes: scratch buffers that are reused by the next call, and sizes of records.
local ffi = require 'ffi'
local new_rooms = require 'torch.core.scratch'
local memory = require 'torch.core.memory'
local pointwise = require 'torch.operations.pointwise'

local is_contiguous, resize, cast = memory.is_contiguous, memory.resize, ffi.cast

local rooms = { room = new_rooms() }

-- (In parentheses, because LuaJIT does not compile a function that ends in a tail call of an FFI function.)
function rooms.bytes_at(t) return (cast('char *', t.S.p + t.off)) end

-- Whether r has the sizes of x (images, sequences or, if frames are given, volumes) but the given rows and columns, and
-- planes and frames if given.
function rooms.is_sized(r, x, rows, columns, planes, frames)
   local nd, last = x.nd, 2 * x.nd - 1
   if r.nd ~= nd or r[last - 2] ~= rows or r[last] ~= columns then return false end
   if frames then
      if r[last - 4] ~= frames then return false end
      last = last - 2
   end
   return (last < 5 or r[last - 4] == (planes or x[last - 4])) and (last < 7 or r[1] == x[1])
end

-- Resizes r to these sizes. Returns whether it is then contiguous.
function rooms.begin(r, x, rows, columns, planes, frames)
   if not rooms.is_sized(r, x, rows, columns, planes, frames) then
      local nd, sizes = x.nd, {}
      for d = 1, nd do sizes[d] = x[2 * d - 1] end
      sizes[nd - 1], sizes[nd], sizes[nd - 2] = rows, columns, frames or sizes[nd - 2]
      local of_planes = nd - (frames and 3 or 2)
      if of_planes > 0 then sizes[of_planes] = planes or sizes[of_planes] end
      resize(r, nd, sizes)
   end
   return is_contiguous(r)
end

-- t, or a contiguous copy of it if it has few elements; a layer then computes the same bits.
local MOST_COPIED = 2 ^ 16 -- elements
function rooms.in_one_piece(t)
   if is_contiguous(t) or not t.T.real or memory.count(t) > MOST_COPIED then return t end
   return pointwise.copy_of(t)
end

return rooms
