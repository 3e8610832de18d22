-- Penlight's names (stringx, tablex, path, List ...) as globals that are loaded when first read: Torch7's th loads pl
-- at every start. The user's Penlight comes before ours; a script's own pl.lua is not mistaken for either.
local names = require 'pl.names'

local globals_metatable = {}
function globals_metatable.__index(globals, name)
   if not names[name] then return nil end
   globals_metatable.__index = nil
   require 'pl.import_into'(globals)
   return globals[name]
end
setmetatable(_G, globals_metatable)

-- 'format' % values: Penlight's module text gives strings this operator, and is loaded when one asks for it.
local strings = getmetatable('')
if strings.__mod == nil then
   function strings.__mod(format, values)
      strings.__mod = nil
      require('pl.text').format_operator()
      return format % values
   end
end
