-- Options -g and -gg of th: says, or raises an error, where a global is created or read before it exists.
local strict = ...

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
   __index = function(_, name)
      if not known[name] then report('attempt to read undeclared variable', name) end
   end,
})
