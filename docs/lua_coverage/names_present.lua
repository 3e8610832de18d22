-- arg[1] holds lines "package<TAB>prefix<TAB>name"; the missing ones are written to arg[2].

local function item(path)
   local value = _G
   for key in path:gmatch('[^.]+') do
      if type(value) ~= 'table' then return nil end
      value = value[key]
   end
   return value
end

local function present(prefix, name)
   local path, kind = prefix:match('^(.-)([.:])$')
   local holder
   if kind == ':' then holder = torch.getmetatable(path) or item(path) else holder = item(path) end
   holder = holder or package.loaded[path]
   return type(holder) == 'table' and holder[name] ~= nil
end

local missing, loaded = {}, {}
for line in io.lines(arg[1]) do
   local package, prefix, name = line:match('^(.-)\t(.-)\t(.*)$')
   if not loaded[package] then
      loaded[package] = true
      local value = require(package)
      if rawget(_G, package) == nil and type(value) == 'table' then rawset(_G, package, value) end
   end
   if not present(prefix, name) then table.insert(missing, line .. '\n') end
end
local file = assert(io.open(arg[2], 'w'))
file:write(table.concat(missing))
file:close()
