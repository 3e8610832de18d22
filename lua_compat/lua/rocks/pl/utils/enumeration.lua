-- Enumerations: tables in which unknown names are errors.
local checks = require 'pl.utils.checks'

-- The entries of a list and of fields in one table, and the names in the given order.
local function entries_of_table(t)
   local entries, names = {}, {}
   for i, name in ipairs(t) do
      if type(name) ~= 'string' then
         error(("expected 'string' but got '%s' at index %d"):format(type(name), i), 3)
      end
      entries[name] = name
      names[i] = name
   end
   for key, value in pairs(t) do
      if not (type(key) == 'number' and names[key]) then
         if type(key) ~= 'string' then error(("expected key to be 'string' but got '%s'"):format(type(key)), 3) end
         if entries[key] then error(("duplicate entry in array and hash part: '%s'"):format(key), 3) end
         entries[key] = value
         names[#names + 1] = key
      end
   end
   return entries, names
end

local function enum(...)
   local entries, names = {}, { ... }
   local count = select('#', ...)
   if type((...)) == 'table' then
      entries, names = entries_of_table((...))
      count = #names
   else
      for i = 1, count do entries[checks.assert_string(i, (select(i, ...)))] = names[i] end
   end
   if count == 0 then error('expected at least 1 entry', 2) end
   local expected = "(expected one of: '" .. table.concat(names, "', '") .. "')"

   local function unknown(key) return ("'%s' is not a valid value %s"):format(tostring(key), expected) end
   return setmetatable(entries, {
      __index = function(_, key) error(unknown(key), 2) end,
      __newindex = function() error('the Enum object is read-only', 2) end,
      __call = function(self, key)
         if type(key) == 'string' then
            local value = rawget(self, key)
            if value ~= nil then return value end
         end
         return nil, unknown(key)
      end,
   })
end

return { enum = enum }
