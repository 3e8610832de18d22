-- Whether tensors share memory. A storage may view another one, or belong to another Lua state as well, so two storage
-- records may describe the same memory.
local memory = require 'torch.core.memory'
local address_of = require('torch.core.blocks').address_of

local is_contiguous = memory.is_contiguous

local apart = {}

-- The offset of the last element.
local function last_offset(r)
   local last = r.off
   for d = 1, 2 * r.nd, 2 do last = last + (r[d] - 1) * r[d + 1] end
   return last
end
apart.last_offset = last_offset

-- Whether two storages, either of which may be nil, share memory.
local function share(S, other)
   if S == other then return S ~= nil end
   if not (S and other) or not (S.parent or other.parent or S.fixed and other.fixed) then return false end
   if not (S.p and other.p) then return false end
   local first, first_of_other = address_of(S.p), address_of(other.p)
   return first < first_of_other + memory.capacity(other) * other.T.size
      and first_of_other < first + memory.capacity(S) * S.T.size
end

-- The addresses of a tensor's first element and of the one after its last.
local function addresses(r)
   local first = address_of(r.S.p)
   return first + r.off * r.T.size, first + (last_offset(r) + 1) * r.T.size
end

-- Whether the memory ranges of two tensors intersect. Both have elements.
local function meet(r, t)
   if r.S == t.S then return last_offset(r) >= t.off and last_offset(t) >= r.off end
   if not share(r.S, t.S) then return false end
   local first, stop = addresses(r)
   local first_of_t, stop_of_t = addresses(t)
   return first < stop_of_t and first_of_t < stop
end
apart.meet = meet

-- Whether two matrices are different columns of a larger one, as an LSTM's gates are.
local function side_by_side(r, t)
   local step = r[2]
   if r.nd ~= 2 or t.nd ~= 2 or t[2] ~= step or step < 1 or r[4] < 1 or t[4] < 1 then return false end
   local first, other = r.off % step, t.off % step
   local last, other_last = first + (r[3] - 1) * r[4], other + (t[3] - 1) * t[4]
   return last < step and other_last < step and (last < other or other_last < first)
end

-- Whether the k-th element of one tensor is the k-th of the other, for each k. (Strides may differ along a dimension of
-- one element.)
local function same_places(r, t)
   if not r.S or r.S ~= t.S or r.off ~= t.off then return false end
   if is_contiguous(r) and is_contiguous(t) then return true end
   if r.nd ~= t.nd then return false end
   for d = 1, 2 * r.nd, 2 do
      if r[d] ~= t[d] or r[d] > 1 and r[d + 1] ~= t[d + 1] then return false end
   end
   return true
end
apart.same_places = same_places

-- Whether writing the elements of r in some order may change elements of t before they are read: their ranges intersect
-- and they do not have the same elements. Both have elements.
function apart.may_overlap(r, t)
   if r == t or not meet(r, t) then return false end
   return r.S ~= t.S or not (side_by_side(r, t) or same_places(r, t))
end

-- Whether r's storage shares no memory with the storages of the others, which may be nil.
function apart.is_apart(r, a, b, c)
   local S = r.S
   return not S or not (a and share(S, a.S) or b and share(S, b.S) or c and share(S, c.S))
end

-- Whether r's elements lie apart from those of the others, which may be nil: parts of one storage may, such as the
-- parameters after getParameters. All keep their sizes.
local function lies_apart(r, t) return not t or not t.S or not meet(r, t) end
function apart.lies_apart(r, a, b, c) return not r.S or lies_apart(r, a) and lies_apart(r, b) and lies_apart(r, c) end

return apart
