-- pl.stringx: strings with Python's methods. stringx.import() makes them methods of all strings.
local paragraphs = require 'pl.stringx.paragraphs'
local text = require 'pl.text'
local utils = require 'pl.utils'

local assert_arg, escape = utils.assert_arg, utils.escape

local stringx = { Template = text.Template, format_operator = text.format_operator }

for _, part in ipairs{ paragraphs, require 'pl.stringx.quoting' } do
   for name, f in pairs(part) do stringx[name] = f end
end

local function assert_string(index, value) assert_arg(index, value, 'string', nil, nil, 4) end
local function assert_nonempty(index, value)
   assert_arg(index, value, 'string', function(s) return #s > 0 end, 'must be a non-empty string', 4)
end

local function list(t) return setmetatable(t, require 'pl.List') end

for name, pattern in pairs{ isalpha = '^%a+$', isdigit = '^%d+$', isalnum = '^%w+$', isspace = '^%s+$',
   islower = '^[%l%s]+$', isupper = '^[%u%s]+$' } do
   stringx[name] = function(s)
      assert_string(1, s)
      return s:find(pattern) ~= nil
   end
end

-- Whether s has one of the affixes (a string or a list) at an end.
local function has_affix(s, affixes, part)
   if type(affixes) == 'string' then return part(s, #affixes) == affixes end
   if type(affixes) ~= 'table' then
      error(("argument #2 expected a 'string' or a 'table', got a '%s'"):format(type(affixes)), 3)
   end
   for _, affix in ipairs(affixes) do
      if part(s, #affix) == affix then return true end
   end
   return false
end

function stringx.startswith(s, prefix)
   assert_string(1, s)
   return has_affix(s, prefix, function(whole, n) return whole:sub(1, n) end)
end

function stringx.endswith(s, suffix)
   assert_string(1, s)
   return has_affix(s, suffix, function(whole, n) return n == 0 and '' or whole:sub(-n) end)
end

function stringx.join(s, parts)
   assert_string(1, s)
   return table.concat(parts, s)
end

function stringx.splitlines(s, keep_ends)
   assert_string(1, s)
   local lines, start = {}, 1
   while start <= #s do
      local line, ending, after = s:match('^([^\r\n]*)(\r?\n?)()', start)
      lines[#lines + 1] = keep_ends and line .. ending or line
      start = after
   end
   return list(lines)
end

-- Splits at white space, or at a delimiter, which may also be at the end; into at most n parts.
function stringx.split(s, delimiter, n)
   assert_string(1, s)
   if not delimiter then return list(utils.split((s:gsub('^%s+', '')), delimiter, false, n)) end
   local parts = utils.split(s, delimiter, true, n)
   local ends_with_it = delimiter ~= '' and s:find(delimiter, -#delimiter, true)
   if ends_with_it and (n or math.huge) > #parts then parts[#parts + 1] = '' end
   return list(parts)
end

function stringx.splitv(s, pattern)
   assert_string(1, s)
   return utils.splitv(s, pattern)
end

-- Replaces tabs by spaces up to the next tab stop of their line.
function stringx.expandtabs(s, size)
   assert_string(1, s)
   size = size or 8
   return (s:gsub('([^\t\r\n]*)\t', function(before) return before .. (' '):rep(size - #before % size) end))
end

function stringx.lfind(s, part, first, last)
   assert_string(1, s)
   assert_string(2, part)
   local start, stop = s:find(part, first, true)
   if start and (not last or stop <= last) then return start end
   return nil
end

function stringx.rfind(s, part, first, last)
   assert_string(1, s)
   assert_string(2, part)
   first, last = first or 1, last or #s
   if part == '' then return last + 1 end
   local found
   local start, stop = s:find(part, first, true)
   while start and stop <= last do
      found = start
      start, stop = s:find(part, start + 1, true)
   end
   return found
end

function stringx.replace(s, old, new, n)
   assert_string(1, s)
   assert_string(2, old)
   assert_string(3, new)
   return (s:gsub(escape(old), (new:gsub('%%', '%%%%')), n))
end

function stringx.count(s, part, overlapping)
   assert_string(1, s)
   if part == '' then return #s end
   local n, start, stop = 0, s:find(part, 1, true)
   while start do
      n = n + 1
      start, stop = s:find(part, overlapping and start + 1 or stop + 1, true)
   end
   return n
end

local function padding(s, width, character) return (character or ' '):rep(math.max(0, width - #s)) end

function stringx.ljust(s, width, character)
   assert_string(1, s)
   assert_arg(2, width, 'number')
   return s .. padding(s, width, character)
end

function stringx.rjust(s, width, character)
   assert_string(1, s)
   assert_arg(2, width, 'number')
   return padding(s, width, character) .. s
end

function stringx.center(s, width, character)
   assert_string(1, s)
   assert_arg(2, width, 'number')
   if width <= #s then return s end
   local left = math.floor((width - #s) / 2)
   return (character or ' '):rep(left) .. s .. (character or ' '):rep(width - #s - left)
end

local function class_of(characters) return characters and '[' .. escape(characters) .. ']' or '%s' end

local function stripped_left(s, characters) return (s:gsub('^' .. class_of(characters) .. '*', '')) end

local function stripped_right(s, characters)
   local class, last = '^' .. class_of(characters), #s
   while last > 0 and s:find(class, last) do last = last - 1 end
   return s:sub(1, last)
end

function stringx.lstrip(s, characters)
   assert_string(1, s)
   return stripped_left(s, characters)
end

function stringx.rstrip(s, characters)
   assert_string(1, s)
   return stripped_right(s, characters)
end

function stringx.strip(s, characters)
   assert_string(1, s)
   return stripped_right(stripped_left(s, characters), characters)
end

-- The parts before, at and after a delimiter.
function stringx.partition(s, delimiter)
   assert_string(1, s)
   assert_nonempty(2, delimiter)
   local start = stringx.lfind(s, delimiter)
   if not start then return s, '', '' end
   return s:sub(1, start - 1), delimiter, s:sub(start + #delimiter)
end

function stringx.rpartition(s, delimiter)
   assert_string(1, s)
   assert_nonempty(2, delimiter)
   local start = stringx.rfind(s, delimiter)
   if not start then return '', '', s end
   return s:sub(1, start - 1), delimiter, s:sub(start + #delimiter)
end

function stringx.at(s, place)
   assert_string(1, s)
   assert_arg(2, place, 'number')
   return s:sub(place, place)
end

function stringx.lines(s)
   assert_string(1, s)
   if s:sub(-1) ~= '\n' then s = s .. '\n' end
   return s:gmatch('([^\n]*)\n')
end

function stringx.title(s)
   assert_string(1, s)
   return (s:gsub('(%S)(%S*)', function(first, rest) return first:upper() .. rest:lower() end))
end
stringx.capitalize = stringx.title

local ELLIPSIS = '...'

-- tail: keep the end of the string instead of its start.
function stringx.shorten(s, width, tail)
   assert_string(1, s)
   if #s <= width then return s end
   if width < #ELLIPSIS then return ELLIPSIS:sub(1, width) end
   local kept = width - #ELLIPSIS
   if tail then return ELLIPSIS .. s:sub(#s - kept + 1) end
   return s:sub(1, kept) .. ELLIPSIS
end

function stringx.import() utils.import(stringx, string) end

return stringx
