-- Errors in Torch7's wording. Functions written in C raised them without a position, so these have none.
local type, tonumber, tostring, error = type, tonumber, tostring, error
local errors = {}

errors.described = type -- class.typename, once there are classes

-- where: the place in Torch7's C sources that scripts may have seen in the message, or nil
function errors.argument(index, message, where)
   if where then message = message .. ' at ' .. where end
   error(("bad argument #%d to '?' (%s)"):format(index, message), 0)
end

function errors.raise(message, where)
   if where then message = message .. ' at ' .. where end
   error(message, 0)
end

-- Every number that becomes a size, a stride, an offset or an index of memory passes one of these two. Numbers of Lua are
-- exact up to 2^53; NaN and the infinities leave NaN as a remainder.
local MOST = 2 ^ 53
errors.MOST = MOST

-- value as a whole number, a fraction left out.
function errors.whole(value, position)
   local number = tonumber(value)
   if not number then
      errors.argument(position, 'number expected, got ' .. (value == nil and 'no value' or errors.described(value)))
   end
   local whole = number >= 0 and number - number % 1 or -(-number - -number % 1)
   if not (whole >= -MOST and whole <= MOST) then
      errors.argument(position, ('a whole number between -2^53 and 2^53 expected, got %s'):format(tostring(number)))
   end
   return whole
end

-- Raises unless value is a whole number already, from least on: what is computed from checked numbers.
function errors.check_whole(value, least, what)
   if type(value) ~= 'number' or value % 1 ~= 0 or value < least or value > MOST then
      error(('%s: a whole number from %s to 2^53 expected, got %s'):format(what, least == -MOST and '-2^53' or least,
         type(value) == 'number' and tostring(value) or type(value)), 0)
   end
end

return errors
