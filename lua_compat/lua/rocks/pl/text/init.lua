-- pl.text: paragraphs, templates, and % for strings.
local Template = require 'pl.text.Template'
local utils = require 'pl.utils'
local assert_arg = utils.assert_arg

local text = { Template = Template }

local function each_line(s, f)
   local lines = utils.split(s, '\n')
   for i, line in ipairs(lines) do lines[i] = f(line) end
   return table.concat(lines, '\n') .. '\n'
end

function text.indent(s, n, character)
   assert_arg(1, s, 'string')
   assert_arg(2, n, 'number')
   local margin = (character or ' '):rep(n)
   return each_line(s, function(line) return margin .. line end)
end

-- Removes from each line as many characters as the first line is indented by.
function text.dedent(s)
   assert_arg(1, s, 'string')
   local margin = #(utils.split(s, '\n')[1] or ''):match('^%s*')
   return each_line(s, function(line) return line:sub(margin + 1) end)
end

-- Breaks lines at about a width: a line that would end within a word extends to the word's end.
function text.wrap(s, width)
   assert_arg(1, s, 'string')
   width = width or 70
   s = s:gsub('\n', ' ')
   local lines, start = {}, 1
   while start < #s do
      local last = start + width
      if s:find("[%w']", last) then last = s:find('%W', last + 1) or #s end
      lines[#lines + 1] = s:sub(start, last):match('^%s*(.-)%s*$')
      start = math.min(last, #s) + 1
   end
   return setmetatable(lines, require 'pl.List')
end

function text.fill(s, width) return table.concat(text.wrap(s, width), '\n') .. '\n' end

-- Like string.format, but %s accepts any value.
local function format_any(format, ...)
   local values, n, i = { ... }, select('#', ...), 0
   for letter in format:gmatch('%%(.)') do
      i = i + 1
      if letter == 's' and type(values[i]) ~= 'string' then values[i] = tostring(values[i]) end
   end
   return format:format(unpack(values, 1, math.max(n, i)))
end

-- 'format' % value, % { values }, '$name' % { name = value }, '$name' % function
local function modulo(format, value)
   if type(format) ~= 'string' then error(('attempt to perform arithmetic on a %s value'):format(type(format)), 2) end
   if value == nil then return format end
   if type(value) == 'table' and getmetatable(value) == nil then
      if #value == 0 then return Template.fill_in(format, value, true) end
      return format_any(format, unpack(value))
   end
   if type(value) == 'function' then return (format:gsub('%$([%w_]+)', value)) end
   return format_any(format, value)
end

function text.format_operator() getmetatable('').__mod = modulo end

return text
