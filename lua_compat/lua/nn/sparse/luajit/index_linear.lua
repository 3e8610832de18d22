-- Linear layers of sparse inputs given as keys and values, in LuaJIT, for any number of keys: adding one row of the
-- weight for each key is too little work for a call of Python's operators. Only weights as wide as the outputs, without
-- decay; others are left to Python.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local blas = require 'torch.luajit.blas'
local luajit, no = require('torch.core.ways').of_kernels()
local gates = require 'nn.shared.luajit.gates'
local all_within = require 'nn.shared.luajit.indices'

local tonumber = tonumber
local count, first_element, plain, apart = memory.count, memory.first_element, gates.plain, gates.apart

-- The number of columns of a weight, if it fits the bias; nil if Python has to compute.
local function columns_of(weight, bias, values)
   local T, outputs = weight.T, count(bias)
   if weight.nd ~= 2 or weight[3] ~= outputs then return no 'a weight that is not as wide as the outputs' end
   return gates.typed(T, weight, bias, values) and plain(weight, T) and gates.vector(bias, T, outputs)
      and gates.routine(T) and outputs
end

-- Whether all elements of the vector t, of whole numbers, are in first..last.
local function are_within(t, first, last)
   return gates.indices(t) and gates.vector(t, t.T, t[1]) and all_within(t, t[1], last, nil, first)
end

-- Whether keys, plus an offset, are rows of a weight (from 0).
local function are_rows(keys, offset, weight)
   return offset % 1 == 0 and are_within(keys, -offset, weight[1] - 1 - offset) or no 'an offset that is not whole'
end

-- Whether the vector holds the number of keys of each example, n in total.
local function are_sizes(sizes, n)
   if not are_within(sizes, 0, n) then return false end
   local p, sum = sizes.S.p + sizes.off, 0
   for e = 0, sizes[1] - 1 do sum = sum + tonumber(p[e]) end
   return sum == n or no 'sizes that are not those of the keys'
end

