-- Few elements along a dimension, computed here: sums and extrema of each row, and rows selected by their indices. Each of
-- these gives false, with nothing done, where it is for Python; what the results are, the kernels say.
local math = require('th.own').math
local ffi = require 'ffi'
local types = require 'torch.types'
local memory = require 'torch.memory'
local few = require 'torch.few'
local compiled = require 'torch.compiled'

local count, is_contiguous, root_of = memory.count, memory.is_contiguous, memory.root
local copy, tonumber = ffi.copy, tonumber

local place = few.place

local along = {}

-- As many elements cost about as much in Python as here.
local MOST = 8192
local function small(t) return count(t) <= (few.LIMIT > 0 and MOST or 0) and t.T.real end

-- A tensor as outer x n x inner elements, n of them along dimension d: the numbers of the other two, and the steps in all
-- three. nil where two loops cannot follow the dimensions on one side of d.
local function outer_and_inner(t, d)
   local nd = t.nd
   if nd == 1 then return 1, 1, 0, t[2], 0 end
   if nd == 2 then
      if d == 1 then return 1, t[3], 0, t[2], t[4] end
      return t[1], 1, t[2], t[4], 0
   end
   if not is_contiguous(t) then return nil end
   local inner = 1
   for k = d + 1, nd do inner = inner * t[2 * k - 1] end
   local n = t[2 * d - 1]
   return count(t) / (inner * n), inner, n * inner, inner, 1
end

-- `result` begins as START, BODY goes on with x at index k (from 0), and WRITE leaves it at p[to].
local LOOPS = [[
   local count, outer_and_inner, small, root_of, sqrt = ...
   return function(r, l, t, d, v)
      local n = t[2 * d - 1]
      if not small(t) or root_of(r.S) == root_of(t.S) then return false end
      local outer, inner, t_outer, step, t_inner = outer_and_inner(t, d)
      local r_outers, r_inners, r_outer, _, r_inner = outer_and_inner(r, d)
      if not outer or r_outers ~= outer or r_inners ~= inner then return false end
      local p, q, positions, get = r.S.p + r.off, t.S.p + t.off, l and l.S.p + l.off, t.T.get
      for o = 0, outer - 1 do
         for i = 0, inner - 1 do
            local from, to = o * t_outer + i * t_inner, o * r_outer + i * r_inner
            local result, place = START, 0
            for k = 0, n - 1 do
               local x = get(q, from + k * step)
               BODY
            end
            WRITE
         end
      end
      return true
   end
]]

local function loops(start, body, write)
   local parts = { START = start, BODY = body, WRITE = write }
   return compiled.from_text(LOOPS:gsub('%f[%w]%u%u%u%u+%f[%W]', parts), 'torch.few')(count, outer_and_inner, small,
      root_of, math.sqrt)
end

-- r = the sums, products, means of t along d: function(r, nil, t, d).
along.sum = loops('0', 'result = result + x', 'p[to] = result')
along.prod = loops('1', 'result = result * x', 'p[to] = result')
along.mean = loops('0', 'result = result + x', 'p[to] = result / n')

-- r = the Euclidean lengths of t's rows along d
along.length = loops('0', 'result = result + x * x', 'p[to] = sqrt(result)')

-- r = the extrema, l = their positions, both contiguous: function(r, l, t, d). A NaN counts as greater and as less than
-- anything, the first of equal elements comes first.
for name, relation in pairs{ max = '<=', min = '>=' } do
   local run = loops('get(q, from)', ('if not (x %s result) and result == result then result, place = x, k end'):format(relation),
      'p[to], positions[to] = result, place + 1')
   along[name] = function(r, l, t, d) return is_contiguous(r) and is_contiguous(l) and run(r, l, t, d) end
end

-- Whether an index is none of 1 to size; nil where that is for Python.
function along.out_of_range(index, size)
   local n = index.nd == 1 and index[1] or 0
   if n == 0 or n > few.LIMIT or index.T.host ~= types.Long then return nil end
   local p, step = index.S.p + index.off, index[2]
   for k = 0, n - 1 do
      local at = tonumber(p[k * step])
      if not (at >= 1 and at <= size) then return true end
   end
   return false
end

-- r = the slices of t at the indices (which are in range) of dimension d.
local COPIED_AT_ONCE = 2 ^ 16 -- bytes
function along.select(r, t, d, index)
   local T, n = r.T, index[1]
   if not T.here or index.T.host ~= types.Long or n > few.LIMIT or not is_contiguous(r) then return false end
   local root = root_of(r.S)
   if root == root_of(t.S) or root == root_of(index.S) then return false end
   local places, place_step = index.S.p + index.off, index[2]
   local p, q = r.S.p + r.off, t.S.p + t.off
   local elements, last = count(r), t[2 * d - 1]
   if d == 1 and elements * T.size <= COPIED_AT_ONCE and is_contiguous(t) then
      local size = elements / n
      for k = 0, n - 1 do
         copy(p + k * size, q + (place(places, k * place_step, last) - 1) * size, size * T.size)
      end
      return true
   end
   if t.nd ~= 2 or not few.small(r, elements) then return false end
   local get, rows, columns, row, column = T.get, r[1], r[3], t[2], t[4]
   for i = 0, rows - 1 do
      for j = 0, columns - 1 do
         local at = place(places, (d == 1 and i or j) * place_step, last) - 1
         p[i * columns + j] = d == 1 and get(q, at * row + j * column) or get(q, i * row + at * column)
      end
   end
   return true
end

return along
