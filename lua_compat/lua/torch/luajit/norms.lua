-- Norms of few elements along a dimension, and slices rescaled to a norm, in LuaJIT (see elementwise.lua). Powers are
-- added up in the order of the elements, as in Torch7.
local ffi = require 'ffi'
local types = require 'torch.core.types'
local memory = require 'torch.core.memory'
local few = require 'torch.luajit.elementwise'
local templates = require 'torch.core.templates'
local outer_and_inner = require('torch.luajit.along_a_dimension').outer_and_inner
local is_apart = require('torch.core.overlap').is_apart
local room = require 'torch.core.scratch'()
local no = require('torch.core.ways').no

local count, first_element, is_contiguous = memory.count, memory.first_element, memory.is_contiguous

local norms = {}

-- The p-norm of numbers whose absolute values to the power p sum to `sum`. For p = 0 it is their count, for infinity
-- the largest.
function norms.of_sum(sum, p)
   if p == 1 or p == 0 or p == math.huge then return sum end
   return p == 2 and math.sqrt(sum) or sum ^ (1 / p)
end

-- The term for x in the sum, by norm; other norms use the power.
local TERMS = { [0] = '(x ~= 0 and 1 or 0)', 'abs(x)', 'x * x' }
local FURTHER = 3 -- index of the other norms in the list of kinds

-- Adds to `sums`, which start as zeros, the terms of t's elements: for each row along d, or for each slice (of_slices).
local SUMS = [[
   return function(sums, t, d, of_slices, v)
      local q, n, outer, inner, t_outer, step, t_inner = first_element(t), t[2 * d - 1], outer_and_inner(t, d)
      for o = 0, outer - 1 do
         for k = 0, n - 1 do
            local from, to, next = o * t_outer + k * step, of_slices and k or o * inner, of_slices and 0 or 1
            for _ = 1, inner do
               local x = get(q, from)
               sums[to] = sums[to] + $term
               from, to = from + t_inner, to + next
            end
         end
      end
   end
]]
local keys = {}
for _, code in ipairs(types.codes_of_reals) do
   for kind = 0, FURTHER do keys[#keys + 1] = 4 * code + kind end
end
local sums_of = templates.for_each(keys, function(key)
   return templates.compile('torch.luajit.norms', SUMS, { get = types[math.floor(key / 4)].get,
      term = TERMS[key % 4] or 'abs(x) ^ v', first_element = first_element, outer_and_inner = outer_and_inner })
end)

-- A scratch buffer with the norms of t, along dimension d or of its slices, and their number; nil if Python has to
-- compute.
local function find(t, p, d, of_slices)
   local T, elements = t.T, count(t)
   if not T.real or not T.here or elements == 0 or not few.small(t, elements) or p - p ~= 0 then
      return no 'many elements, or a norm that is infinite'
   end
   local outer, inner = outer_and_inner(t, d)
   if not outer then return no 'dimensions that two loops cannot follow' end
   local n = t[2 * d - 1]
   local found = of_slices and n or outer * inner
   local sums = ffi.cast('double *', room('sums', 8 * found))
   ffi.fill(sums, 8 * found)
   sums_of(4 * T.host.code + (TERMS[p] and p or FURTHER))(sums, t, d, of_slices, p)
   for k = 0, found - 1 do sums[k] = norms.of_sum(sums[k], p) end
   return sums, found
end

-- r, of t's sizes but 1 along d, = the p-norms of t along d; false if Python has to compute.
function norms.along(r, t, p, d)
   if not is_contiguous(r) or not is_apart(r, t) then return no 'a result that is not contiguous or shares memory' end
   local sums, n = find(t, p, d)
   if not sums then return false end
   local to = first_element(r)
   for k = 0, n - 1 do to[k] = sums[k] end
   return true
end

-- r, of t's sizes, = t with the slices along d whose p-norm exceeds `maximum` scaled down to it. r may be t.
local SCALE = [[
   return function(r, t, d, sums, maximum)
      local p, q, outer, inner, t_outer, step, t_inner = first_element(r), first_element(t), outer_and_inner(t, d)
      local outers, inners, r_outer, r_step, r_inner = outer_and_inner(r, d)
      if outers ~= outer or inners ~= inner then return no 'dimensions that two loops cannot follow' end
      for k = 0, t[2 * d - 1] - 1 do
         local factor = sums[k] > maximum and to_type(maximum / (sums[k] + 1e-7)) or 1
         for o = 0, outer - 1 do
            local to, from = o * r_outer + k * r_step, o * t_outer + k * step
            for _ = 1, inner do
               p[to] = get(q, from) * factor
               to, from = to + r_inner, from + t_inner
            end
         end
      end
      return true
   end
]]
local scale_of = types.compiled('torch.luajit.norms', SCALE,
   { no = no, first_element = first_element, outer_and_inner = outer_and_inner })

function norms.renorm(r, t, p, d, maximum)
   if not is_apart(r, t) and not (r == t and is_contiguous(r)) then return no 'a result that shares memory' end
   local sums = find(t, p, d, true)
   return sums and scale_of(t.T)(r, t, d, sums, maximum)
end

return norms
