-- lua-utf8: strings as UTF-8 characters, as in luautf8 0.1: Lua 5.3's utf8, and Lua's string functions by characters
-- instead of bytes.
local text, properties, search = require 'lua-utf8.text', require 'lua-utf8.properties', require 'lua-utf8.search'
local decode, characters = text.decode, text.characters
local from_start, goes_on = text.from_start, text.goes_on
local sub, concat, floor, type = string.sub, table.concat, math.floor, type
local properties_of = properties.of
local INVALID = 'invalid UTF-8 code'

local utf8 = {
   charpattern = '[%z\1-\127\194-\244][\128-\191]*',
   find = search.find, match = search.match, gmatch = search.gmatch, gsub = search.gsub,
}

function utf8.char(...)
   local pieces = {}
   for number = 1, select('#', ...) do
      pieces[number] = text.encode((select(number, ...)))
         or error(("bad argument #%d to 'char' (value out of range)"):format(number), 2)
   end
   return concat(pieces)
end

-- The number of characters that start from byte first to byte last; nil and the position of an invalid byte.
function utf8.len(bytes, first, last)
   local place, stop = from_start(first or 1, #bytes), from_start(last or -1, #bytes)
   local count = 0
   while place <= stop do
      local _, behind = decode(bytes, place)
      if not behind then return nil, place end
      place, count = behind, count + 1
   end
   return count
end

-- The code points of the characters that start from byte first to byte last.
function utf8.codepoint(bytes, first, last)
   local place = from_start(first or 1, #bytes)
   local stop = from_start(last or place, #bytes)
   if place < 1 or stop > #bytes then error('out of range', 2) end
   local codes = {}
   while place <= stop do
      local code, behind = decode(bytes, place)
      if not code then error(INVALID, 2) end
      codes[#codes + 1], place = code, behind
   end
   return unpack(codes)
end

local function next_code(bytes, place)
   local _, behind = nil, 1
   if place > 0 then _, behind = decode(bytes, place) end
   if behind > #bytes then return nil end
   local code = decode(bytes, behind)
   if not code then error(INVALID, 2) end
   return behind, code
end

function utf8.codes(bytes) return next_code, bytes, 0 end

-- The start of the character that is `steps` characters after the one at a byte (negative: before it).
local function moved(bytes, place, steps)
   local step = steps < 0 and -1 or 1
   if steps == 0 then
      while place > 1 and goes_on(bytes, place) do place = place - 1 end
      return place
   end
   for _ = 1, steps * step do
      if step > 0 and place > #bytes or step < 0 and place <= 1 then return nil end
      repeat place = place + step until place <= 1 or not goes_on(bytes, place)
   end
   return place
end

-- The start of the n-th character from a byte on. n = 0: the character that contains the byte; negative: before it.
function utf8.offset(bytes, n, start)
   local place = from_start(start or (n >= 0 and 1 or #bytes + 1), #bytes)
   if place < 1 or place > #bytes + 1 then error('position out of range', 2) end
   if n ~= 0 and goes_on(bytes, place) then error('initial position is a continuation byte', 2) end
   return moved(bytes, place, n > 0 and n - 1 or n)
end

-- The position and code point of the character `steps` (default 1) after the one at a position; without a position, of
-- the first: for place, code in utf8.next, text. Nothing after the last.
function utf8.next(bytes, place, steps)
   steps = steps or (place and 1 or 0)
   place = from_start(place or 1, #bytes)
   local found = moved(bytes, math.min(math.max(place, 1), #bytes + 1), steps)
   if not found or found > #bytes then return end
   return found, decode(bytes, found) or 0
end

-- Characters first to last, counted from 1 or (negative) from the end.
local function range(count, first, last)
   first, last = from_start(first, count), from_start(last, count)
   return first < 1 and 1 or first, last > count and count or last
end

function utf8.sub(bytes, first, last)
   local all = characters(bytes)
   first, last = range(#all, first, last or -1)
   return first <= last and concat(all, '', first, last) or ''
end

function utf8.byte(bytes, first, last)
   local part = utf8.sub(bytes, first or 1, last or first or 1)
   if part ~= '' then return utf8.codepoint(part, 1, #part) end
end

-- By default a combining mark (such as an accent) stays after its character; lax: single characters.
function utf8.reverse(bytes, lax)
   local all, reversed = characters(bytes), {}
   local last = #all
   for place = last, 1, -1 do
      local code = decode(all[place], 1)
      if not (lax or code) then error(INVALID, 2) end
      if lax or not properties_of(code).classes.t or place == 1 then
         reversed[#reversed + 1] = concat(all, '', place, last)
         last = place - 1
      end
   end
   return concat(reversed)
end

-- Inserts another text before a character; at the end by default.
function utf8.insert(bytes, place, other)
   if type(place) ~= 'number' then return bytes .. place end
   local all = characters(bytes)
   local before = place == 0 and #all + 1 or from_start(place, #all)
   if before < 1 or before > #all + 1 then error("bad argument #2 to 'insert' (invalid index)", 2) end
   return concat(all, '', 1, before - 1) .. other .. concat(all, '', before)
end

-- Removes the characters first to last, by default the last one.
function utf8.remove(bytes, first, last)
   local all = characters(bytes)
   first, last = range(#all, first or -1, last or -1)
   if first > last then return bytes end
   return concat(all, '', 1, first - 1) .. concat(all, '', last + 1)
end

-- The position and code point of a character: the number-th of the text (charpos(bytes, number); negative: from the
-- end), or the number-th after the one at a position (charpos(bytes, place, number)).
function utf8.charpos(bytes, place, number)
   if number then return utf8.next(bytes, place or 1, number) end
   number = place or 0
   if number < 0 then return utf8.next(bytes, #bytes + 1, number) end
   return utf8.next(bytes, 1, number > 0 and number - 1 or 0)
end

-- The code point that a number names, as an argument of the function of that name.
local function code_point(number, name)
   number = floor(number)
   if not text.encode(number) then error(("bad argument #1 to '%s' (value out of range)"):format(name), 3) end
   return number
end

-- Letter case: of a text, or of a code point.
for _, case in ipairs{ 'lower', 'upper', 'title', 'fold' } do
   local function change(code) return properties_of(code)[case] end
   utf8[case] = function(value)
      if type(value) == 'number' then return change(code_point(value, case)) end
      if type(value) ~= 'string' then error('number/string expected, got ' .. type(value), 2) end
      return text.mapped(value, change) or error(INVALID, 2)
   end
end

-- Compares without regard to case, character by character: -1, 0 or 1.
function utf8.ncasecmp(one, other)
   local a, b = text.codes(one), text.codes(other)
   if not a or not b then error(INVALID, 2) end
   for place = 1, math.max(#a, #b) do
      if not a[place] then return -1 elseif not b[place] then return 1 end
      local x, y = properties_of(a[place]).fold, properties_of(b[place]).fold
      if x ~= y then return x > y and 1 or -1 end
   end
   return 0
end

-- The width of a character on a terminal; wide: ambiguous characters take two columns.
local function columns(code, wide, default)
   local width = properties_of(code).width or (wide and 2 or 1)
   return width == 0 and default or width
end

-- The width of a text, or of a code point; default: the width of characters that have none.
function utf8.width(value, wide, default)
   if type(value) == 'number' then return columns(code_point(value, 'width'), wide, default or 0) end
   if type(value) ~= 'string' then error('number/string expected, got ' .. type(value), 2) end
   local codes, _, count = text.codes(value)
   if not codes then error(INVALID, 2) end
   local sum = 0
   for place = 1, count do sum = sum + columns(codes[place], wide, default or 0) end
   return sum
end

-- The number of the character at a column, which of its columns that is, and its width; only the number after the last
-- character if the text is shorter.
function utf8.widthindex(bytes, column, wide, default)
   local codes, _, count = text.codes(bytes)
   if not codes then error(INVALID, 2) end
   for place = 1, count do
      local width = columns(codes[place], wide, default or 0)
      if column <= width then return place, column, width end
      column = column - width
   end
   return count + 1
end

-- The digits of an escape from a position on, in braces or not: their number and the position after them.
local function escaped_number(bytes, place, base)
   local in_brackets = sub(bytes, place, place) == '{'
   local digits, behind = bytes:match(base == 16 and '^(%x*)()' or '^(%d*)()', in_brackets and place + 1 or place)
   if in_brackets and behind <= #bytes then
      local follower = sub(bytes, behind, behind)
      if follower ~= '}' then return nil, ("invalid escape '%s'"):format(follower) end
      behind = behind + 1
   end
   return tonumber(digits, base) or 0, behind
end

-- %123, %{123}, %u123, %u{123}: the character with a decimal code; %x1F, %x{1F}: with a hexadecimal one; % and anything
-- else: the character itself.
function utf8.escape(bytes)
   local pieces, place = {}, 1
   while true do
      local at = bytes:find('%', place, true)
      if not at or at == #bytes then break end
      pieces[#pieces + 1] = sub(bytes, place, at - 1)
      local letter = sub(bytes, at + 1, at + 1):lower()
      local first = (letter == 'u' or letter == 'x') and at + 2 <= #bytes and at + 2 or letter:find('[%d{]') and at + 1
      if first then
         local code, behind = escaped_number(bytes, first, letter == 'x' and 16 or 10)
         if not code then error(behind, 2) end
         pieces[#pieces + 1], place = text.encode(code) or error('value out of range', 2), behind
      else
         local _, behind = decode(bytes, at + 1)
         if not behind then error(INVALID, 2) end
         pieces[#pieces + 1], place = sub(bytes, at + 1, behind - 1), behind
      end
   end
   pieces[#pieces + 1] = sub(bytes, place)
   return concat(pieces)
end

return utf8
