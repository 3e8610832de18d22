-- Figures are drawn by a helper process (lua_compat/drawing), so opening a file or starting a program waits for the
-- figures that it may read. Called by th/boot.lua, before anything captures a function of Lua's library, with a table;
-- once there are figures, its `settle` waits for the one at a path, or (nil) for all.
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
