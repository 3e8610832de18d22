-- Functions that take their arguments in order or by name, and print their usage if one is missing.
local sys = require 'sys'

local MOST = 64   -- arguments of a function
local COLUMN = 40 -- where the help of an argument starts
local RULE = ('+'):rep(69)

local function padded(text) return text .. (' '):rep(COLUMN - #text) end

local function optional(text, required) return required and text or '[' .. text .. ']' end

local function default_text(parameter)
   if type(parameter.default) == 'table' then
      return ('  [default = %s]'):format(xlua.table2string(parameter.default))
   elseif parameter.default ~= nil then
      return ('  [default = %s]'):format(tostring(parameter.default))
   elseif parameter.defaulta then
      return ('  [default == %s]'):format(parameter.defaulta)
   end
   return ''
end

local function named_lines(name, parameters)
   local lines = { name .. '{' }
   for _, p in ipairs(parameters) do
      lines[#lines + 1] = padded('    ' .. optional(p.arg .. ' = ' .. p.type, p.req)) .. '-- ' .. (p.help or '')
         .. default_text(p)
   end
   lines[#lines + 1] = '}'
   return lines
end

-- An empty string separates alternative ways of calling.
local function ordered_lines(name, parameters)
   local lines = { name .. '(' }
   for _, p in ipairs(parameters) do
      if p == '' then
         lines[#lines + 1] = ')'
         lines[#lines + 1] = name .. '('
      else
         lines[#lines + 1] = padded('    ' .. optional(p.type, p.req)) .. '-- ' .. (p.help or '')
      end
   end
   lines[#lines + 1] = ')'
   return lines
end

-- Examples of calls: with the arguments by name, or in order.
local function usage_lines(name, parameters)
   if parameters[1] and parameters[1].tabled then parameters = parameters[1].tabled end
   local lines = parameters[1] and parameters[1].arg and named_lines(name, parameters)
      or ordered_lines(name, parameters)
   return table.concat(lines, '\n')
end

-- The help of a function. Its arguments are {arg=, type=, help=, req=, default=, defaulta=}, or {type=, help=, req=} in
-- order; or one table with the list in its field `tabled`.
function xlua.usage(name, description, example, ...)
   local c = sys.COLORS
   local parts = { RULE, c.Magenta .. name .. c.none }
   if description then parts[#parts + 1] = '\n' .. description end
   parts[#parts + 1] = '\n' .. c.blue .. '> ' .. c.none .. 'usage:'
   parts[#parts + 1] = c.cyan .. usage_lines(name, { ... }) .. '\n' .. c.none
   if example then parts[#parts + 1] = c.cyan .. example .. c.none end
   parts[#parts + 1] = RULE
   return table.concat(parts, '\n')
end

-- The text is only made when it is printed, because only errors need it.
local function usage_of(usage, name, description, parameters)
   return setmetatable({}, { __tostring = function()
      local example
      local first, second = parameters[1], parameters[2]
      if second then
         example = ('%s{%s=%s, %s=%s}\n%s(%s, ...)'):format(name, second.arg, second.type, first.arg, first.type,
            name, first.type)
      end
      return usage(name, description, example, { tabled = parameters })
   end })
end

local function by_name(arguments)
   local only = arguments[1]
   return #arguments == 1 and type(only) == 'table' and #only == 0 and not torch.typename(only)
end

-- The arguments by name and in order, with defaults: a table, then `count` values. usage(name, description, example,
-- parameters) makes the help that is printed if a required one is missing, colors.error and colors.none enclose the
-- message; fail() raises the error.
local function collect(usage, fail, colors, count, arguments, name, description, parameters)
   local help = usage_of(usage, name, description, parameters)
   local given = arguments[1]
   if not by_name(arguments) then
      given = {}
      for i, p in ipairs(parameters) do given[p.arg] = arguments[i] end
   end
   local values = { usage = help }
   for i, p in ipairs(parameters) do
      local value = given[p.arg]
      if value == nil then
         if p.req then
            print(colors.error .. 'missing argument: ' .. p.arg .. colors.none)
            print(help)
            fail()
         end
         value = p.default
         if value == nil and p.defaulta then value = values[p.defaulta] end
      end
      values[i], values[p.arg] = value, value
   end
   return values, unpack(values, 1, count)
end

local COLORS = { error = sys.COLORS.Red, none = sys.COLORS.none }

local function fail() xlua.error('error') end

-- A function's arguments, passed in order or by name in one table: returns a table of them, then each in order. Prints
-- the usage and raises an error if a required one is missing, or if none are given.
function xlua.unpack(arguments, name, description, ...)
   local parameters = { ... }
   if #parameters > MOST then xlua.error(('<xlua.unpack> more than %d arguments'):format(MOST)) end
   if #arguments == 0 then
      print(usage_of(xlua.usage, name, description, parameters))
      fail()
   end
   -- as many values as in Torch7, because scripts may count them
   return collect(xlua.usage, fail, COLORS, MOST, arguments, name, description, parameters)
end

-- The same, with the arguments stored in the fields of an object.
function xlua.unpack_class(object, arguments, name, description, ...)
   for key, value in pairs((xlua.unpack(arguments, name, description, ...))) do
      if type(key) ~= 'number' then object[key] = value end
   end
end

-- Makes a module print its name and description.
function xlua.usage_module(module, name, description)
   local c = sys.COLORS
   local parts = { c.magenta .. RULE, 'PACKAGE:', name }
   if description then parts[#parts + 1] = '\nDESC:\n' .. description end
   parts[#parts + 1] = RULE .. c.none
   local text = table.concat(parts, '\n')
   local metatable = getmetatable(module) or {}
   metatable.__tostring = function() return text end
   setmetatable(module, metatable)
   return text
end

return { collect = collect, usage_lines = usage_lines, usage_of = usage_of }
