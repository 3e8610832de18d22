-- Linear layers of sparse inputs that are given as keys and values, computed here, however many
-- keys there are: a row of the weight for each, added to another, is too little work for a call of Python's operators
-- to be faster. With weights as wide as the outputs, without decay; others are Python's.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local few = require 'torch.luajit.elementwise'
local blas = require 'torch.luajit.blas'
local types = require 'torch.core.types'
local templates = require 'torch.core.templates'
local ways = require 'torch.core.ways'
local rooms = require 'nn.shared.luajit.scratch'
local is_apart = require('torch.core.overlap').is_apart

local luajit = ways.luajit
local tonumber = tonumber
local count, plain = memory.count, rooms.plain

local WIDE = 9 -- columns, from which on the BLAS adds a row faster than LuaJIT

local function is_vector(t, T, n) return plain(t, T) and t.nd == 1 and (not n or t[1] == n) end

-- The columns of a weight of which rows are added in LuaJIT; nil where that is for Python.
local function columns_of(weight, outputs)
   local T = weight.T
   if few.LIMIT == 0 or not T.real or not T.here or weight.nd ~= 2 or not plain(weight, T) or weight[3] ~= outputs then
      return nil
   end
   if outputs >= WIDE and not blas.of_rows(T) then return nil end
   return outputs
end

-- Whether the vector t of whole numbers has all of them from first to last.
local function are_within(t, first, last)
   if t.T.host ~= types.Long or not t.T.here or not is_vector(t, t.T) then return false end
   local p, least, most = t.S.p + t.off, first, last
   for k = 0, t[1] - 1 do
      local at = tonumber(p[k])
      if at < least then least = at end
      if at > most then most = at end
   end
   return least == first and most == last
end

-- Whether keys, with an offset, are rows of a weight, from 0.
local function are_rows(keys, offset, weight)
   return offset % 1 == 0 and are_within(keys, -offset, weight[1] - 1 - offset)
end

-- Whether the vector says how many keys each of some examples has, n together.
local function are_sizes(sizes, n)
   if not are_within(sizes, 0, n) then return false end
   local p, sum = sizes.S.p + sizes.off, 0
   for e = 0, sizes[1] - 1 do sum = sum + tonumber(p[e]) end
   return sum == n
end

-- Adds factor times the `columns` numbers at `from` to those at `to`.
local function add_row(T, columns, from, to, factor) blas.add(blas.of_rows(T), columns, from, to, factor) end

-- Fewer columns are written out for each number of them: LuaJIT enters a loop over columns anew for each row.
local function written_out(text)
   local all = {}
   for columns = 1, WIDE - 1 do all[columns] = columns end
   return templates.for_each(all, function(columns)
      return templates.compile('nn.sparse.luajit.index_linear', text, { columns = columns })
   end)
end

local sum_few = written_out [[
   return function(get, p, q, u, keys, offset, n)
      local $each($columns){s@}
      $each($columns){s@} = $each($columns){0}
      for k = 0, n - 1 do
         local at, value = (tonumber(keys[k]) + offset) * $columns, get(u, k)
         $each($columns){s@} = $each($columns){s@ + value * get(q, at + @)}
      end
      $each($columns){p[@]} = $each($columns){s@}
   end
]]

-- The sums at p of the rows at q, of n keys times their values at u.
local function sum_rows(T, p, q, u, keys, offset, n, columns)
   local get = T.get
   if columns < WIDE then return sum_few(columns)(get, p, q, u, keys, offset, n) end
   for j = 0, columns - 1 do p[j] = 0 end
   for k = 0, n - 1 do add_row(T, columns, q + (tonumber(keys[k]) + offset) * columns, p, get(u, k)) end
end

function luajit.index_linear(out, _, keys, offset, values, sizes, weight, bias)
   local T, n = weight.T, count(keys)
   local columns = columns_of(weight, count(bias))
   if not columns or not is_vector(values, T, n) or not is_vector(bias, T) or out.T ~= T then return false end
   if not are_rows(keys, offset, weight) or not are_sizes(sizes, n) then return false end
   if not (is_apart(out, weight, bias, values) and is_apart(out, keys, sizes)) then return false end
   local examples, get = sizes[1], T.get
   memory.resize(out, 2, { examples, columns })
   if not plain(out, T) then return false end
   local p, q, u, at = out.S.p + out.off, weight.S.p + weight.off, values.S.p + values.off, keys.S.p + keys.off
   local b, s = bias.S.p + bias.off, sizes.S.p + sizes.off
   for e = 0, examples - 1 do
      local of_example = tonumber(s[e])
      local row = p + e * columns
      sum_rows(T, row, q, u, at, offset, of_example, columns)
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

local scale_few = written_out [[
   return function(get, p, q, u, n, factor)
      local $each($columns){s@}
      $each($columns){s@} = $each($columns){factor * get(q, @)}
      for k = 0, n - 1 do
         local at, value = k * $columns, get(u, k)
         $each($columns){p[at + @]} = $each($columns){s@ * value}
      end
   end
]]

