-- Cross products of few vectors in LuaJIT. Each product is rounded, as in lua_compat/kernels/construction.py.
local memory = require 'torch.core.memory'
local may_overlap = require('torch.core.overlap').may_overlap
local no = require('torch.core.ways').no
local few = require 'torch.luajit.elementwise'
local outer_and_inner = require('torch.luajit.along_a_dimension').outer_and_inner

local first_element = memory.first_element

local triples = {}

local MOST = 4 -- times few.LIMIT elements: one loop replaces several operators of PyTorch

local function as_it_is(v) return v end

-- Sets r, of a's and b's sizes, to their cross products along d; false, with nothing done, if Python has to compute.
function triples.cross(r, a, b, d)
   local T = r.T
   if not (T.real or T.whole) or memory.count(a) > MOST * few.LIMIT or may_overlap(r, a) or may_overlap(r, b) then
      return no 'many elements, or a result that shares memory'
   end
   local outer, inner, r_outer, r_step, r_inner = outer_and_inner(r, d)
   local a_outers, _, a_outer, a_step, a_inner = outer_and_inner(a, d)
   local b_outers, _, b_outer, b_step, b_inner = outer_and_inner(b, d)
   if not (outer and a_outers and b_outers) then return no 'dimensions that two loops cannot follow' end
   local get, round = T.get_as_c, T.real and T.size < 8 and T.cast or as_it_is
   local p, q, u, i = first_element(r), first_element(a), first_element(b), 0
   local at, from, other = 0, 0, 0
   for _ = 1, outer * inner do
      local a1, a2, a3 = get(q, from), get(q, from + a_step), get(q, from + 2 * a_step)
      local b1, b2, b3 = get(u, other), get(u, other + b_step), get(u, other + 2 * b_step)
      p[at] = round(a2 * b3) - round(a3 * b2)
      p[at + r_step] = round(a3 * b1) - round(a1 * b3)
      p[at + 2 * r_step] = round(a1 * b2) - round(a2 * b1)
      at, from, other, i = at + r_inner, from + a_inner, other + b_inner, i + 1
      if i == inner then
         at, from, other, i = at + r_outer - inner * r_inner, from + a_outer - inner * a_inner,
            other + b_outer - inner * b_inner, 0
      end
   end
   return true
end

return triples
