-- The gradient of LookupTable's weight, and renormalisation of its rows.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local luajit, no = require('torch.core.ways').of_kernels()
local types = require 'torch.core.types'
local blas = require 'torch.luajit.blas'
local gates = require 'nn.shared.luajit.gates'
local arrays = require('torch.luajit.row_offsets').array
local of_sum = require('torch.luajit.norms').of_sum

local count, first_element = memory.count, memory.first_element

local MOST = 2 ^ 25 -- elements: PyTorch's index_add_ is slower at any size
local NO_PADDING = 0 / 0 -- equal to no index

-- The rows (from 1) that the indices name, as an array of n; 0 for index `padding`, also where it is out of range. They
-- are checked once and read from there: the indices' own memory may be written meanwhile. Returns nil and says why if
-- an index is out of range.
local array = arrays(ffi.typeof 'int32_t')
local function rows_of(index, rows, padding)
   if not gates.indices(index) then return nil end
   local p, step, n = first_element(index), index[2], index[1]
   local named = array('rows', n)
   for k = 0, n - 1 do
      local at = tonumber(p[k * step])
      if at == padding then
         at = 0
      elseif not (at >= 1 and at <= rows) then
         no 'an index out of range'
         return nil
      end
      named[k] = at
   end
   return named
end

-- How often each row occurs among n named ones: valid for rows that occur.
local function occurrences(named, n, rows)
   local counts = array('counts', rows + 1)
   if n < rows then
      for k = 0, n - 1 do counts[named[k]] = 0 end
   else
      ffi.fill(counts, 4 * (rows + 1))
   end
   for k = 0, n - 1 do counts[named[k]] = counts[named[k]] + 1 end
   return counts
end

-- Adds $factor times the rows of the gradient q to the n named rows of the weight p, except for row 0. counts: how
-- often each occurs, or nil. routine: BLAS's, or nil.
local ADD_ROWS = [[
   return function(p, q, named, n, columns, scale, counts, routine)
      for k = 0, n - 1 do
         local at = named[k]
         if at > 0 then
            local to, from, factor = (at - 1) * columns, k * columns, $factor
            if routine then
               add(routine, columns, q + from, p + to, factor)
            else
               for j = 0, columns - 1 do p[to + j] = get(p, to + j) + to_type(factor * get(q, from + j)) end
            end
         end
      end
   end
]]
local function adding(factor)
   return types.compiled('nn.linear.luajit.lookup', ADD_ROWS, { factor = factor, add = blas.add })
end
local add_rows, add_by_frequency = adding 'scale', adding 'to_type(scale / counts[at])'

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
   local named = rows_of(index, weight[1], padding)
   if not named then return false end
   scale = T.cast(scale)
   local counts = by_frequency and occurrences(named, n, weight[1])
   local routine = scale ~= 0 and blas.is_enough(n * columns) and blas.of_rows(T)
   local add = by_frequency and add_by_frequency or add_rows
   add(T)(first_element(weight), first_element(gradient), named, n, columns, scale, counts, routine)
   return true
end

-- Scales each of the n named rows of the weight q whose left[row] is not zero to a p-norm of at most `maximum`.
local RENORM = [[
   return function(q, named, n, columns, maximum, p, left)
      for k = 0, n - 1 do
         local at = named[k]
         if left[at] > 0 then -- each row only once
            left[at] = 0
            local first, sum = (at - 1) * columns, 0
            for j = first, first + columns - 1 do
               local x = abs(get(q, j))
               sum = sum + (p == 1 and x or p == 2 and x * x or x ^ p)
            end
            local norm = of_sum(sum, p)
            if norm > maximum then
               local factor = maximum / (norm + 1e-7)
               for j = first, first + columns - 1 do q[j] = get(q, j) * factor end
            end
         end
      end
   end
]]

local renorm = types.compiled('nn.linear.luajit.lookup', RENORM, { of_sum = of_sum })

function luajit.lookup_renorm(weight, index, maximum, p)
   if not (p > 0 and p < math.huge) then return no 'a norm that is neither finite nor above 0' end
   if not fits(weight, index) then return false end
   local n, rows = index[1], weight[1]
   local named = rows_of(index, rows, NO_PADDING)
   if not named then return false end
   renorm(weight.T)(first_element(weight), named, n, weight[3], maximum, p, occurrences(named, n, rows))
   return true
end