-- Sums at p, over n keys, the rows at q (key 0's row) times the values at u.
local function sum_rows(T, p, q, u, keys, n, columns)
   ffi.fill(p, columns * T.size)
   local routine = blas.of_rows(T)
   for k = 0, n - 1 do blas.add(routine, columns, q + tonumber(keys[k]) * columns, p, T.get(u, k)) end
end

function luajit.index_linear(out, _, keys, values, sizes, weight, bias, offset)
   local T, n = weight.T, count(keys)
   local columns = columns_of(weight, bias, values)
   if not (columns and gates.vector(values, T, n) and gates.typed(T, out) and are_rows(keys, offset, weight)
      and are_sizes(sizes, n) and apart(out, weight, bias, values) and apart(out, keys, sizes)
      and gates.resized(out, 2, { sizes[1], columns })) then
      return false
   end
   local get, p, q, u, at = T.get, first_element(out), first_element(weight), first_element(values), first_element(keys)
   local b, s = first_element(bias), first_element(sizes)
   q = q + offset * columns
   for e = 0, sizes[1] - 1 do
      local of_example = tonumber(s[e])
      local row = p + e * columns
      sum_rows(T, row, q, u, at, of_example, columns)
      for j = 0, columns - 1 do row[j] = get(row, j) + get(b, j) end
      u, at = u + of_example, at + of_example
   end
   return true
end

-- p = p + factor * the sums of the columns at q.
local function add_sums(T, p, q, rows, columns, factor)
   local get = T.get
   for j = 0, columns - 1 do
      local sum = 0
      for e = 0, rows - 1 do sum = sum + get(q, e * columns + j) end
      p[j] = get(p, j) + factor * sum
   end
end

-- Writes n rows to p: what is at q, times each row's value and a factor.
local function scale_row(T, p, q, u, n, columns, factor)
   local get = T.get
   for k = 0, n - 1 do
      local row, value = p + k * columns, factor * get(u, k)
      for j = 0, columns - 1 do row[j] = get(q, j) * value end
   end
end

function luajit.index_linear_grad_parameters(grad_weight, grad_bias, values, sizes, grad_output, weight, scale)
   local T, n, columns = weight.T, count(values), columns_of(weight, grad_bias, values)
   if not (columns and gates.vector(values, T, n) and are_sizes(sizes, n) and plain(grad_output, T)
      and gates.typed(T, grad_weight)) then
      return false
   end
   local examples = sizes[1]
   if count(grad_output) ~= examples * columns then return no 'tensors of different sizes' end
   if not (apart(grad_weight, values, sizes, grad_output) and apart(grad_weight, grad_bias)
      and apart(grad_bias, values, sizes, grad_output) and gates.resized(grad_weight, 2, { n, columns })) then
      return false
   end
   local p, q, u, s = first_element(grad_weight), first_element(grad_output), first_element(values),
      first_element(sizes)
   add_sums(T, first_element(grad_bias), q, examples, columns, scale)
   for e = 0, examples - 1 do
      local of_example = tonumber(s[e])
      scale_row(T, p, q + e * columns, u, of_example, columns, scale)
      p, u = p + of_example * columns, u + of_example
   end
   return true
end

-- Adds factor times the rows at q to the rows of n keys in a weight (at p: key 0's row). step: the rows' width, or 0
-- for one row used for all keys. u: values to multiply by, or nil.
local function add_rows(weight, p, q, step, u, keys, n, factor)
   local routine, columns, get = blas.of_rows(weight.T), weight[3], weight.T.get
   for k = 0, n - 1 do
      blas.add(routine, columns, q + k * step, p + tonumber(keys[k]) * columns, u and factor * get(u, k) or factor)
   end
end

function luajit.index_linear_update_parameters(grad_weight, grad_bias, weight, bias, keys, offset, decay, rate)
   local T, n, columns = weight.T, count(keys), columns_of(weight, bias)
   if decay ~= 0 then return no 'a decay of the weight' end
   if not (columns and gates.vector(grad_bias, T, columns) and plain(grad_weight, T)) then return false end
   if grad_weight.nd ~= 2 or grad_weight[1] ~= n or grad_weight[3] ~= columns then
      return no 'gradients of other sizes'
   end
   if not (are_rows(keys, offset, weight) and apart(weight, grad_weight, bias, keys) and apart(weight, grad_bias)
      and apart(bias, grad_weight, grad_bias, keys)) then
      return false
   end
   add_sums(T, first_element(bias), first_element(grad_bias), 1, columns, -rate)
   add_rows(weight, first_element(weight) + offset * columns, first_element(grad_weight), columns, nil,
      first_element(keys), n, -rate)
   return true
end

function luajit.index_linear_update(keys, values, sizes, grad_output, weight, bias, offset, decay, rate)
   local T, n, columns = weight.T, count(keys), columns_of(weight, bias, values)
   if decay ~= 0 then return no 'a decay of the weight' end
   if not (columns and gates.vector(values, T, n) and plain(grad_output, T) and are_rows(keys, offset, weight)
      and are_sizes(sizes, n)) then
      return false
   end
   local examples = sizes[1]
   if count(grad_output) ~= examples * columns then return no 'tensors of different sizes' end
   if not (apart(weight, values, keys, sizes) and apart(weight, grad_output, bias) and apart(bias, values, keys, sizes)
      and apart(bias, grad_output)) then
      return false
   end
   local p, q, u = first_element(weight) + offset * columns, first_element(grad_output), first_element(values)
   local at, s = first_element(keys), first_element(sizes)
   add_sums(T, first_element(bias), q, examples, columns, -rate)
   for e = 0, examples - 1 do
      local of_example = tonumber(s[e])
      add_rows(weight, p, q + e * columns, 0, u, at, of_example, -rate)
      u, at = u + of_example, at + of_example
   end
   return true
end
