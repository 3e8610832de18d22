-- In the sandbox no text shows where an object is in memory: tostring, string.format and debug.traceback write a number
-- for each object instead, in Lua's format (table: 0x00000020). Called by th/boot.lua before anything captures these
-- functions. Returns the function that looks up an object's number.
local metatable_of, setmetatable, rawget = debug.getmetatable, setmetatable, rawget
local type, select, tonumber, unpack = type, select, tonumber, unpack
local plain_tostring, plain_format, plain_traceback = tostring, string.format, debug.traceback
local find, gsub = string.find, string.gsub

local STEP = 0x20 -- looks like a difference of addresses

local numbers, last = setmetatable({}, { __mode = 'k' }), 0
local function number_of(object)
   local number = numbers[object]
   if not number then
      number = last + STEP
      last, numbers[object] = number, number
   end
   return number
end

local HAS_ADDRESS = { table = true, ['function'] = true, thread = true, userdata = true }

function tostring(...)
   local object = ...
   local kind = type(object)
   if not HAS_ADDRESS[kind] then return plain_tostring(...) end
   local metatable = metatable_of(object)
   if metatable and rawget(metatable, '__tostring') ~= nil then return plain_tostring(object) end
   local text = plain_tostring(object)
   if not find(text, '0x', 1, true) then return text end -- function: builtin#29
   return plain_format('%s: 0x%08x', kind, number_of(object))
end

local tostring = tostring

local function pointer(object)
   local kind = type(object)
   if not HAS_ADDRESS[kind] and kind ~= 'string' then return 'NULL' end
   return plain_format('0x%08x', number_of(object))
end

-- How a directive writes an object, as text.
local WRITES = { s = function(object) return HAS_ADDRESS[type(object)] and tostring(object) or object end, p = pointer }

local function needs_numbers(format, ...)
   for place = 1, select('#', ...) do
      if HAS_ADDRESS[type((select(place, ...)))] then return true end
   end
   return type(format) == 'string' and find(format, '%%[^%a%%]*p')
end

function string.format(...)
   if not needs_numbers(...) then return plain_format(...) end
   local count, values = select('#', ...), { ... }
   if type(values[1]) ~= 'string' then return plain_format(...) end
   local place = 1
   -- %% is a directive without a value
   local format = gsub(values[1], '(%%[^%a%%]*)([%a%%])', function(start, letter)
      if letter == '%' then return end
      place = place + 1
      if WRITES[letter] and place <= count then values[place] = WRITES[letter](values[place]) end
      if letter == 'p' then return start .. 's' end
   end)
   return plain_format(format, unpack(values, 2, count))
end

function debug.traceback(...)
   local message, level = ...
   local text
   if type(message) == 'thread' then text = plain_traceback(...)
   else text = plain_traceback(message, (tonumber(level) or 1) + 1) end
   if type(text) ~= 'string' then return text end
   return (gsub(text, '%[C%]: at 0x%x+', '[C]: ?'))
end

return number_of
