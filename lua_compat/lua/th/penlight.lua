-- Penlight's names (stringx, tablex, path, List ...) as globals that are loaded on first access: Torch7's th always
-- loads pl. The user's Penlight takes precedence over ours; a script's own pl.lua is not mistaken for either.
local names = require 'pl.names'

local globals_metatable = {}
function globals_metatable.__index(globals, name)
   if not names[name] then return nil end
   globals_metatable.__index = nil
   require 'pl.import_into'(globals)
   return globals[name]
end
setmetatable(_G, globals_metatable)

-- 'format' % values: Penlight's module text gives strings this operator, and is loaded on its first use.
local strings = getmetatable('')
if strings.__mod == nil then
   function strings.__mod(format, values)
      strings.__mod = nil
      require('pl.text').format_operator()
      return format % values
   end
end
