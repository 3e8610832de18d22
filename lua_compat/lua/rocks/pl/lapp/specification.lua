-- Parses the text that documents a command line: lines that start with a flag or a <parameter>, then in parentheses a
-- type, a range, alternatives or a default.
local sip = require 'pl.sip'
local values = require 'pl.lapp.values'

local match = sip.match_at_start

local function stripped(text) return text:match('^%s*(.-)%s*$') end

-- In parentheses: optionally the word `optional`, then `default VALUE`, or a type that may be followed by that.
local function read_type(text, option, name, lapp)
   local word, rest = stripped(text):match('^(%S+)(.*)$')
   rest = stripped(rest)
   if word == 'optional' then
      option.optional = true
      word, rest = rest:match('^(%S+)(.*)$')
      rest = stripped(rest)
   end
   local found = {}
   if word == 'default' then
      if rest == '' then lapp.error('value must follow default') end
      option.default, option.type = values.default(rest, nil)
      return
   elseif match('$f{min}..$f{max}', word, found) then
      option.type = 'number'
      local least, most = found.min, found.max
      function option.constraint(x) lapp.assert(least <= x and most >= x, name .. ' out of range') end
   elseif word:find('|', 1, true) then
      option.type = 'string'
      function option.constraint(text_given)
         local listed = ('|' .. word .. '|'):find('|' .. text_given .. '|', 1, true)
         lapp.assert(listed, "value '" .. text_given .. "' not in " .. word)
      end
   else
      option.type = word
   end
   local default = rest:match('^default%s+(%S.*)$')
   if default then option.default, option.type = values.default(default, option.type) end
end

-- For a line that documents an option: its name, the rest of the line, and whether it takes several values.
local function read_flag(line, specification, lapp)
   local found = {}
   if match('-$v{short}, --$o{long} $', line, found) or match('-$v{short} $', line, found)
      or match('--$o{long} $', line, found) then
      local name = found.long and found.long:gsub('[^%w%-]', '_') or found.short
      if found.long then
         if #found.rest == 1 then name = name .. found.rest end
         if found.short then specification.aliases[found.short] = name end
      end
      if found.short and not lapp.slack then
         lapp.assert(#found.short == 1, found.short .. ': short parameters should be one character')
      end
      local rest, several = found.rest:gsub('^%.%.%.%s*', '')
      return name, rest, several > 0
   end
   if match('$<{name} $', line, found) then
      local name, dots = found.name:match('([^%.]+)(.*)')
      name = name:gsub('%A', '_')
      table.insert(specification.positional, name)
      return name, found.rest, dots == '...'
   end
end

-- Returns options by name, aliases, and the names of positional parameters. lapp: the module, which reports errors.
return function(text, lapp)
   local specification = { options = {}, aliases = {}, positional = {} }
   for line in text:gmatch('([^\n]*)\n') do
      local name, rest, several = read_flag(line:match('^%s*(.*)$'), specification, lapp)
      if name then
         local option = { varargs = several }
         local found = {}
         if match('$({def} $', rest, found) or match('$({def}', rest, found) then
            read_type(found.def, option, name, lapp)
         else
            option.type, option.default = 'boolean', false
         end
         option.required = option.default == nil and not option.optional
         if not values.is_known(option.type) then lapp.error(option.type .. ' is unknown type') end
         values.apply_custom(option)
         specification.options[name] = option
      end
   end
   return specification
end
