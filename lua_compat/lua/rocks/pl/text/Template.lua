-- Templates with $name and ${name}.
local types = require 'pl.types'
local utils = require 'pl.utils'
local assert_arg = utils.assert_arg

local Template = {}
Template.__index = Template
setmetatable(Template, { __call = function(_, text) return Template.new(text) end })

function Template.new(text)
   assert_arg(1, text, 'string')
   return setmetatable({ tmpl = text }, Template)
end

local function absent(name) error('not present in table ' .. name, 0) end

-- Replaces names by their values in a table or function; safe: unknown names remain.
function Template.fill_in(text, values, safe)
   local value_of = values
   if not types.is_callable(values) then
      function value_of(name)
         local value = values[name]
         if value then return value end
         return safe and name or error('not present in table ' .. name)
      end
   end
   text = text:gsub('%${([%w_]+)}', value_of)
   return (text:gsub('%$([%w_]+)', value_of))
end

function Template:substitute(values)
   assert_arg(1, values, 'table')
   return Template.fill_in(self.tmpl, values, false)
end

function Template:safe_substitute(values)
   assert_arg(1, values, 'table')
   return Template.fill_in(self.tmpl, values, true)
end

local function indented(text, margin)
   local lines = utils.split(text, '\n')
   for i, line in ipairs(lines) do lines[i] = margin .. line end
   return table.concat(lines, '\n') .. '\n'
end

-- A value with several lines is indented like its name; a template is filled in from the same table.
function Template:indent_substitute(values)
   assert_arg(1, values, 'table')
   self.strings = self.strings or utils.split(self.tmpl, '\n')
   local lines = {}
   for i, line in ipairs(self.strings) do
      lines[i] = line:gsub('(%s*)%$([%w_]+)', function(margin, name)
         local value = values[name] or absent(name)
         local inner = getmetatable(value) == Template
         local text = inner and value.tmpl or tostring(value)
         if text:find('\n') then text = indented(text, margin) end
         return inner and Template.fill_in(text, values) or text
      end)
   end
   return table.concat(lines, '\n') .. '\n'
end

return Template
