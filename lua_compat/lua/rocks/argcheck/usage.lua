-- argcheck's messages: how a function can be called, and how it was called.
local env = require 'argcheck.env'
local usage = {}

local MOST_KEYS = 20 -- shown of a table in the call

local function is_optional(rule) return rule.opt or rule.default ~= nil or rule.defaulta or rule.defaultf end

-- x, y, [z]: the text for @ARGP.
local function in_order(rules)
   local parts = {}
   for place, rule in ipairs(rules) do
      local optional = rule.opt or rule.default ~= nil or rule.defaultf
      parts[place] = (optional and '[' or '') .. (place > 1 and ', ' or '') .. rule.name .. (optional and ']' or '')
   end
   return table.concat(parts)
end

local function default_text(rule)
   if rule.defaulta then return (' [defaulta=%s]'):format(rule.defaulta) end
   if rule.defaultf then return ' [has default]' end
   local kind = type(rule.default)
   if kind == 'nil' then return '' end
   if kind == 'string' or kind == 'number' or kind == 'boolean' then
      return (' [default=%s]'):format(tostring(rule.default))
   end
   return ' [has default value]'
end

local function padded(text, width) return text .. (' '):rep(width - #text) end

-- A line for each argument, in columns: the text for @ARGT.
local function in_lines(rules)
   local widest_name, widest = 0, 0
   for _, rule in ipairs(rules) do widest_name = math.max(widest_name, #rule.name) end
   local arguments = {}
   for place, rule in ipairs(rules) do
      local optional = is_optional(rule)
      arguments[place] = (optional and '[' or ' ') .. padded(rule.name, widest_name)
         .. (rule.type and ' = ' .. rule.type or '') .. (optional and ']' or '')
      widest = math.max(widest, #arguments[place])
   end
   local lines = { '```', (rules.noordered and '' or '(') .. (rules.nonamed and '' or '{') }
   for place, rule in ipairs(rules) do
      lines[#lines + 1] = ('  %s  -- %s%s%s'):format(padded(arguments[place], widest), rule.help or '', rule.doc or '',
         default_text(rule))
   end
   lines[#lines + 1] = (rules.nonamed and '' or '}') .. (rules.noordered and '' or ')')
   lines[#lines + 1] = '```'
   return table.concat(lines, '\n')
end

local function of_rules(rules)
   local text = rules.help or rules.doc
   if not text then return '\n*Arguments:*\n' .. in_lines(rules) end
   text = text:gsub('@ARGP', function() return in_order(rules) end)
   return (text:gsub('@ARGT', function() return in_lines(rules) end))
end

local function keys_of(t)
   local parts = {}
   for key, value in pairs(t) do
      if #parts == MOST_KEYS then
         parts[#parts + 1] = '...'
         break
      end
      parts[#parts + 1] = type(key) == 'string' and ('**%s=%s**'):format(key, env.type(value))
         or ('**[%s]**=?'):format(env.type(key))
   end
   return ('**table**={ %s }'):format(table.concat(parts, ', '))
end

local function of_call(graph, ...)
   local got, n = {}, select('#', ...)
   for place = 1, n do got[place] = ('**%s**'):format(env.type((select(place, ...)))) end
   local place = graph:hasruletype('N') and 1 or graph:hasruletype('M') and 2 or nil
   if place == n and env.istype((select(place, ...)), 'table') then got[place] = keys_of((select(place, ...))) end
   return '*Got:* ' .. table.concat(got, ', ')
end

-- Renders Markdown in colours if both outputs are terminals and sundown is available.
function usage.render(text)
   if torch.isatty(io.stderr) and torch.isatty(io.stdout) then
      local found, ascii = pcall(require, 'sundown.ascii')
      if found then return ascii.render(text) end
   end
   return text
end

-- usage(true, rules): how a function with these rules can be called; usage(false, graph, ...): how it was called.
function usage.usage(wanted, rules, ...)
   if wanted then return of_rules(rules) end
   return of_call(rules, ...)
end

return usage
