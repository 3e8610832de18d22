-- pl.permute: permutations of a list, and combinations of the elements of several lists.
local tablex = require 'pl.tablex'
local utils = require 'pl.utils'

local permute = {}

-- Iterates over the permutations of a list, which is changed in place: each element in turn becomes the last. swapped:
-- by position, which element is there now (0: none yet).
function permute.order_iter(t)
   utils.assert_arg(1, t, 'table')
   local place, swapped = #t, {}
   local function swap(i) t[place], t[i] = t[i], t[place] end
   for i = 1, #t do swapped[i] = 0 end
   if place == 0 then return function() end end
   return function()
      while place <= #t do
         if swapped[place] > 0 then swap(swapped[place]) end -- undo the previous exchange
         if swapped[place] == place then
            swapped[place] = 0
            place = place + 1
         else
            swapped[place] = swapped[place] + 1
            swap(swapped[place])
            if place == 1 then return t end
            place = place - 1
         end
      end
   end
end

function permute.order_table(t)
   local orders = {}
   for order in permute.order_iter(t) do orders[#orders + 1] = tablex.deepcopy(order) end
   return orders
end

-- The names used in 2015.
permute.iter, permute.table = permute.order_iter, permute.order_table

-- Iterates over all choices of one element from each list, the first list fastest: a counter, and the elements.
function permute.list_iter(...)
   local lists, n = { ... }, select('#', ...)
   local sizes, places = {}, {}
   for i = 1, n do
      utils.assert_arg(i, lists[i], 'table')
      sizes[i], places[i] = lists[i].n or #lists[i], 1
   end
   local count, at_end = 0, n == 0
   return function()
      if at_end or places[n] > sizes[n] then return nil end
      count = count + 1
      local chosen = {}
      for i = 1, n do chosen[i] = lists[i][places[i]] end
      local i = 1
      places[1] = places[1] + 1
      while i < n and places[i] > sizes[i] do
         places[i] = 1
         i = i + 1
         places[i] = places[i] + 1
      end
      return count, unpack(chosen, 1, n)
   end
end

function permute.list_table(...)
   local choices, n = {}, select('#', ...)
   local next_choice = permute.list_iter(...)
   local function keep(count, ...)
      if count then choices[count] = { n = n, ... } end
      return count
   end
   while keep(next_choice()) do end
   return choices
end

return permute