-- Gives n rows at p what is at q, times the rows' values and a factor.
local function scale_row(T, p, q, u, n, columns, factor)
   local get = T.get
   if columns < WIDE then return scale_few(columns)(get, p, q, u, n, factor) end
   local routine, bytes = blas.of_rows(T), columns * T.size
   for k = 0, n - 1 do
      local row, value = p + k * columns, factor * get(u, k)
      if value ~= 0 then
         ffi.copy(row, q, bytes)
         blas.scale(routine, columns, row, value)
      else
         for j = 0, columns - 1 do row[j] = get(q, j) * value end
      end
   end
end

function luajit.index_linear_grad_parameters(grad_weight, grad_bias, values, sizes, grad_output, weight, scale)
   local T, n, columns = weight.T, count(values), columns_of(weight, count(grad_bias))
   if not columns or not is_vector(values, T) or not is_vector(grad_bias, T) or not are_sizes(sizes, n) then
      return false
   end
   local examples = sizes[1]
   if not plain(grad_output, T) or count(grad_output) ~= examples * columns or grad_weight.T ~= T then return false end
   if not (is_apart(grad_weight, values, sizes, grad_output) and is_apart(grad_weight, grad_bias)) then return false end
   if not is_apart(grad_bias, values, sizes, grad_output) then return false end
   memory.resize(grad_weight, 2, { n, columns })
   if not plain(grad_weight, T) then return false end
   local p, q, u, s = grad_weight.S.p + grad_weight.off, grad_output.S.p + grad_output.off, values.S.p + values.off,
      sizes.S.p + sizes.off
   add_sums(T, grad_bias.S.p + grad_bias.off, q, examples, columns, scale)
   for e = 0, examples - 1 do
      local of_example = tonumber(s[e])
      scale_row(T, p, q + e * columns, u, of_example, columns, scale)
      p, u = p + of_example * columns, u + of_example
   end
   return true
end

local add_few = written_out [[
   return function(get, p, q, step, u, keys, offset, n, factor)
      local value = factor
      for k = 0, n - 1 do
         local to, from = (tonumber(keys[k]) + offset) * $columns, k * step
         if u then value = factor * get(u, k) end
         $each($columns){p[to + @]} = $each($columns){get(p, to + @) + value * get(q, from + @)}
      end
   end
]]

-- Adds factor times the rows at q, one after the other (step: their width), or one row for all (0), to those of n keys
-- at p; times their values at u, where there are any.
local function add_rows(T, p, q, step, u, keys, offset, n, columns, factor)
   local get = T.get
   if columns < WIDE then return add_few(columns)(get, p, q, step, u, keys, offset, n, factor) end
   for k = 0, n - 1 do
      add_row(T, columns, q + k * step, p + (tonumber(keys[k]) + offset) * columns, u and factor * get(u, k) or factor)
   end
end

function luajit.index_linear_update_parameters(grad_weight, grad_bias, weight, bias, keys, offset, decay, rate)
   local T, n, columns = weight.T, count(keys), columns_of(weight, count(bias))
   if not columns or decay ~= 0 or not is_vector(bias, T) or not is_vector(grad_bias, T, columns)
      or not plain(grad_weight, T) then
      return false
   end
   if grad_weight.nd ~= 2 or grad_weight[1] ~= n or grad_weight[3] ~= columns then return false end
   if not are_rows(keys, offset, weight) or not is_apart(weight, grad_weight, bias, keys) then return false end
   if not is_apart(weight, grad_bias) or not is_apart(bias, grad_weight, grad_bias, keys) then return false end
   add_sums(T, bias.S.p + bias.off, grad_bias.S.p + grad_bias.off, 1, columns, -rate)
   add_rows(T, weight.S.p + weight.off, grad_weight.S.p + grad_weight.off, columns, nil, keys.S.p + keys.off, offset, n,
      columns, -rate)
   return true
end

function luajit.index_linear_update(keys, offset, values, sizes, grad_output, weight, bias, decay, rate)
   local T, n, columns = weight.T, count(keys), columns_of(weight, count(bias))
   if not columns or decay ~= 0 or not is_vector(bias, T) or not is_vector(values, T, n)
      or not plain(grad_output, T) then
      return false
   end
   if not are_rows(keys, offset, weight) or not are_sizes(sizes, n) then return false end
   local examples = sizes[1]
   if count(grad_output) ~= examples * columns or not is_apart(weight, values, keys, sizes) then return false end
   if not is_apart(weight, grad_output, bias) or not (is_apart(bias, values, keys, sizes)
      and is_apart(bias, grad_output)) then
      return false
   end
   local p, q, u = weight.S.p + weight.off, grad_output.S.p + grad_output.off, values.S.p + values.off
   local at, s = keys.S.p + keys.off, sizes.S.p + sizes.off
   add_sums(T, bias.S.p + bias.off, q, examples, columns, -rate)
   for e = 0, examples - 1 do
      local of_example = tonumber(s[e])
      add_rows(T, p, q + e * columns, 0, u, at, offset, of_example, columns, -rate)
      u, at = u + of_example, at + of_example
   end
   return true
end
