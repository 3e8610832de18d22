-- Tables that go with userdata and live as long as these: each is the environment of its userdata. If it were only the
-- value of a weak key, it would outlive the key by a cycle of the collector, with all that it holds, and a script that
-- makes one after another would use more memory after each cycle. Where it leads back to the key, neither would ever
-- go.
local setfenv = debug.setfenv

local attached = {}

local weak = { __mode = 'kv' }
local of_all = setmetatable({}, weak)

-- The tables of one kind of userdata, and a function that attaches one.
function attached.kind()
   local tables = setmetatable({}, weak)
   return tables, function(object, t)
      tables[object], of_all[object] = t, t
      setfenv(object, t)
   end
end

-- The table of a userdata of any kind; nil for other objects.
function attached.find(object) return of_all[object] end

return attached
