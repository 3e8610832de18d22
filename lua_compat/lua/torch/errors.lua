-- Errors in Torch7's wording. Functions written in C raised them without a position, so these have none.
local errors = {}

-- where: the place in Torch7's C sources that scripts may have seen in the message, or nil
function errors.argument(index, message, where)
   if where then message = message .. ' at ' .. where end
   error(("bad argument #%d to '?' (%s)"):format(index, message), 0)
end

function errors.raise(message, where)
   if where then message = message .. ' at ' .. where end
   error(message, 0)
end

return errors
