-- jit.zone: names parts of a program, which jit.p can tell apart. zone 'name' starts one inside the current one; zone()
-- ends the current one and returns its name.
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
