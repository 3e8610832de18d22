-- Compiles a template to Lua source with the same number of lines, so that errors name the template's lines.
local utils = require 'pl.utils'

local compiler = {}

local function put(expression) return ' __parts[#__parts + 1] = ' .. expression .. ';' end

-- Adds a text that contains only expressions.
local function add_text(pieces, text, inline, without_line_ends)
   local place = 1
   for first, expression, after in text:gmatch(inline) do
      pieces[#pieces + 1] = put(('%q'):format(text:sub(place, first - 1)))
      pieces[#pieces + 1] = put(("__show((%s) or '')"):format(expression:sub(2, -2)))
      place = after
   end
   local rest, removed = text:sub(place), 0
   if without_line_ends then rest, removed = rest:gsub('\n', '') end
   if rest ~= '' then pieces[#pieces + 1] = put(('%q'):format(rest)) end
   if removed > 0 then pieces[#pieces + 1] = ('\n'):rep(removed) end
   return rest
end

-- Returns source that returns a function that returns a list of parts; for a template without Lua, source that returns
-- the text, and true.
function compiler.source(text, options)
   local inline = ('()%s(%%b%s)()'):format(utils.escape(options.inline_escape or '$'), options.inline_brackets or '()')
   local escape = utils.escape(options.escape or '#')
   local lua_line, next_lua_line = '^' .. escape .. '+([^\n]*\n?)', '\n' .. escape .. '+([^\n]*\n?)'
   local pieces, place = {}, 1
   local rest
   while true do
      local _, last, code = text:find(lua_line, place)
      if not last then
         local line_end
         line_end, last, code = text:find(next_lua_line, place)
         rest = add_text(pieces, text:sub(place, line_end), inline, options.newline)
         if not last then break end
      end
      pieces[#pieces + 1] = code:sub(-1) == '\n' and code or code .. '\n'
      place = last + 1
   end
   if #pieces == 1 and rest ~= '' then return ('return %q'):format(rest), true end
   return 'return function() local __parts, __show = {}, __tostring; ' .. table.concat(pieces)
      .. ' return __parts; end'
end

return compiler
