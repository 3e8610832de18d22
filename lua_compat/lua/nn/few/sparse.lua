-- Linear layers of few listed numbers, as nn/few.lua says.
local memory = require 'torch.memory'
local is_apart = require('torch.apart').is_apart
local few = require 'torch.few'
local kernels = require 'torch.kernels'

local first_element = memory.first_element

local MOST = 4 -- times few.LIMIT products

-- The dimensions of a list of entries: how many rows it has and in how many groups, the steps of both and of the three numbers of an entry,
-- of which the first, the row of the batch, is missing where groups are the rows.
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
         local fits = row >= 1 and row <= batch and row % 1 == 0 and column >= 1 and column <= columns and column % 1 == 0
         if not fits and get(q, at + (listed + 1) * number) ~= 0 then return false end
      end
   end
   return true
end

function kernels.in_lua.sparse_linear(out, list, batch, weight, bias)
   local T = weight.T
   if not T.real or out.T ~= T or list.T ~= T or bias.T ~= T or weight.nd ~= 2 or bias.nd ~= 1 or batch < 1 then return false end
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
