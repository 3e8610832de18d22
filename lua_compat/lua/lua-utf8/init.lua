-- lua-utf8: strings as characters of UTF-8. What Lua 5.3's utf8 has, and sub, byte, reverse, insert and remove by
-- characters; the functions with patterns and letter case are not there.
local byte, char, sub, concat, floor = string.byte, string.char, string.sub, table.concat, math.floor

local utf8 = { charpattern = '[%z\1-\127\194-\244][\128-\191]*' }

local LARGEST = 0x10FFFF

-- The code point that begins at a place and the place behind it; nil where none does.
local function decode(text, place)
   local first = byte(text, place)
   if not first then return nil end
   if first < 0x80 then return first, place + 1 end
   if first < 0xC2 or first > 0xF4 then return nil end
   local more = first < 0xE0 and 1 or first < 0xF0 and 2 or 3
   local code = first % 2 ^ (6 - more)
   for next_place = place + 1, place + more do
      local follower = byte(text, next_place)
      if not follower or follower < 0x80 or follower > 0xBF then return nil end
      code = code * 64 + follower % 64
   end
   local least = more == 1 and 0x80 or more == 2 and 0x800 or 0x10000
   if code < least or code > LARGEST or (code >= 0xD800 and code <= 0xDFFF) then return nil end
   return code, place + more + 1
end

local function encode(code)
   if code < 0 or code > LARGEST then error('value out of range', 3) end
   if code < 0x80 then return char(code) end
   local tail = ''
   local room = 0x40
   while code >= room do
      tail = char(0x80 + code % 64) .. tail
      code = floor(code / 64)
      room = room == 0x40 and 0x20 or room / 2
   end
   return char((room == 0x20 and 0xC0 or room == 0x10 and 0xE0 or 0xF0) + code) .. tail
end

-- A place from the end as one from the start.
local function from_start(place, length) return place >= 0 and place or length + place + 1 end

function utf8.char(...)
   local pieces = {}
   for number = 1, select('#', ...) do pieces[number] = encode((select(number, ...))) end
   return concat(pieces)
end

-- How many characters begin from byte first to byte last; nil and the place of a byte that begins none.
function utf8.len(text, first, last)
   local place, stop = from_start(first or 1, #text), from_start(last or -1, #text)
   local count = 0
   while place <= stop do
      local _, behind = decode(text, place)
      if not behind then return nil, place end
      place, count = behind, count + 1
   end
   return count
end

-- The code points that begin from byte first to byte last.
function utf8.codepoint(text, first, last)
   local place = from_start(first or 1, #text)
   local stop = from_start(last or place, #text)
   if place < 1 or stop > #text then error('out of range', 2) end
   local codes = {}
   while place <= stop do
      local code, behind = decode(text, place)
      if not code then error('invalid UTF-8 code', 2) end
      codes[#codes + 1], place = code, behind
   end
   return unpack(codes)
end

local function next_code(text, place)
   local _, behind = nil, 1
   if place > 0 then _, behind = decode(text, place) end
   if behind > #text then return nil end
   local code = decode(text, behind)
   if not code then error('invalid UTF-8 code', 2) end
   return behind, code
end

function utf8.codes(text) return next_code, text, 0 end

local function goes_on(text, place)
   local code = byte(text, place)
   return code ~= nil and code >= 0x80 and code <= 0xBF
end

-- Where the n-th character from a byte on begins: n 0: the one that byte belongs to, negative: before it.
function utf8.offset(text, n, start)
   local place = from_start(start or (n > 0 and 1 or #text + 1), #text)
   if place < 1 or place > #text + 1 then error('position out of range', 2) end
   if n == 0 then
      while place > 1 and goes_on(text, place) do place = place - 1 end
      return place
   end
   if goes_on(text, place) then error('initial position is a continuation byte', 2) end
   local step = n > 0 and 1 or -1
   for _ = 1, (n > 0 and n - 1 or -n) do
      if step > 0 and place > #text or step < 0 and place <= 1 then return nil end
      repeat place = place + step until not goes_on(text, place)
   end
   return place
end

-- The place and code point of the character that is index characters (by default the next) behind the one at place;
-- without a place, of the first: for place, code in utf8.next, text. nil behind the last.
function utf8.next(text, place, index)
   local steps = index or (place and 1 or 0)
   local found = utf8.offset(text, steps >= 0 and steps + 1 or steps, place or 1)
   if not found or found > #text then return end
   return found, (utf8.codepoint(text, found))
end

-- The characters of a text, each a string; a byte that begins none counts as one.
local function characters(text)
   local found, place = {}, 1
   while place <= #text do
      local _, behind = decode(text, place)
      behind = behind or place + 1
      found[#found + 1], place = sub(text, place, behind - 1), behind
   end
   return found
end

-- Characters first to last, both from 1 or from the end.
local function range(count, first, last)
   first, last = from_start(first, count), from_start(last, count)
   return first < 1 and 1 or first, last > count and count or last
end

function utf8.sub(text, first, last)
   local all = characters(text)
   first, last = range(#all, first, last or -1)
   return first <= last and concat(all, '', first, last) or ''
end

function utf8.byte(text, first, last)
   local part = utf8.sub(text, first or 1, last or first or 1)
   if part ~= '' then return utf8.codepoint(part, 1, #part) end
end

function utf8.reverse(text)
   local all, reversed = characters(text), {}
   for place = #all, 1, -1 do reversed[#reversed + 1] = all[place] end
   return concat(reversed)
end

-- The text with another before a character, at its end without one.
function utf8.insert(text, place, other)
   if other == nil then return text .. place end
   local all = characters(text)
   place = from_start(place, #all)
   return concat(all, '', 1, place - 1) .. other .. concat(all, '', place)
end

-- The text without some characters, without the last if none are named.
function utf8.remove(text, first, last)
   local all = characters(text)
   first, last = range(#all, first or -1, last or first or -1)
   if first > last then return text end
   return concat(all, '', 1, first - 1) .. concat(all, '', last + 1)
end

return utf8
