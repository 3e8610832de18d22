-- Writes few elements at indices along a dimension, in LuaJIT. The kernels define the results. Each function returns
-- false, with nothing done, if Python has to compute. What is written lies apart from what is read.
local types = require 'torch.core.types'
local memory = require 'torch.core.memory'
local templates = require 'torch.core.templates'
local no = require('torch.core.ways').no
local few = require 'torch.luajit.elementwise'
local outer_and_inner = require('torch.luajit.along_a_dimension').outer_and_inner

local count, first_element, place = memory.count, memory.first_element, few.place

local places = {}

-- The number of elements in n slices.
local function of_slices(r, d, n) return n * count(r) / r[2 * d - 1] end

-- The dimensions of r other than d: outer, inner, and the strides in each and along d. If only one has more than one
-- element, it is the inner one. nil if two loops cannot traverse them.
local function around(r, d)
   local outer, inner, outer_step, step, inner_step = outer_and_inner(r, d)
   if inner == 1 then return 1, outer, 0, step, outer_step end
   return outer, inner, outer_step, step, inner_step
end

-- Whether the elements of r to write are few, or few enough to avoid loading PyTorch. The indices are in range.
local function are_few(r, d, index)
   if not r.T.here or few.LIMIT == 0 or index.nd ~= 1 or index.T.host ~= types.Long then
      return no 'elements on a device, or indices of another type'
   end
   local n = of_slices(r, d, index[1])
   return n <= 2 * few.LIMIT or few.fits_for_now(n) or no 'many elements'
end

-- Whether s has r's sizes, but n elements along d.
local function fits(s, r, d, n)
   if s.T ~= r.T or s.nd ~= r.nd then return no 'other types' end
   for k = 1, r.nd do
      if s[2 * k - 1] ~= (k == d and n or r[2 * k - 1]) then return no 'other sizes' end
   end
   return true
end

-- For each type, writes to the elements of r's slices at the indices along dimension d: the elements of s, whose slices
-- are contiguous, or the number v.
local LOOPS = [[
   return function(r, d, index, s, v)
      local outer, inner, outer_step, step, inner_step = around(r, d)
      local s_outers, s_inners, s_outer, s_step, s_inner = around(s, d)
      if not outer or s_outers ~= outer or s_inners ~= inner then
         return no 'dimensions that two loops cannot follow'
      end
      local p, q, where, where_step, last = first_element(r), first_element(s), first_element(index), index[2],
         r[2 * d - 1]
      for k = 0, index[1] - 1 do
         local at, from = (place(where, k * where_step, last) - 1) * step, k * s_step
         for _ = 1, outer do
            local to, other = at, from
            for _ = 1, inner do
               p[to] = $value
               to, other = to + inner_step, other + s_inner
            end
            at, from = at + outer_step, from + s_outer
         end
      end
      return true
   end
]]
local function writing(value)
   return templates.for_each(types, function(T)
      return templates.compile('torch.luajit.indexed_writes', LOOPS, { value = value, around = around, place = place,
         first_element = first_element, no = no }, { get = T.get_moved })
   end)
end
local copy, add, fill = writing 'get(q, other)', writing 'get(p, to) + get(q, other)', writing 'v'

-- Whether slices of s can be written to r.
local function may_write(r, d, index, s) return are_few(r, d, index) and fits(s, r, d, index[1]) end

function places.copy(r, d, index, s)
   return may_write(r, d, index, s) and copy(r.T)(r, d, index, s)
end

function places.add(r, d, index, s)
   if not r.T.real then return no 'whole numbers' end
   return may_write(r, d, index, s) and add(r.T)(r, d, index, s)
end

-- Sets the elements of r at the indices along dimension d to a number of its type.
function places.fill(r, d, index, value)
   if not (r.T.real or r.T.whole) then return no 'other types' end
   return are_few(r, d, index) and fill(r.T)(r, d, index, r, value)
end

return places
