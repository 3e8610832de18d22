-- The globals that every script gets from trepl, which Torch7's th always loads.
local pretty = require 'th.pretty'

_G.print = pretty.print
_RESULTS, _LAST = {}, ''

-- How many levels of tables print shows; 0: none.
function setprintlevel(depth)
   if type(depth) ~= 'number' or depth < 0 then error('a number from 0 up expected', 2) end
   pretty.depth = math.floor(depth)
end

local initial = {}

-- Shows the globals created since th started, without packages; who(true) includes them.
function who(all)
   local names = {}
   for name, value in pairs(_G) do
      if all or not (initial[name] or package.loaded[name] == value) then names[#names + 1] = tostring(name) end
   end
   table.sort(names)
   for _, name in ipairs(names) do
      local value = rawget(_G, name)
      local text = torch.typename(value) or type(value)
      if torch.isTensor(value) then
         text = ('%s of size %s'):format(text, table.concat(value:size():totable(), 'x'))
      elseif type(value) == 'number' or type(value) == 'boolean' then
         text = tostring(value)
      elseif type(value) == 'string' then
         text = ('%q'):format(#value > 40 and value:sub(1, 40) .. '...' or value)
      end
      print(('%-20s %s'):format(name, text))
   end
end

-- Requires a package and makes its contents global; existing globals are kept unless `forced`.
function import(package_name, forced)
   local found = require(package_name)
   local symbols = type(found) == 'table' and found or rawget(_G, package_name)
   for name, value in pairs(type(symbols) == 'table' and symbols or {}) do
      if forced or rawget(_G, name) == nil then rawset(_G, name, value) end
   end
end

for name in pairs(_G) do initial[name] = true end
