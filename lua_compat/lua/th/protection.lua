-- Protects metatables from an untrusted script. With the metatable of userdata it could give our tensors another
-- finaliser, and with that of strings it could change what our own code calls as s:format(). It gets stand-ins for
-- both.
local class = require 'torch.core.class'

local metatable_of, type, next = debug.getmetatable, type, next
local rawget, rawset, setmetatable, getmetatable, error = rawget, rawset, setmetatable, getmetatable, error

local protection = {}

function protection.refuse(name) error(('%s is not available in the sandbox'):format(name), 3) end

-- Fields of a userdata's metatable that a script can neither read nor change: the finaliser frees memory, and __index
-- hides the others.
local HIDDEN = { __gc = true, __metatable = true, __index = true, __newindex = true, __mode = true }

local stand_ins = setmetatable({}, { __mode = 'k' }) -- by metatable

local function change(metatable)
   return function(_, key, value)
      if HIDDEN[key] then protection.refuse('the field ' .. key) end
      rawset(metatable, key, value)
   end
end

local function stand_in(metatable)
   local shown = stand_ins[metatable]
   if not shown then
      shown = setmetatable({}, {
         __index = function(_, key)
            if not HIDDEN[key] then return metatable[key] end
         end,
         __newindex = change(metatable),
         __metatable = false,
      })
      stand_ins[metatable] = shown
   end
   return shown
end

-- What a script gets in place of a metatable.
function protection.shown(metatable)
   if class.is_of_userdata[metatable] then return stand_in(metatable) end
   return metatable
end

-- A lookup in a metatable and its ancestors that ignores their own __index.
local function inherited(metatable)
   return function(_, key)
      local level = metatable
      repeat
         local value = rawget(level, key)
         if value ~= nil then return value end
         level = metatable_of(level)
      until not level
   end
end

-- From now on, neither a userdata of a class nor its constructor leads to the metatable.
function protection.hide_metatables()
   for metatable in next, class.is_of_userdata do
      rawset(metatable, '__metatable', nil)
      local lookup = rawget(metatable, '__index')
      if lookup == class.index then lookup = inherited(metatable) end
      rawset(metatable, '__index', function(self, key)
         if not HIDDEN[key] then return lookup(self, key) end
      end)
      local constructor = metatable_of(rawget(metatable, '__constructor'))
      constructor.__index, constructor.__newindex = stand_in(metatable), change(metatable)
   end
   class.shown = protection.shown
   -- Lua's files: there are only the standard streams
   local of_files = metatable_of(io.stdout)
   local methods = {}
   for name, method in next, of_files do
      if not HIDDEN[name] then methods[name] = method end
   end
   of_files.__index = methods
   local names, type_of_file = { [io.stdin] = 'stdin', [io.stdout] = 'stdout', [io.stderr] = 'stderr' }, io.type
   function of_files.__tostring(file) -- without its address
      return ('file (%s)'):format(type_of_file(file) == 'file' and names[file] or 'closed')
   end
end

-- torch.pointer for scripts: the number of an object, not its address. original: raises an error for values without a
-- pointer
function protection.pointer_for(original)
   local number_of = require('th.python').number_of
   return function(object)
      original(object)
      return number_of(object)
   end
end

-- A class whose constructor raises an error.
function protection.without_constructor(name, refused)
   local metatable = class.getmetatable(name)
   rawset(metatable, 'new', refused)
   metatable_of(rawget(metatable, '__constructor')).__new = refused
end

-- Strings. Our code finds Lua's own functions whatever a script does; other names are looked up where scripts add them.
-- A script cannot add operators: otherwise a string might be accepted where a number is required.
local OWN = { 'byte', 'char', 'find', 'format', 'gmatch', 'gsub', 'len', 'lower', 'match', 'rep', 'reverse', 'sub',
   'upper' }

-- getmetatable for scripts; library: their table string.
function protection.getmetatable_for(library)
   local of_strings = metatable_of('')
   local own = {}
   for i = 1, #OWN do own[OWN[i]] = string[OWN[i]] end
   local added = { __index = library }
   setmetatable(own, added)
   of_strings.__index = own
   local lookup = library
   local strings = setmetatable({}, {
      __index = function(_, key)
         return key == '__index' and lookup or nil
      end,
      __newindex = function(_, key, value)
         if key == '__index' and type(value) == 'table' then
            lookup, added.__index, of_strings.__index = value, value, own
         elseif key == '__index' and type(value) == 'function' then
            lookup, added.__index = value, nil
            of_strings.__index = function(text, name)
               local f = rawget(own, name)
               if f ~= nil then return f end
               return value(text, name)
            end
         else
            protection.refuse('the field ' .. tostring(key) .. ' of strings')
         end
      end,
      __metatable = false,
   })
   return function(object)
      local kind = type(object)
      if kind == 'string' then return strings end
      local metatable = getmetatable(object)
      if kind ~= 'userdata' or type(metatable) ~= 'table' then return protection.shown(metatable) end
      return class.is_of_userdata[metatable] and stand_in(metatable) or false
   end
end

return protection
