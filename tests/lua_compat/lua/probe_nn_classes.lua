-- What a Torch7 runtime says of nn's classes: parents, own methods, and what a fresh module looks like.
-- usage: th probe_nn_classes.lua CONSTRUCTORS.lua OUT.txt (data/nn_classes.txt came from torch7/nn on LuaJIT)
require 'nn'
local lines = {}
local function say(...) lines[#lines + 1] = string.format(...) end

local names = {}
for name, value in pairs(nn) do
   local metatable = type(value) == 'table' and torch.getmetatable('nn.' .. name)
   if metatable then names[#names + 1] = name end
end
table.sort(names)
for _, name in ipairs(names) do
   local metatable = torch.getmetatable('nn.' .. name)
   local parent = getmetatable(metatable)
   local methods = {}
   for key, value in pairs(metatable) do
      if type(value) == 'function' and not key:find('^__[a-z]+$') and key ~= 'new' then methods[#methods + 1] = key end
   end
   table.sort(methods)
   say('class %s parent %s version %s', name, parent and parent.__typename or '-',
      tostring(rawget(metatable, '__version')))
   say('   methods %s', table.concat(methods, ' '))
end

local function kind(value)
   local name = torch.type(value)
   if torch.isTensor(value) then
      local sizes = {}
      for d = 1, value:dim() do sizes[d] = value:size(d) end
      return name .. '[' .. table.concat(sizes, 'x') .. ']'
   end
   if name == 'number' or name == 'boolean' or name == 'string' then
      return name .. ' ' .. tostring(value)
   end
   if name:find('Storage$') then return name .. '[' .. value:size() .. ']' end
   if name == 'table' then return 'table[' .. #value .. ']' end
   return name
end

for _, expression in ipairs(dofile(arg[1])) do
   torch.manualSeed(1)
   local ok, module = pcall(assert(loadstring('return ' .. expression)))
   if not ok then
      say('fresh %s ERROR', expression)
   else
      say('fresh %s type %s', expression, torch.type(module))
      local fields = {}
      for key, value in pairs(module) do fields[#fields + 1] = tostring(key) .. ' = ' .. kind(value) end
      table.sort(fields)
      for _, field in ipairs(fields) do say('   %s', field) end
      local text = pcall(tostring, module) and tostring(module) or 'ERROR'
      say('   text %s', (text:gsub('0x%x+', '0x'):gsub('\n', '\\n')))
   end
end
local file = io.open(arg[2], 'w')
file:write(table.concat(lines, '\n'), '\n')
file:close()
