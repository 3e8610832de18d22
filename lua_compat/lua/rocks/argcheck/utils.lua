-- Upvalues by their names, and shallow copies.
local utils = {}

local function place_of(func, name, quiet)
   for place = 1, math.huge do
      local found, value = debug.getupvalue(func, place)
      if found == name then return place, value end
      if found == nil then
         if not quiet then error(('unknown upvalue <%s>'):format(name), 3) end
         return nil
      end
   end
end

function utils.getupvalue(func, name, quiet)
   local _, value = place_of(func, name, quiet)
   return value
end

-- Returns the previous value.
function utils.setupvalue(func, name, newvalue, quiet)
   local place, value = place_of(func, name, quiet)
   if place then debug.setupvalue(func, place, newvalue) end
   return value
end

function utils.duptable(tbl)
   local copy = {}
   for key, value in pairs(tbl) do copy[key] = value end
   return copy
end

return utils
