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

function rooms.bytes_at(t) return cast('char *', t.S.p + t.off) end

-- Whether a tensor has elements, of type T and in one piece.
function rooms.plain(t, T) return t.T == T and t.S and t.nd > 0 and is_contiguous(t) end

-- Gives r the sizes of x, images or sequences, with other rows and columns, and planes where those are given; whether
-- its elements then lie in one piece.
function rooms.begin(r, x, rows, columns, planes)
   local nd = x.nd
   if nd == 2 then
      resize(r, 2, { rows, columns })
   else
      local first, second = x[1], x[3]
      if planes and nd == 3 then first = planes elseif planes then second = planes end
      if r.nd ~= nd or r[1] ~= first or nd == 4 and r[3] ~= second or r[2 * nd - 3] ~= rows
         or r[2 * nd - 1] ~= columns then
         resize(r, nd, nd == 4 and { first, second, rows, columns } or { first, rows, columns })
      end
   end
   return is_contiguous(r)
end

-- The same of volumes, with other frames.
function rooms.begin_volumes(r, x, rows, columns, planes, frames)
   local nd = x.nd
   local first, second = x[1], x[3]
   if planes and nd == 4 then first = planes elseif planes then second = planes end
   if r.nd ~= nd or r[1] ~= first or nd == 5 and r[3] ~= second or r[2 * nd - 5] ~= frames or r[2 * nd - 3] ~= rows
      or r[2 * nd - 1] ~= columns then
      resize(r, nd, nd == 5 and { first, second, frames, rows, columns } or { first, frames, rows, columns })
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
