-- Writes strings as Lua source.
local utils = require 'pl.utils'

local quoting = {}

-- The largest number of = between two brackets of the same kind; nil if there is no such pair.
local function longest_level(s)
   local longest, place = nil, 1
   while true do
      local _, last, _, level = s:find('([%[%]])(=*)%1', place)
      if not last then return longest end
      longest = math.max(longest or 0, #level)
      place = last -- it may also start the next pair
   end
end

-- Uses long brackets for strings with line breaks or long brackets of their own; these cannot contain a carriage
-- return.
function quoting.quote_string(s)
   utils.assert_arg(1, s, 'string')
   local level = longest_level(s .. ']')
   if s:find('\r') or not (level or s:find('\n')) then return (('%q'):format(s):gsub('\r', '\\r')) end
   local equals = ('='):rep((level or -1) + 1)
   if s:sub(1, 1) == '\n' then s = '\n' .. s end -- Lua skips the first line break
   return '[' .. equals .. '[' .. s .. ']' .. equals .. ']'
end

return quoting
