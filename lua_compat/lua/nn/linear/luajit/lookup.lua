-- The gradient of LookupTable's weight, and renormalisation of its rows.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local few = require 'torch.luajit.elementwise'
local ways = require 'torch.core.ways'
local templates = require 'torch.core.templates'
local types = require 'torch.core.types'
local blas = require 'torch.luajit.blas'
local gates = require 'nn.shared.luajit.gates'
local all_within = require 'nn.shared.luajit.indices'
local new_room = require 'torch.core.scratch'

local luajit, no = ways.luajit, ways.no
local count, first_element, place = memory.count, memory.first_element, few.place

local MOST = 2 ^ 25 -- elements: PyTorch's index_add_ is slower at any size

-- Counts how often each of n rows (from 1) occurs among the indices at `places`, `step` apart. The counts, in a scratch
-- buffer, are valid for rows that occur.
local room = new_room()
local function occurrences(places, step, n, rows)
   local counts = ffi.cast('int32_t *', room('counts', 4 * (rows + 1)))
   if n < rows then
      for k = 0, n - 1 do counts[place(places, k * step, rows)] = 0 end
   else
      ffi.fill(counts, 4 * (rows + 1))
   end
   for k = 0, n - 1 do
      local at = place(places, k * step, rows)
      counts[at] = counts[at] + 1
   end
   return counts
end

-- Adds scale times the rows of `gradient` to the rows of `weight` that `index` names, except for index `padding`.
-- counts: nil, or the divisor for each row. routine: BLAS's, or nil. It is compiled for each type: LuaJIT's traces for
-- a second type in one function are slow.
local ADD_ROWS = [[
   return function(weight, gradient, index, padding, scale, counts, routine)
      local p, q, places, step = first_element(weight), first_element(gradient), first_element(index), index[2]
      local rows, columns = weight[1], weight[3]
      for k = 0, index[1] - 1 do
         if tonumber(places[k * step]) ~= padding then
            local at = place(places, k * step, rows)
            local to, from, factor = (at - 1) * columns, k * columns, counts and round(scale / counts[at]) or scale
            if routine then
               add(routine, columns, q + from, p + to, factor)
            else
               for j = 0, columns - 1 do p[to + j] = get(p, to + j) + round(factor * get(q, from + j)) end
            end
         end
      end
   end
]]
local function for_each_type(text)
   return templates.for_each(types.codes_of_reals, function(code)
      local T = types[code]
      local given = { get = T.get, round = T.cast, place = place, first_element = first_element, add = blas.add }
      return templates.compile('nn.linear.luajit.lookup', text, {}, given)
   end)
end

local add_rows = for_each_type(ADD_ROWS)

-- Whether a layer's weight has rows, and the indices are a vector.
local function fits(weight, index)
   if weight.nd ~= 2 or index.nd ~= 1 then return no 'not a matrix, or not a vector of indices' end
   return gates.typed(weight.T, weight) and gates.few(index[1] * weight[3], MOST) and gates.plain(weight, weight.T)
end

function luajit.lookup_grad_weight(weight, index, gradient, padding, scale, by_frequency)
   if not fits(weight, index) then return false end
   local T, n, columns = weight.T, index[1], weight[3]
   if count(gradient) ~= n * columns then return no 'tensors of different sizes' end
   if not gates.plain(gradient, T) or not gates.apart(weight, gradient) then return false end
   padding = padding >= 0 and math.floor(padding) or math.ceil(padding)
   if not all_within(index, n, weight[1], not by_frequency and padding) then return false end
   scale = T.cast(scale)
   local counts = by_frequency and occurrences(first_element(index), index[2], n, weight[1])
   local routine = scale ~= 0 and blas.is_enough(n * columns) and blas.of_rows(T)
   add_rows(T.host.code)(weight, gradient, index, padding, scale, counts, routine)
   return true
end

-- Scales each row of weight that index names and whose left[row] is not zero to a p-norm of at most `maximum`.
local RENORM = [[
   -- The p-norm of n numbers from q[first] on
   local function norm_of(q, first, n, p)
      local sum = 0
      if p == 1 then
         for j = first, first + n - 1 do sum = sum + abs(get(q, j)) end
         return sum
      end
      if p == 2 then
         for j = first, first + n - 1 do
            local x = get(q, j)
            sum = sum + x * x
         end
         return (sqrt(sum))
      end
      for j = first, first + n - 1 do sum = sum + abs(get(q, j)) ^ p end
      return sum ^ (1 / p)
   end

   return function(weight, index, maximum, p, left)
      local q, places, step, columns = first_element(weight), first_element(index), index[2], weight[3]
      for k = 0, index[1] - 1 do
         local at = place(places, k * step, weight[1])
         if left[at] > 0 then -- each row only once
            left[at] = 0
            local first = (at - 1) * columns
            local norm = norm_of(q, first, columns, p)
            if norm > maximum then
               local factor = maximum / (norm + 1e-7)
               for j = first, first + columns - 1 do q[j] = get(q, j) * factor end
            end
         end
      end
   end
]]

local renorm = for_each_type(RENORM)

function luajit.lookup_renorm(weight, index, maximum, p)
   if not (p > 0 and p < math.huge) then return no 'a norm that is neither finite nor above 0' end
   if not fits(weight, index) or not all_within(index, index[1], weight[1]) then return false end
   local left = occurrences(first_element(index), index[2], index[1], weight[1])
   renorm(weight.T.host.code)(weight, index, maximum, p, left)
   return true
end
