-- Linear layers for short lists of entries.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local ways = require 'torch.core.ways'
local gates = require 'nn.shared.luajit.gates'

local luajit, no = ways.luajit, ways.no
local first_element = memory.first_element

local MOST = 2 ^ 13 -- products

-- The layout of a list of entries: its groups, the entries in each, the strides of both and of the three numbers of an
-- entry. The first of these, the row of the batch, is missing (listed: 0) if the groups are the rows.
local function layout(list)
   if list.nd == 2 then return 1, list[1], 0, list[2], list[4], 1 end
   return list[1], list[3], list[2], list[4], list[6], 0
end

local function is_list(list, batch)
   return list.nd == 2 and list[3] == 3 or list.nd == 3 and list[5] == 2 and list[1] == batch
      or no 'another kind of list'
end

-- Whether the rows and columns of all nonzero entries exist.
local function are_there(list, batch, columns)
   local groups, n, group, step, number, listed = layout(list)
   local q, get = first_element(list), list.T.get
   for g = 0, groups - 1 do
      for k = 0, n - 1 do
         local at = g * group + k * step
         local row, column = listed == 1 and get(q, at) or g + 1, get(q, at + listed * number)
         local fits = row >= 1 and row <= batch and row % 1 == 0 and column >= 1 and column <= columns
            and column % 1 == 0
         if not fits and get(q, at + (listed + 1) * number) ~= 0 then return no 'an entry without a row or column' end
      end
   end
   return true
end

-- The number of entries in a list.
local function entries_in(list) return list[1] * (list.nd == 3 and list[3] or 1) end

-- Whether a layer's entries and parameters, or their gradients, are suitable for LuaJIT.
local function fits(list, batch, weight, bias)
   if weight.nd ~= 2 or bias.nd ~= 1 or bias[1] ~= weight[1] then return no 'parameters of other sizes' end
   return gates.typed(weight.T, list, weight, bias) and is_list(list, batch)
      and gates.few((entries_in(list) + batch) * weight[1], MOST) and are_there(list, batch, weight[3])
end

function luajit.sparse_linear(out, list, weight, bias, batch)
   local T, outputs = weight.T, weight[1]
   if batch < 1 then return no 'no elements' end
   if not (fits(list, batch, weight, bias) and gates.typed(T, out) and gates.apart(out, list, weight, bias)
      and gates.resized(out, 2, { batch, outputs })) then
      return false
   end
   local get, cast, groups, n, group, step, number, listed = T.get, T.cast, layout(list)
   local p, q, w, b = first_element(out), first_element(list), first_element(weight), first_element(bias)
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

-- Adds the entries' contributions to the weight's gradient, one entry after another.
local function add_entries(grad_weight, list, grad_output, scale)
   local groups, n, group, step, number, listed = layout(list)
   local get, cast, outputs = list.T.get, list.T.cast, grad_weight[1]
   local w, u, q = first_element(grad_weight), first_element(grad_output), first_element(list)
   for g = 0, groups - 1 do
      for k = 0, n - 1 do
         local at = g * group + k * step
         local value = get(q, at + (listed + 1) * number)
         if value ~= 0 then
            local to = (get(q, at + listed * number) - 1) * grad_weight[4]
            local from, factor = (listed == 1 and get(q, at) - 1 or g) * grad_output[2], cast(scale * value)
            for _ = 1, outputs do
               w[to] = get(w, to) + cast(factor * get(u, from))
               to, from = to + grad_weight[2], from + grad_output[4]
            end
         end
      end
   end
end

function luajit.sparse_linear_grad_parameters(grad_weight, grad_bias, list, grad_output, weight, decay, scale)
   local T, batch, outputs = weight.T, grad_output[1], weight[1]
   if decay ~= 0 then return no 'a decay of the weight' end
   if grad_output.nd ~= 2 or grad_output[3] ~= outputs then return no 'tensors of different sizes' end
   if not (gates.same_size(grad_weight, weight) and fits(list, batch, grad_weight, grad_bias)
      and gates.typed(T, grad_weight, grad_output) and gates.apart(grad_weight, list, grad_output, grad_bias)
      and gates.apart(grad_bias, list, grad_output)) then
      return false
   end
   add_entries(grad_weight, list, grad_output, scale)
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

-- Writes the columns with nonzero entries to p, each once. Returns their number.
local function find_columns(p, list)
   local groups, n, group, step, number, listed = layout(list)
   local q, get, found = first_element(list), list.T.get, 0
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
   if weight.nd ~= 2 then return no 'parameters of other sizes' end
   local of_weight = weight[3]
   if not (is_list(list, list[1]) and gates.indices(columns) and gates.typed(list.T, list)
      and gates.few(entries_in(list), MOST) and gates.within(of_weight, MOST_COLUMNS, 'more than %d columns')
      and are_there(list, math.huge, of_weight) and gates.resized(columns, 1, { entries_in(list) })) then
      return false
   end
   if of_weight > room_for_marks then
      marks = ffi.new('uint8_t[?]', of_weight)
      room_for_marks = of_weight
   end
   memory.resize(columns, 1, { find_columns(first_element(columns), list) })
   return true
end
