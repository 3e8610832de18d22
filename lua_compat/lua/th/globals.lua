-- Options -g and -gg of th: reports, or raises an error, when a global is created, or is read before it exists.
local strict = ...

-- A metatable of the globals loads Penlight's names. As in trepl, these are loaded before globals are watched; other
-- names are looked up when they are read.
local before = (getmetatable(_G) or {}).__index or function() end
for _, name in ipairs{ 'stringx', 'tablex', 'path', 'dir', 'text' } do before(_G, name) end

local known = {}
for name in pairs(_G) do known[name] = true end

local function report(what, name)
   local place = debug.getinfo(3, 'Sl')
   local where = place and place.currentline > 0 and (' at %s:%d'):format(place.short_src, place.currentline) or ''
   local text = ('%s: %s%s'):format(what, tostring(name), where)
   if strict then error(text, 3) end
   io.stderr:write(text, '\n')
end

setmetatable(_G, {
   __newindex = function(globals, name, value)
      if not known[name] then
         known[name] = true
         report('created global variable', name)
      end
      rawset(globals, name, value)
   end,
   __index = function(globals, name)
      local value = before(globals, name)
      if value == nil and not known[name] then report('attempt to read undeclared variable', name) end
      return value
   end,
})
