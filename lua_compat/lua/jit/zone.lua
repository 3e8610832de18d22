-- jit.zone: names for the parts of a program, which jit.p can tell apart. zone 'name' begins one within the one that
-- is open, zone() ends it and gives its name.
local setmetatable = setmetatable

local names, count = {}, 0
local zone = {}

function zone.get() return names[count] end

function zone.flush() names, count = {}, 0 end

return setmetatable(zone, {
   __call = function(_, name)
      if name then
         count = count + 1
         names[count] = name
      elseif count > 0 then
         name, names[count] = names[count], nil
         count = count - 1
         return name
      end
   end,
})
