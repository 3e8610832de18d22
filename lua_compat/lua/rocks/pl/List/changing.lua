-- The methods that change a list; they return the list.
local tablex = require 'pl.tablex'
local utils = require 'pl.utils'
local assert_arg, insert, remove = utils.assert_arg, table.insert, table.remove

local changing = {}

function changing:append(value)
   insert(self, value)
   return self
end
changing.push = insert

function changing:extend(other)
   assert_arg(1, other, 'table')
   for i = 1, #other do insert(self, other[i]) end
   return self
end

function changing:insert(place, value)
   assert_arg(1, place, 'number')
   insert(self, place, value)
   return self
end

function changing:put(value) return self:insert(1, value) end

function changing:remove(place)
   assert_arg(1, place, 'number')
   remove(self, place)
   return self
end

function changing:remove_value(value)
   for i = 1, #self do
      if self[i] == value then
         remove(self, i)
         return self
      end
   end
   return self
end

-- Removes the last element, or the one at a position, and returns it.
function changing:pop(place)
   if not place then place = #self end
   assert_arg(1, place, 'number')
   return remove(self, place)
end
changing.get = changing.pop

function changing:sort(less)
   if less then less = utils.function_arg(1, less) end
   table.sort(self, less)
   return self
end

function changing:reverse()
   local n = #self
   for i = 1, math.floor(n / 2) do self[i], self[n + 1 - i] = self[n + 1 - i], self[i] end
   return self
end

function changing:clear()
   for i = #self, 1, -1 do remove(self, i) end
   return self
end

function changing:chop(first, last) return tablex.removevalues(self, first, last) end

-- Inserts the elements of a list before a position.
function changing:splice(place, list)
   assert_arg(1, place, 'number')
   for i = 1, #list do insert(self, place + i - 1, list[i]) end
   return self
end

function changing:slice_assign(first, last, list)
   assert_arg(1, first, 'number')
   assert_arg(1, last, 'number')
   first, last = tablex._normalize_slice(self, first, last)
   if last >= first then self:chop(first, last) end
   return self:splice(first, list)
end

return changing
