-- pl.lexer: streams of tokens. A stream is a function that returns the next token's kind and value. With an argument it
-- does something else: a pattern reads up to its match, a list of tokens is inserted before the rest, any other value
-- asks for the position.
local rules = require 'pl.lexer.rules'

local lexer = {}

local function assert_kind(index, value, kind)
   if type(value) ~= kind then error('argument ' .. index .. ' must be ' .. kind, 3) end
end

-- The actions of tokens that a filter omits.
local function left_out(filter)
   return { [rules.space] = filter.space, [rules.comment] = filter.comments }
end

-- source: a text, or an object whose method read returns lines.
function lexer.scan(source, matches, filter, options)
   matches, options = matches or rules.plain, options or { number = true, string = true }
   local skipped = left_out(filter or { space = true })
   local file = type(source) ~= 'string' and source
   local text, place, line = file and '' or source, 1, 0
   local following = file and file:read()
   local inserted = {}

   local function read_line()
      if not following then return false end
      text, place, line = following, 1, line + 1
      following = file:read()
      if following then text = text .. '\n' end
      return true
   end

   local function read_up_to(pattern)
      local first, last = text:find(pattern, place)
      local part = first and text:sub(first, last) or ''
      place = (last or #text) + 1
      return '', part
   end

   -- The first rule that matches; nil if none does.
   local function match()
      for _, rule in ipairs(matches) do
         local found = { text:find(rule[1], place) }
         if found[1] then return rule[2], found, text:sub(found[1], found[2]) end
      end
   end

   local function next_token()
      if not file and line == 0 then line = 1 end
      while true do
         if place > #text and not (file and read_line()) then return nil end
         local action, found, part = match()
         if not action then return nil end
         place = found[2] + 1
         local kind, value
         if not skipped[action] then kind, value = action(part, options, found) end
         if not file then line = line + select(2, part:gsub('\n', '')) end
         if kind then return kind, value end
      end
   end

   return function(request)
      local token = table.remove(inserted, 1)
      if token then return token[1], token[2] end
      if request == nil then return next_token() end
      if type(request) == 'string' then return read_up_to(request) end
      if type(request) == 'table' then
         for i, one in ipairs(request) do inserted[i] = one end
         return '', ''
      end
      return line, place
   end
end

-- Inserts a token (kind, value), a list of tokens, or a stream's tokens before the rest.
function lexer.insert(stream, first, second)
   if not first then return end
   local tokens = first
   if type(first) == 'string' and type(second) == 'string' then
      tokens = { { first, second } }
   elseif type(first) == 'function' then
      tokens = {}
      for kind, value in first() do tokens[#tokens + 1] = { kind, value } end
   end
   stream(tokens)
end

local function part_of(stream, pattern)
   local _, part = stream(pattern)
   return part
end

function lexer.getline(stream) return part_of(stream, '.-\n') end
function lexer.getrest(stream) return part_of(stream, '.+') end
function lexer.lineno(stream) return stream(0) end

function lexer.get_keywords() return rules.lua_keywords end

function lexer.lua(source, filter, options)
   return lexer.scan(source, rules.lua, filter or { space = true, comments = true }, options)
end

function lexer.cpp(source, filter, options)
   return lexer.scan(source, rules.cpp, filter or { space = true, comments = true }, options)
end

-- The lists of tokens between delimiters, up to the closing bracket or another end.
function lexer.get_separated_list(stream, end_token, delimiter)
   end_token, delimiter = end_token or ')', delimiter or ','
   local function is_end(kind, value)
      if end_token == '\n' then return kind == 'space' and value:find('\n') end
      return kind == end_token
   end
   local lists, current, depth = {}, {}, 1
   while true do
      local kind, value = stream()
      if not kind then return nil, 'EOS' end
      if kind == '(' then depth = depth + 1 elseif kind == ')' then depth = depth - 1 end
      local ends_here = kind == ')' and depth == 0 or depth == 1 and kind ~= ')' and is_end(kind, value)
      if ends_here then
         lists[#lists + 1] = current
         return lists, { kind, value }
      elseif kind == delimiter and depth == 1 then
         lists[#lists + 1] = current
         current = {}
      else
         current[#current + 1] = { kind, value or kind }
      end
   end
end

function lexer.skipws(stream)
   local kind, value
   repeat kind, value = stream() until kind ~= 'space'
   return kind, value
end

-- The value of the next token, which must be of the given kind.
function lexer.expecting(stream, expected, with_spaces)
   assert_kind(1, stream, 'function')
   assert_kind(2, expected, 'string')
   local read = with_spaces and stream or lexer.skipws
   local kind, value = read(not with_spaces and stream or nil)
   if kind ~= expected then error('expecting ' .. expected, 2) end
   return value
end

return lexer
