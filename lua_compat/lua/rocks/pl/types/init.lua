-- pl.types: type tests.
local utils = require 'pl.utils'

local types = { is_type = utils.is_type }

function types.is_callable(value)
   if type(value) == 'function' then return true end
   local metatable = getmetatable(value)
   return type(metatable) == 'table' and type(rawget(metatable, '__call')) == 'function'
end

local file_metatable = getmetatable(io.stdout)

-- Lua's type; for objects, the _name of their metatable.
function types.type(value)
   local kind = type(value)
   if kind ~= 'table' and kind ~= 'userdata' then return kind end
   local metatable = getmetatable(value)
   if metatable == nil then return kind end
   if metatable == file_metatable then return 'file' end
   return metatable._name or 'unknown ' .. kind
end

function types.is_integer(number) return math.ceil(number) == number end

function types.is_empty(value, ignore_spaces)
   if type(value) == 'table' then return next(value) == nil end
   if type(value) == 'string' then
      return value == '' or (not not ignore_spaces and value:find('^%s+$') ~= nil)
   end
   return true
end

-- Tables support everything; other values need the metamethods. Returns true, or false or nil.
local function can(value, first, second)
   if type(value) == 'table' then return true end
   local metatable = getmetatable(value)
   return metatable and metatable[first] and (second == nil or metatable[second]) and true
end

function types.is_indexable(value) return can(value, '__len', '__index') end
function types.is_iterable(value) return can(value, '__pairs') end
function types.is_writeable(value) return can(value, '__newindex') end

local TRUE_TEXTS = { yes = true, y = true, ['true'] = true, t = true, ['1'] = true }

local readers = {
   boolean = function(value) return value end,
   number = function(value) return value ~= 0 end,
   string = function(value, more)
      local lowered = value:lower()
      if TRUE_TEXTS[lowered] then return true end
      for _, text in ipairs(more or {}) do
         if lowered == text:lower() then return true end
      end
      return false
   end,
   table = function(value, _, check_objects) return not not check_objects and next(value) ~= nil end,
}

function types.to_bool(value, true_texts, check_objects)
   if true_texts then utils.assert_arg(2, true_texts, 'table') end
   local read = readers[type(value)]
   if read then return read(value, true_texts, check_objects) end
   return not not check_objects and value ~= nil
end

return types
