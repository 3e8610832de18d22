-- Strings as UTF-8 characters.
local byte, char, sub, concat, floor = string.byte, string.char, string.sub, table.concat, math.floor

local text = {}

local LARGEST = 0x10FFFF

-- The code point at a position and the position after it; nil if none starts there.
function text.decode(bytes, place)
   local first = byte(bytes, place)
   if not first then return nil end
   if first < 0x80 then return first, place + 1 end
   if first < 0xC2 or first > 0xF4 then return nil end
   local more = first < 0xE0 and 1 or first < 0xF0 and 2 or 3
   local code = first % 2 ^ (6 - more)
   for next_place = place + 1, place + more do
      local follower = byte(bytes, next_place)
      if not follower or follower < 0x80 or follower > 0xBF then return nil end
      code = code * 64 + follower % 64
   end
   local least = more == 1 and 0x80 or more == 2 and 0x800 or 0x10000
   if code < least or code > LARGEST or (code >= 0xD800 and code <= 0xDFFF) then return nil end
   return code, place + more + 1
end
local decode = text.decode

-- The bytes of a code point; nil if it does not exist.
function text.encode(code)
   if not (code >= 0 and code <= LARGEST) then return nil end  -- NaN, too
   if code < 0x80 then return char(code) end
   local tail = ''
   local limit = 0x40
   while code >= limit do
      tail = char(0x80 + code % 64) .. tail
      code = floor(code / 64)
      limit = limit == 0x40 and 0x20 or limit / 2
   end
   return char((limit == 0x20 and 0xC0 or limit == 0x10 and 0xE0 or 0xF0) + code) .. tail
end

-- The code points of a string and the byte position of each, with an additional one for the end; nil if it is not
-- UTF-8.
function text.codes(bytes)
   local codes, places, count, place = {}, {}, 0, 1
   while place <= #bytes do
      local code, behind = decode(bytes, place)
      if not code then return nil end
      count = count + 1
      codes[count], places[count] = code, place
      place = behind
   end
   places[count + 1] = place
   return codes, places, count
end

-- The characters of a string, each a string; an invalid byte counts as one.
function text.characters(bytes)
   local found, place = {}, 1
   while place <= #bytes do
      local _, behind = decode(bytes, place)
      behind = behind or place + 1
      found[#found + 1], place = sub(bytes, place, behind - 1), behind
   end
   return found
end

-- Converts a position from the end to one from the start.
function text.from_start(place, length) return place >= 0 and place or length + place + 1 end

-- Whether a byte continues a character.
function text.goes_on(bytes, place)
   local code = byte(bytes, place)
   return code and code >= 0x80 and code <= 0xBF
end

-- A string with each code point replaced by the result of a function; nil if it is not UTF-8.
function text.mapped(bytes, change)
   local codes, _, count = text.codes(bytes)
   if not codes then return nil end
   for i = 1, count do codes[i] = text.encode(change(codes[i])) end
   return concat(codes)
end

return text
