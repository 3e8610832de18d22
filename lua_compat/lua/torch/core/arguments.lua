-- Converts the numbers, booleans and strings that a script passes to plain Lua values, so that no table with
-- metamethods, 64-bit integer or string reaches code that computes on memory. The rules are those of Torch7: LuaJIT's
-- FFI conversions for THNN, or those of torch's own functions.
local type, tonumber, tostring, error = type, tonumber, tostring, error
local tobit = bit.tobit
local negative_zero = require('th.python').negative_zero

local arguments = {}

-- What LuaJIT's FFI makes of a value where C expects a number: a boolean becomes 1 or 0. nil if it cannot be converted.
local function of_c(value)
   local kind = type(value)
   if kind == 'number' then return value end
   if kind == 'boolean' then return value and 1 or 0 end
   return kind == 'cdata' and tonumber(value) or nil
end

local function refuse(value, ctype)
   local kind = type(value)
   local what = kind == 'number' and tostring(value) or ("'%s'"):format(kind == 'userdata' and 'void *' or kind)
   error(("cannot convert %s to '%s'"):format(what, ctype), 0)
end

-- A number. ctype: what an error calls it, by default double.
function arguments.number(value, ctype) return of_c(value) or refuse(value, ctype or 'double') end

-- A whole number that fits C's int; a fraction is dropped. (C would silently wrap a larger one.)
function arguments.whole(value)
   local n = of_c(value) or refuse(value, 'int')
   n = n - n % 1 + ((n < 0 and n % 1 ~= 0) and 1 or 0)
   if tobit(n) ~= n then refuse(value, 'int') end
   return tobit(n)
end

-- A whole number that fits C's long, and that is compared with indices alone: one that fits no int equals none of them.
function arguments.index(value)
   local n = of_c(value) or refuse(value, 'long')
   n = n < 0 and math.ceil(n) or math.floor(n)
   return tobit(n) == n and n or -2 ^ 31
end

-- A number, or a string that reads as one.
function arguments.scalar(value)
   local kind = type(value)
   local n = (kind == 'number' or kind == 'string') and tonumber(value)
   if not n then error(('number expected, got %s'):format(kind), 0) end
   return n
end

-- What Python is given of a number, so that zero keeps its sign.
local function signed(n) return n == 0 and 1 / n < 0 and negative_zero or n end
arguments.signed = signed
function arguments.signed_number(value) return signed(arguments.number(value)) end

-- A boolean: nil is false, and so is the number 0.
function arguments.flag(value)
   if type(value) == 'nil' then return false end
   return (of_c(value) or refuse(value, 'bool')) ~= 0
end

-- What Lua's `if` makes of a value, and whether it is true itself.
function arguments.truth(value) return value and true or false end
function arguments.exact(value) return type(value) == 'boolean' and value end

function arguments.text(value)
   if type(value) ~= 'string' then error(('string expected, got %s'):format(type(value)), 0) end
   return value
end

-- For templates: expressions that are true where a value still has to be converted by the functions above.
arguments.is_no_whole = "type($1) ~= 'number' or tobit($1) ~= $1"
arguments.is_no_index = arguments.is_no_whole
arguments.is_no_number, arguments.is_no_scalar = "type($1) ~= 'number'", "type($1) ~= 'number'"
for _, kind in ipairs{ 'flag', 'truth', 'exact' } do arguments['is_no_' .. kind] = "type($1) ~= 'boolean'" end
arguments.is_no_text = "type($1) ~= 'string'"

return arguments
