-- Checks of tablex's arguments, and the metatables of its results.
local types = require 'pl.types'
local utils = require 'pl.utils'

local arguments = {}

local function complain(index, what) error(('argument %d is not %s'):format(index, what), 4) end

function arguments.indexable(index, value)
   if not types.is_indexable(value) then complain(index, 'indexable') end
end
function arguments.iterable(index, value)
   if not types.is_iterable(value) then complain(index, 'iterable') end
end
function arguments.writeable(index, value)
   if not types.is_writeable(value) then complain(index, 'writeable') end
end

-- Gives a result the class of the table from which it was made, or else the named one.
function arguments.like(result, source, class_name)
   local metatable = getmetatable(source) or class_name and require('pl.' .. class_name)
   return metatable and setmetatable(result, metatable) or result
end

function arguments.of_class(result, class_name) return setmetatable(result, require('pl.' .. class_name)) end

arguments.callable = utils.function_arg

-- first and last as in string.sub: negative ones count from the end.
function arguments.slice(t, first, last)
   local n = #t
   first, last = first or 1, last or n
   if first < 0 then first = n + first + 1 end
   if last < 0 then last = n + last + 1 end
   return first, last
end

return arguments
