-- Few elements written at the indices of a dimension, computed here: what is written, the kernels say. Each gives
-- false, with nothing done, where that is for Python.
local types = require 'torch.core.types'
local memory = require 'torch.core.memory'
local is_apart = require('torch.core.overlap').is_apart
local few = require 'torch.luajit.elementwise'
local outer_and_inner = require('torch.luajit.along_a_dimension').outer_and_inner

local count, first_element, place = memory.count, memory.first_element, few.place

local places = {}

local function read(p, i) return p[i] end

-- How many elements an index has in each of n slices.
local function of_slices(r, d, n) return n * count(r) / r[2 * d - 1] end

-- The dimensions beside d of r, of which elements are written at the indices: outer, inner, and the steps in each and
-- along d. One that has more elements than 1 is the inner one. nil where two loops cannot follow them.
local function around(r, d)
   local outer, inner, outer_step, step, inner_step = outer_and_inner(r, d)
   if inner == 1 then return 1, outer, 0, step, outer_step end
   return outer, inner, outer_step, step, inner_step
end

-- Whether few elements of r are written at the indices, which are in range, or as many as PyTorch is not to be loaded
-- for.
local function are_few(r, d, index)
   if not r.T.here or few.LIMIT == 0 or index.nd ~= 1 or index.T.host ~= types.Long then return false end
   local n = of_slices(r, d, index[1])
   return n <= 2 * few.LIMIT or few.fits_for_now(n)
end

-- Whether s has the sizes of r, but n elements along d.
local function fits(s, r, d, n)
   if s.T ~= r.T or s.nd ~= r.nd then return false end
   for k = 1, r.nd do
      if s[2 * k - 1] ~= (k == d and n or r[2 * k - 1]) then return false end
   end
   return true
end

-- The loops over slices, for elements that are copied and for those that are added.
local function copy_slice(p, q, at, from, outer, inner, outer_step, inner_step, s_outer, s_inner, get)
   for _ = 1, outer do
      local to, other = at, from
      for _ = 1, inner do
         p[to] = get(q, other)
         to, other = to + inner_step, other + s_inner
      end
      at, from = at + outer_step, from + s_outer
   end
end
local function add_slice(p, q, at, from, outer, inner, outer_step, inner_step, s_outer, s_inner, get)
   for _ = 1, outer do
      local to, other = at, from
      for _ = 1, inner do
         p[to] = get(p, to) + get(q, other)
         to, other = to + inner_step, other + s_inner
      end
      at, from = at + outer_step, from + s_outer
   end
end

-- The slices of r at the indices of dimension d become those of s, or these are added to them.
local function write(r, d, index, s, of_slice, get)
   local n = index[1]
   if not fits(s, r, d, n) or not is_apart(r, s, index) then return false end
   local outer, inner, outer_step, step, inner_step = around(r, d)
   local s_outers, s_inners, s_outer, s_step, s_inner = around(s, d)
   if not outer or s_outers ~= outer or s_inners ~= inner then return false end
   local p, q, where, where_step, last = first_element(r), first_element(s), first_element(index), index[2],
      r[2 * d - 1]
   for k = 0, n - 1 do
      of_slice(p, q, (place(where, k * where_step, last) - 1) * step, k * s_step, outer, inner, outer_step, inner_step,
         s_outer, s_inner, get)
   end
   return true
end

function places.copy(r, d, index, s)
   return are_few(r, d, index) and write(r, d, index, s, copy_slice, r.T.real and r.T.get or read)
end

function places.add(r, d, index, s)
   return r.T.real and are_few(r, d, index) and write(r, d, index, s, add_slice, r.T.get)
end

-- The elements of r at the indices of dimension d become a number of its type.
function places.fill(r, d, index, value)
   if not are_few(r, d, index) or not (r.T.real or r.T.whole) or not is_apart(r, index) then return false end
   local outer, inner, outer_step, step, inner_step = around(r, d)
   if not outer then return false end
   local p, where, where_step, last = first_element(r), first_element(index), index[2], r[2 * d - 1]
   for k = 0, index[1] - 1 do
      local at = (place(where, k * where_step, last) - 1) * step
      for _ = 1, outer do
         local to = at
         for _ = 1, inner do
            p[to] = value
            to = to + inner_step
         end
         at = at + outer_step
      end
   end
   return true
end

return places
