-- Few elements written at the indices of a dimension, computed here: what is written, the kernels say. Each gives
-- false, with nothing done, where that is for Python.
local types = require 'torch.core.types'
local memory = require 'torch.core.memory'
local is_apart = require('torch.core.overlap').is_apart
local templates = require 'torch.core.templates'
local no = require('torch.core.ways').no
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
   if not r.T.here or few.LIMIT == 0 or index.nd ~= 1 or index.T.host ~= types.Long then
      return no 'elements on a device, or indices of another type'
   end
   local n = of_slices(r, d, index[1])
   return n <= 2 * few.LIMIT or few.fits_for_now(n)
end

-- Whether s has the sizes of r, but n elements along d.
local function fits(s, r, d, n)
   if s.T ~= r.T or s.nd ~= r.nd then return no 'other types' end
   for k = 1, r.nd do
      if s[2 * k - 1] ~= (k == d and n or r[2 * k - 1]) then return no 'other sizes' end
   end
   return true
end

-- By type, what writes a value to each element of the slices of r at the indices of dimension d: of an element of s, of
-- which the slices lie one after the other, or the number v.
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
         first_element = first_element, no = no }, { get = T.real and T.get or read })
   end)
end
local copy, add, fill = writing 'get(q, other)', writing 'get(p, to) + get(q, other)', writing 'v'

-- Whether slices of s may be written to r.
local function may_write(r, d, index, s)
   return are_few(r, d, index) and fits(s, r, d, index[1]) and is_apart(r, s, index)
end

function places.copy(r, d, index, s)
   return may_write(r, d, index, s) and copy(r.T)(r, d, index, s)
end

function places.add(r, d, index, s)
   return r.T.real and may_write(r, d, index, s) and add(r.T)(r, d, index, s)
end

-- The elements of r at the indices of dimension d become a number of its type.
function places.fill(r, d, index, value)
   return (r.T.real or r.T.whole) and are_few(r, d, index) and is_apart(r, index)
      and fill(r.T)(r, d, index, r, value)
end

return places
