-- Argument checks, and the treatment of errors.
local checks = {}

-- level: of `error`; 2 is the function that called this one.
function checks.assert_arg(index, value, kind, verify, message, level)
   if type(value) ~= kind then
      error(("argument %d expected a '%s', got a '%s'"):format(index, kind, type(value)), level or 2)
   end
   if verify and not verify(value) then
      error(("argument %d: '%s' %s"):format(index, value, message), level or 2)
   end
   return value
end

function checks.assert_string(index, value) return checks.assert_arg(index, value, 'string', nil, nil, 3) end

local mode = 'default'

-- Chooses what raise does from now on.
function checks.on_error(new)
   if new == 'default' or new == 'error' or new == 'quit' then
      mode = new
      return
   end
   local problem = "Bad argument expected string; 'default', 'quit', or 'error'. Got '" .. tostring(new) .. "'"
   if mode == 'default' then error(problem, 2) end
   return checks.raise(problem)
end

-- Returns nil and the error; or raises it, or ends the program, if on_error chose that.
function checks.raise(problem)
   if mode == 'default' then return nil, problem end
   if mode == 'quit' then require('pl.utils').quit(problem) end
   error(problem, 2)
end

return checks
