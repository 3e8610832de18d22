-- Gradients of LookupTable's weights, and the norms of its rows.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local overlap = require 'torch.core.overlap'
local few = require 'torch.luajit.elementwise'
local ways = require 'torch.core.ways'
local blas = require 'torch.luajit.blas'
local all_within = require 'nn.shared.luajit.indices'
local new_room = require 'torch.core.scratch'

local luajit = ways.luajit
local count, is_contiguous, first_element = memory.count, memory.is_contiguous, memory.first_element
local is_apart = overlap.is_apart
local tonumber, place, abs, sqrt = tonumber, few.place, math.abs, math.sqrt

local MOST = 8 -- times few.LIMIT elements: several operators of PyTorch stand against one loop

-- How often each of n rows, from 1, occurs among those at places, step apart: in a room, for those that occur.
local room = new_room()
local function occurrences(places, step, n, rows)
   local counts = ffi.cast('int32_t *', room('counts', 4 * (rows + 1)))
   for k = 0, n - 1 do counts[place(places, k * step, rows)] = 0 end
   for k = 0, n - 1 do
      local at = place(places, k * step, rows)
      counts[at] = counts[at] + 1
   end
   return counts
end

local function lookup_grad_weight(weight, index, gradient, padding, scale, by_frequency)
   local T = weight.T
   if weight.nd ~= 2 or index.nd ~= 1 or gradient.T ~= T or not T.real then return false end
   local n, columns = index[1], weight[3]
   if n * columns > MOST * few.LIMIT or count(gradient) ~= n * columns or not is_apart(weight, gradient) then
      return false
   end
   if not (is_contiguous(gradient) and is_contiguous(weight)) then return false end
   padding = padding >= 0 and math.floor(padding) or math.ceil(padding)
   if not all_within(index, n, weight[1], not by_frequency and padding) then return false end
   local get, cast = T.get, T.cast
   local p, q, places, step = first_element(weight), first_element(gradient), first_element(index), index[2]
   scale = cast(scale)
   local counts = by_frequency and occurrences(places, step, n, weight[1])
   local routine = scale ~= 0 and blas.is_enough(n * columns) and blas.of_rows(T)
   for k = 0, n - 1 do
      if tonumber(places[k * step]) ~= padding then
         local at = place(places, k * step, weight[1])
         local to, from, factor = (at - 1) * columns, k * columns, counts and cast(scale / counts[at]) or scale
         if routine then
            blas.add(routine, columns, q + from, p + to, factor)
         else
            for j = 0, columns - 1 do p[to + j] = get(p, to + j) + cast(factor * get(q, from + j)) end
         end
      end
   end
   return true
end

-- The p-norm of the n numbers from q[from] on
local function norm_of(q, from, n, p, get)
   local sum = 0
   if p == 1 then
      for j = from, from + n - 1 do sum = sum + abs(get(q, j)) end
      return sum
   end
   if p == 2 then
      for j = from, from + n - 1 do sum = sum + get(q, j) * get(q, j) end
      return (sqrt(sum))
   end
   for j = from, from + n - 1 do sum = sum + abs(get(q, j)) ^ p end
   return sum ^ (1 / p)
end

local function lookup_renorm(weight, index, maximum, p)
   local T = weight.T
   if weight.nd ~= 2 or index.nd ~= 1 or not T.real or not T.here or not (p > 0 and p < math.huge) then return false end
   local n, columns = index[1], weight[3]
   if n * columns > MOST * few.LIMIT or not is_contiguous(weight) or not all_within(index, n, weight[1]) then
      return false
   end
   local q, places, step, get = first_element(weight), first_element(index), index[2], T.get
   local left = occurrences(places, step, n, weight[1])
   for k = 0, n - 1 do
      local at = place(places, k * step, weight[1])
      if left[at] > 0 then -- each row once
         left[at] = 0
         local from = (at - 1) * columns
         local norm = norm_of(q, from, columns, p, get)
         if norm > maximum then
            local factor = maximum / (norm + 1e-7)
            for j = from, from + columns - 1 do q[j] = get(q, j) * factor end
         end
      end
   end
   return true
end

luajit.lookup_grad_weight, luajit.lookup_renorm = lookup_grad_weight, lookup_renorm
