-- Linear layers of few listed numbers.
local ffi = require 'ffi'
local types = require 'torch.core.types'
local memory = require 'torch.core.memory'
local is_apart = require('torch.core.overlap').is_apart
local few = require 'torch.luajit.elementwise'
local ways = require 'torch.core.ways'

local luajit = ways.luajit
local first_element = memory.first_element

local MOST = 4 -- times few.LIMIT products

-- The dimensions of a list of entries: how many rows it has and in how many groups, the steps of both and of the three
-- numbers of an entry, of which the first, the row of the batch, is missing where groups are the rows.
local function layout(list, batch)
   if list.nd == 2 and list[3] == 3 then return 1, list[1], 0, list[2], list[4], 1 end
   if list.nd == 3 and list[5] == 2 and list[1] == batch then return list[1], list[3], list[2], list[4], list[6], 0 end
end

-- Whether all rows and columns that count are there.
local function are_there(q, get, groups, n, group, step, number, listed, batch, columns)
   for g = 0, groups - 1 do
      for k = 0, n - 1 do
         local at = g * group + k * step
         local row, column = listed == 1 and get(q, at) or g + 1, get(q, at + listed * number)
         local fits = row >= 1 and row <= batch and row % 1 == 0 and column >= 1 and column <= columns
            and column % 1 == 0
         if not fits and get(q, at + (listed + 1) * number) ~= 0 then return false end
      end
   end
   return true
end

function luajit.sparse_linear(out, list, batch, weight, bias)
   local T = weight.T
   if not T.real or out.T ~= T or list.T ~= T or bias.T ~= T or weight.nd ~= 2 or bias.nd ~= 1 or batch < 1 then
      return false
   end
   local outputs, columns = weight[1], weight[3]
   local groups, n, group, step, number, listed = layout(list, batch)
   if not groups or bias[1] ~= outputs or (groups * n + batch) * outputs > MOST * few.LIMIT then return false end
   if not is_apart(out, list, weight, bias) then return false end
   local get, cast, q, w, b = T.get, T.cast, first_element(list), first_element(weight), first_element(bias)
   if not are_there(q, get, groups, n, group, step, number, listed, batch, columns) then return false end
   if out.nd ~= 2 or out[1] ~= batch or out[3] ~= outputs then memory.resize(out, 2, { batch, outputs }) end
   if not memory.is_contiguous(out) then return false end
   local p = first_element(out)
   for i = 0, batch * outputs - 1 do p[i] = get(b, i % outputs * bias[2]) end
   for g = 0, groups - 1 do
      for k = 0, n - 1 do
         local at = g * group + k * step
         local value = get(q, at + (listed + 1) * number)
         if value ~= 0 then
            local to = (listed == 1 and get(q, at) - 1 or g) * outputs
            local from = (get(q, at + listed * number) - 1) * weight[4]
            for j = 0, outputs - 1 do p[to + j] = get(p, to + j) + cast(get(w, from + j * weight[2]) * value) end
         end
      end
   end
   return true
end

-- Adds the entries' parts of gradients to those of the weight, each entry's after another's.
local function add_entries(w, weight_row, weight_column, u, output_row, output_column, q, get, cast, groups, n, group,
   step, number, listed, outputs, scale)
   for g = 0, groups - 1 do
      for k = 0, n - 1 do
         local at = g * group + k * step
         local value = get(q, at + (listed + 1) * number)
         if value ~= 0 then
            local to = (get(q, at + listed * number) - 1) * weight_column
            local from, factor = (listed == 1 and get(q, at) - 1 or g) * output_row, cast(scale * value)
            for _ = 1, outputs do
               w[to] = get(w, to) + cast(factor * get(u, from))
               to, from = to + weight_row, from + output_column
            end
         end
      end
   end
end

function luajit.sparse_linear_grad_parameters(grad_weight, grad_bias, list, grad_output, weight, decay, scale)
   local T = weight.T
   if not T.real or grad_weight.T ~= T or grad_bias.T ~= T or list.T ~= T or grad_output.T ~= T or decay ~= 0 then
      return false
   end
   if weight.nd ~= 2 or grad_output.nd ~= 2 or grad_bias.nd ~= 1 or not memory.same_size(grad_weight, weight) then
      return false
   end
   local batch, outputs, columns = grad_output[1], weight[1], weight[3]
   local groups, n, group, step, number, listed = layout(list, batch)
   if not groups or grad_output[3] ~= outputs or grad_bias[1] ~= outputs
      or (groups * n + batch) * outputs > MOST * few.LIMIT then
      return false
   end
   if not (is_apart(grad_weight, list, grad_output, grad_bias) and is_apart(grad_bias, list, grad_output)) then
      return false
   end
   local get, cast, q, u = T.get, T.cast, first_element(list), first_element(grad_output)
   if not are_there(q, get, groups, n, group, step, number, listed, batch, columns) then return false end
   add_entries(first_element(grad_weight), grad_weight[2], grad_weight[4], u, grad_output[2], grad_output[4], q, get,
      cast, groups, n, group, step, number,
      listed, outputs, scale)
   local b = first_element(grad_bias)
   for j = 0, outputs - 1 do
      local sum = 0
      for i = 0, batch - 1 do sum = cast(sum + get(u, i * grad_output[2] + j * grad_output[4])) end
      b[j * grad_bias[2]] = get(b, j * grad_bias[2]) + cast(scale * sum)
   end
   return true
end

-- One byte for each column: 1 while it is among those found, 0 between calls but for one that Ctrl-C ended.
local MOST_COLUMNS = 2 ^ 22
local marks, room_for_marks, are_marked = ffi.new('uint8_t[?]', 1), 1, false

-- Writes the columns with entries that are not zero to p, each once; how many these are.
local function find_columns(p, q, get, groups, n, group, step, number, listed)
   local found = 0
   if are_marked then ffi.fill(marks, room_for_marks) end
   are_marked = true
   for g = 0, groups - 1 do
      for k = 0, n - 1 do
         local at = g * group + k * step + listed * number
         if get(q, at + number) ~= 0 then
            local column = get(q, at)
            if marks[column - 1] == 0 then
               marks[column - 1], p[found] = 1, column
               found = found + 1
            end
         end
      end
   end
   for k = 0, found - 1 do marks[tonumber(p[k]) - 1] = 0 end
   are_marked = false
   return found
end

function luajit.sparse_linear_columns(columns, list, weight)
   local groups, n, group, step, number, listed = layout(list, list.nd == 3 and list[1] or 0)
   if not groups or columns.T.host ~= types.Long or not columns.T.here or not list.T.real or not list.T.here
      or weight.nd ~= 2 then
      return false
   end
   local entries, of_weight = groups * n, weight[3]
   if entries == 0 or entries > MOST * few.LIMIT or of_weight > MOST_COLUMNS or few.LIMIT == 0 then return false end
   local q, get = first_element(list), list.T.get
   if not are_there(q, get, groups, n, group, step, number, listed, math.huge, of_weight) then return false end
   memory.resize(columns, 1, { entries })
   if not memory.is_contiguous(columns) then return false end
   if of_weight > room_for_marks then
      marks = ffi.new('uint8_t[?]', of_weight)
      room_for_marks = of_weight
   end
   local found = find_columns(first_element(columns), q, get, groups, n, group, step, number, listed)
   memory.resize(columns, 1, { found })
   return true
end
