-- Completion of names at the prompt.
local help = require 'th.prompt.help'

local completion = {}

local function add_keys(found, value, prefix, methods_only)
   local seen = 0
   while type(value) == 'table' and seen < 20 do
      for key, held in pairs(value) do
         if type(key) == 'string' and key:match('^[%a_][%w_]*$') and key:sub(1, #prefix) == prefix
            and (prefix:sub(1, 2) == '__' or not key:match('^__'))
            and (not methods_only or type(held) == 'function') then
            found[key] = true
         end
      end
      local metatable = debug.getmetatable(value)
      local index = metatable and rawget(metatable, '__index')
      value = type(index) == 'table' and index or metatable
      seen = seen + 1
   end
end

-- The completions of `word` (such as torch.ran or t:si), one per line.
function completion.names(word)
   local path, separator, prefix = word:match('^(.*)([.:])([%w_]*)$')
   local found = {}
   if path then
      local value = help.resolve(path)
      local start = value
      if type(value) == 'string' then start = string
      elseif type(value) == 'userdata' then start = debug.getmetatable(value) end
      add_keys(found, start, prefix, separator == ':')
   else
      add_keys(found, _G, word)
      for keyword in ('and break do else elseif end false for function if in local nil not or repeat return then true '
         .. 'until while'):gmatch('%a+') do
         if keyword:sub(1, #word) == word then found[keyword] = true end
      end
   end
   local names = {}
   for name in pairs(found) do names[#names + 1] = (path and path .. separator or '') .. name end
   table.sort(names)
   return table.concat(names, '\n')
end

return completion
