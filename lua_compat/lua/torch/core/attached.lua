-- Tables attached to userdata, with the same lifetime: each is its userdata's environment. A table that is merely the
-- value of a weak key outlives the key by one collection cycle, with everything it refers to, so a script that creates
-- many would use more memory after each cycle. If it referred back to the key, neither would ever be freed.
local setfenv = debug.setfenv

local attached = {}

local weak = { __mode = 'kv' }
local of_all = setmetatable({}, weak)

-- Returns the tables attached to one kind of userdata, and a function that attaches one.
function attached.kind()
   local tables = setmetatable({}, weak)
   return tables, function(object, t)
      tables[object], of_all[object] = t, t
      setfenv(object, t)
   end
end

-- The table attached to a userdata of any kind; nil for other objects.
function attached.find(object) return of_all[object] end

return attached
