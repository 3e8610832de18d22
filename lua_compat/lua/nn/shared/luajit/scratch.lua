-- What the layers that LuaJIT computes share: memory that stays for the next call, and how they see records.
local ffi = require 'ffi'
local new_rooms = require 'torch.core.scratch'
local memory = require 'torch.core.memory'
local pointwise = require 'torch.operations.pointwise'

local is_contiguous, resize, cast = memory.is_contiguous, memory.resize, ffi.cast

local rooms = { room = new_rooms() }

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

-- (In brackets: LuaJIT makes no code of its own for a function that ends in a call of one of its own.)
function rooms.bytes_at(t) return (cast('char *', t.S.p + t.off)) end

-- Whether a tensor has elements, of type T and in one piece.
function rooms.plain(t, T) return t.T == T and t.S and t.nd > 0 and is_contiguous(t) end

-- Whether r has the sizes of x, images or sequences, or where frames are given volumes, with other rows and columns,
-- frames, and planes where those are given.
function rooms.is_sized(r, x, rows, columns, planes, frames)
   local nd, last = x.nd, 2 * x.nd - 1
   if r.nd ~= nd or r[last - 2] ~= rows or r[last] ~= columns then return false end
   if frames then
      if r[last - 4] ~= frames then return false end
      last = last - 2
   end
   return (last < 5 or r[last - 4] == (planes or x[last - 4])) and (last < 7 or r[1] == x[1])
end

-- Gives r these sizes; whether its elements then lie in one piece.
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

-- t, or a copy of it in one piece where it has few elements and does not lie so: what a layer computes has the same
-- bits then.
local MOST_COPIED = 2 ^ 16 -- elements
function rooms.in_one_piece(t)
   if is_contiguous(t) or not t.T.real or memory.count(t) > MOST_COPIED then return t end
   return pointwise.copy_of(t)
end

return rooms
