-- Parses the flags of a command line.
local utils = require 'pl.utils'

-- Maps all names of valid flags to their main names; without `valid`, every name is valid. valid: a set, a list, or a
-- table of aliases (one, or a list of them) by main name.
local function main_names(valid)
   if not valid then return setmetatable({}, { __index = function(_, name) return name end }) end
   local main = {}
   for name, aliases in pairs(valid) do
      if type(name) == 'number' then name = aliases end
      if type(aliases) == 'string' then aliases = { aliases } end
      for _, alias in ipairs(type(aliases) == 'table' and aliases or {}) do main[alias] = name end
      main[name] = name
   end
   return main
end

-- The flags that take the next argument, by main name; they become valid.
local function flags_with_values(with_values, main, all_are_valid)
   local names = {}
   for key, value in pairs(with_values or {}) do
      local name = type(key) == 'number' and value or key
      if not all_are_valid and not main[name] then main[name] = name end
      names[main[name]] = true
   end
   return names
end

-- Returns the flags and the other arguments, or nil and an error.
return function(arguments, with_values, valid)
   local main = main_names(valid)
   local take_next = flags_with_values(with_values, main, not valid)
   local flags, others = {}, {}
   local unknown

   local function set(name, value)
      if main[name] then flags[main[name]] = value else unknown = unknown or name end
   end

   -- -n2, -n=2, -n:2, or several letters at once
   local function set_short(name, value)
      if #name == 1 then
         set(name, value or true)
      elseif name:find('.%d+') then
         set(name:sub(1, 1), name:sub(2))
      else
         for letter in name:gmatch('.') do set(letter, true) end
      end
   end

   local i = 1
   while i <= #arguments do
      local word = arguments[i]:match('^%-(.+)')
      local is_long = word and word:sub(1, 1) == '-'
      if is_long then word = word:sub(2) end
      if not word then
         others[#others + 1] = arguments[i]
      elseif main[word] and take_next[main[word]] then
         i = i + 1
         if i > #arguments or arguments[i]:find('^%-') then return utils.raise("no value for '" .. word .. "'") end
         flags[main[word]] = arguments[i]
      else
         local name, value = utils.splitv(word, '[=:]', false, 2)
         name = name or word
         if is_long then set(name, value or true) else set_short(name, value) end
      end
      if unknown then return utils.raise("unknown flag '" .. unknown .. "'") end
      i = i + 1
   end
   return flags, others
end
