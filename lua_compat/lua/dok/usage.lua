-- dok.usage and dok.unpack: functions whose arguments have names, types, defaults and help.
local arguments = require 'xlua.arguments'
local style = require 'dok.style'
local evaluate = require('dok.manual').evaluate

local MOST = 64 -- arguments of a function

-- The documentation of a function or, if there is none, its name and description; then its usage.
function dok.usage(name, description, example, ...)
   dok.usecolors() -- as dok.help does
   local is_value, value = evaluate(name)
   local parts = { is_value and dok.help(value, true) or nil }
   if not parts[1] then
      parts[1] = style.banner .. '\n' .. style.title .. name .. style.none .. '\n'
      if description then parts[2] = '\n' .. description .. '\n' end
   end
   parts[#parts + 1] = '\n' .. style.list .. 'usage:\n' .. style.pre .. arguments.usage_lines(name, { ... }) .. '\n'
      .. style.none
   if example then parts[#parts + 1] = '\n' .. style.pre .. example .. style.none .. '\n' end
   parts[#parts + 1] = style.banner
   return table.concat(parts)
end

local function fail() error('error') end

-- A function's arguments, passed in order or by name in one table: returns a table of them, then each in order.
function dok.unpack(given, name, description, ...)
   local parameters = { ... }
   if #parameters > MOST then error(('<dok.unpack> more than %d arguments'):format(MOST), 2) end
   if given.__printhelp then
      print(arguments.usage_of(dok.usage, name, description, parameters))
      fail()
   end
   return arguments.collect(dok.usage, fail, style, #parameters, given, name, description, parameters)
end

function dok.error(message, domain)
   if domain then message = '<' .. domain .. '> ' .. message end
   error(style.error .. tostring(message) .. style.none)
end
