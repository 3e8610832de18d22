-- pl.pretty: writes tables as Lua source, and reads them back.
local Writer = require 'pl.pretty.Writer'
local isolation = require 'pl.pretty.isolation'
local lexer = require 'pl.lexer'
local utils = require 'pl.utils'

local pretty = {}

local function has_keyword(source, keywords)
   for kind, value in lexer.lua(source) do
      if kind == 'keyword' and keywords[value] then return true end
   end
   return false
end

-- Reads the source of a table, which must not contain functions. Returns it, or nil and an error.
function pretty.read(source)
   utils.assert_arg(1, source, 'string')
   if source:find('^%s*%-%-') then source = source:gsub('%-%-.-\n', '') end
   if not source:find('^%s*{') then return nil, 'not a Lua table' end
   if source:find('[^\'"%w_]function[^\'"%w_]') and has_keyword(source, { ['function'] = true }) then
      return nil, 'cannot have functions in table definition'
   end
   local chunk, problem = utils.load('return ' .. source, 'tbl', 't', {})
   if not chunk then return nil, problem end
   local ok, result = isolation.run(chunk)
   if not ok then return nil, result end
   return result
end

local LOOPS = { ['for'] = true, ['repeat'] = true, ['function'] = true, ['goto'] = true, ['while'] = true }

-- Runs source in an environment and returns that. strict: no loops, and no string methods.
function pretty.load(source, environment, strict)
   environment = environment or {}
   if strict and has_keyword(source, LOOPS) then return nil, 'looping not allowed' end
   local chunk, problem = utils.load(source, 'tbl', 't', environment)
   if not chunk then return nil, problem end
   local ok, result = (strict and isolation.run or pcall)(chunk)
   if not ok then return nil, result end
   return environment
end

-- space: the indentation; '' writes everything on one line. plain: all keys in brackets.
function pretty.write(value, space, plain)
   if type(value) == 'string' then return Writer.quoted(value) end
   if type(value) ~= 'table' then return Writer.plain(value), 'not a table' end
   return Writer.write(value, space or '  ', plain)
end

function pretty.dump(t, file_name)
   local text = pretty.write(t)
   if file_name then return utils.writefile(file_name, text) end
   print(text)
   return true
end

-- Writes all arguments, numbered.
function pretty.debug(...)
   local shown = {}
   for i = 1, select('#', ...) do
      local value = select(i, ...)
      if value == nil then value = '<nil>' end
      shown['arg ' .. i] = value
   end
   print(pretty.write(shown))
   return true
end

local function with_commas(number)
   local thousands = math.floor(number / 1000)
   if thousands == 0 then return tostring(number) end
   return with_commas(thousands) .. (',%03d'):format(number % 1000)
end

local UNITS = { M = { 'B', 'KiB', 'MiB', 'GiB', factor = 1024 }, N = { '', 'K', 'M', 'B', factor = 1000 } }

-- Formats a large number: 'N' (1.2K), 'M' (memory: 1.2KiB) or 'T' (1,234).
function pretty.number(number, kind, digits)
   if kind == 'T' then return with_commas(number) end
   local units = UNITS[kind == 'M' and 'M' or 'N']
   local scale, place = 1, 1
   while number / scale >= units.factor and place < #units do
      scale, place = scale * units.factor, place + 1
   end
   if place == 1 then return number .. units[1] end
   return ('%.' .. (digits or 1) .. 'f%s'):format(number / scale, units[place])
end

-- pretty(...) is pretty.debug(...).
return setmetatable(pretty, { __call = function(_, ...) return pretty.debug(...) end })
