-- Linear layers for short lists of entries.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local luajit, no = require('torch.core.ways').of_kernels()
local gates = require 'nn.shared.luajit.gates'

local first_element = memory.first_element

local MOST = 2 ^ 13 -- products

local function is_list(list, batch)
   return list.nd == 2 and list[3] == 3 or list.nd == 3 and list[5] == 2 and list[1] == batch
      or no 'another kind of list'
end

-- The nonzero entries of a list: rows and columns from 0, and values. read_entries returns their number; false if one
-- has no row or column.
local rows, columns, values = ffi.new('int32_t[?]', MOST), ffi.new('int32_t[?]', MOST), ffi.new('double[?]', MOST)
local function read_entries(list, batch, last)
   local groups, n, group, step, number, listed = list[1], list[3], list[2], list[4], list[6], 0
   if list.nd == 2 then groups, n, group, step, number, listed = 1, list[1], 0, list[2], list[4], 1 end
   local q, get, found = first_element(list), list.T.get, 0
   for g = 0, groups - 1 do
      for k = 0, n - 1 do
         local at = g * group + k * step
         local value = get(q, at + (listed + 1) * number)
         if value ~= 0 then
            local row, column = listed == 1 and get(q, at) or g + 1, get(q, at + listed * number)
            if not (row >= 1 and row <= batch and row % 1 == 0 and column >= 1 and column <= last
               and column % 1 == 0) then
               return no 'an entry without a row or column'
            end
            rows[found], columns[found], values[found] = row - 1, column - 1, value
            found = found + 1
         end
      end
   end
   return found
end

-- The number of entries in a list.
local function entries_in(list) return list[1] * (list.nd == 3 and list[3] or 1) end

-- Reads a layer's entries if they and the parameters, or their gradients, are suitable for LuaJIT.
local function fits(list, batch, weight, bias)
   if weight.nd ~= 2 or bias.nd ~= 1 or bias[1] ~= weight[1] then return no 'parameters of other sizes' end
   return gates.typed(weight.T, list, weight, bias) and is_list(list, batch)
      and gates.few((entries_in(list) + batch) * weight[1], MOST) and read_entries(list, batch, weight[3])
end

function luajit.sparse_linear(out, list, weight, bias, batch)
   local T, outputs = weight.T, weight[1]
   if batch < 1 then return no 'no elements' end
   local n = fits(list, batch, weight, bias)
   if not (n and gates.typed(T, out) and gates.apart(out, list, weight, bias)
      and gates.resized(out, 2, { batch, outputs })) then
      return false
   end
   local get, cast, p, w, b = T.get, T.cast, first_element(out), first_element(weight), first_element(bias)
   for i = 0, batch * outputs - 1 do p[i] = get(b, i % outputs * bias[2]) end
   for k = 0, n - 1 do
      local to, from, value = rows[k] * outputs, columns[k] * weight[4], values[k]
      for j = 0, outputs - 1 do p[to + j] = get(p, to + j) + cast(get(w, from + j * weight[2]) * value) end
   end
   return true
end

-- Adds the contributions of n entries to the weight's gradient, one entry after another.
local function add_entries(grad_weight, n, grad_output, scale)
   local get, cast, outputs = grad_weight.T.get, grad_weight.T.cast, grad_weight[1]
   local w, u = first_element(grad_weight), first_element(grad_output)
   for k = 0, n - 1 do
      local to, from, factor = columns[k] * grad_weight[4], rows[k] * grad_output[2], cast(scale * values[k])
      for _ = 1, outputs do
         w[to] = get(w, to) + cast(factor * get(u, from))
         to, from = to + grad_weight[2], from + grad_output[4]
      end
   end
end

function luajit.sparse_linear_grad_parameters(grad_weight, grad_bias, list, grad_output, weight, decay, scale)
   local T, batch, outputs = weight.T, grad_output[1], weight[1]
   if decay ~= 0 then return no 'a decay of the weight' end
   if grad_output.nd ~= 2 or grad_output[3] ~= outputs then return no 'tensors of different sizes' end
   local n = gates.same_size(grad_weight, weight) and fits(list, batch, grad_weight, grad_bias)
   if not (n and gates.typed(T, grad_weight, grad_output) and gates.apart(grad_weight, list, grad_output)
      and gates.lies_apart(grad_weight, grad_bias)
      and gates.apart(grad_bias, list, grad_output)) then
      return false
   end
   add_entries(grad_weight, n, grad_output, scale)
   local get, cast, u, b = T.get, T.cast, first_element(grad_output), first_element(grad_bias)
   for j = 0, outputs - 1 do
      local sum = 0
      for i = 0, batch - 1 do sum = cast(sum + get(u, i * grad_output[2] + j * grad_output[4])) end
      b[j * grad_bias[2]] = get(b, j * grad_bias[2]) + cast(scale * sum)
   end
   return true
end

-- One byte for each column: 1 while it is among those found. Zero between calls, unless Ctrl-C ended one.
local MOST_COLUMNS = 2 ^ 22
local marks, room_for_marks, are_marked = ffi.new('uint8_t[?]', 1), 1, false

-- Writes the columns of n entries to p, from 1, each once. Returns their number.
local function find_columns(p, n)
   local found = 0
   if are_marked then ffi.fill(marks, room_for_marks) end
   are_marked = true
   for k = 0, n - 1 do
      local column = columns[k]
      if marks[column] == 0 then
         marks[column], p[found] = 1, column + 1
         found = found + 1
      end
   end
   for k = 0, found - 1 do marks[tonumber(p[k]) - 1] = 0 end
   are_marked = false
   return found
end

function luajit.sparse_linear_columns(result, list, weight)
   if weight.nd ~= 2 then return no 'parameters of other sizes' end
   local of_weight = weight[3]
   local n = is_list(list, list[1]) and gates.indices(result) and gates.typed(list.T, list)
      and gates.few(entries_in(list), MOST) and gates.within(of_weight, MOST_COLUMNS, 'more than %d columns')
      and read_entries(list, math.huge, of_weight)
   if not n or not gates.resized(result, 1, { entries_in(list) }) then return false end
   if of_weight > room_for_marks then
      marks = ffi.new('uint8_t[?]', of_weight)
      room_for_marks = of_weight
   end
   memory.resize(result, 1, { find_columns(first_element(result), n) })
   return true
end
