-- Figures are drawn by a helper process (lua_compat/drawing): what opens a file or starts a program waits for
-- those that it may see. Called by th/boot.lua, before anything takes a function of Lua's library for itself, with a
-- table whose `settle`, once there are figures, waits for that of a path, or (nil) for all.
local shared = ...
local type = type

local function waiting(library, name, for_all)
   local plain = library[name]
   library[name] = function(...)
      local settle = shared.settle
      if settle then
         local path = ...
         settle(not for_all and type(path) == 'string' and path or nil)
      end
      return plain(...)
   end
end

for _, name in ipairs{ 'open', 'lines', 'input' } do waiting(io, name) end
waiting(io, 'popen', true)
waiting(os, 'remove')
for _, name in ipairs{ 'execute', 'rename' } do waiting(os, name, true) end
