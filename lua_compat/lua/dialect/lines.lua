-- The lines of a function that was compiled from two texts, of which each has some wrong (source.joined): in the first
-- a call's ( stands too high, and so does the call; in the second what is called stands too low, a call within it
-- perhaps too high. Of a call the lower line is right, of all else the first text's. Both are bytecode as string.dump
-- gives it, the same but for the lines.
local byte, concat, loadstring, sub = string.byte, table.concat, loadstring, string.sub
local band = bit.band
local funcbc = require('jit.util').funcbc

local BIG_ENDIAN, STRIPPED = 1, 2 -- flags of a dump
local INSTRUCTION_BYTES = 4

-- The instructions that call, by their codes.
local calls
local function call_codes()
   local codes = {}
   for text, place in pairs{ ['f()'] = 2, ['f(g())'] = 4, ['return f()'] = 2, ['return f(g())'] = 4 } do
      codes[band(funcbc(loadstring(text), place), 0xff)] = true
   end
   return codes
end

-- A number of seven bits a byte, the last below 128, and the position after it.
local function number_at(text, place)
   local number, factor = 0, 1
   while true do
      local digit = byte(text, place)
      place = place + 1
      number = number + digit % 128 * factor
      if digit < 128 then return number, place end
      factor = factor * 128
   end
end

-- The number in so many bytes; step 1: the lowest byte is the first, -1: the last.
local function whole(text, from, width, step)
   local number = 0
   for place = step == 1 and width - 1 or 0, step == 1 and 0 or width - 1, -step do
      number = number * 256 + byte(text, from + place)
   end
   return number
end

return function(first, second)
   if #first ~= #second then return nil end
   calls = calls or call_codes()
   local flags, place = number_at(first, 5) -- after ESC L J and the version
   if band(flags, STRIPPED) ~= 0 then return nil end
   local step = band(flags, BIG_ENDIAN) ~= 0 and -1 or 1
   local opcode = step == 1 and 0 or INSTRUCTION_BYTES - 1
   local name_length
   name_length, place = number_at(first, place)
   place = place + name_length

   local pieces, done = {}, 1
   while true do
      local size, count, debug_size, lines
      size, place = number_at(first, place)
      if size == 0 then break end
      local behind = place + size
      place = place + 4 -- flags, parameters, slots, upvalues
      for _ = 1, 2 do size, place = number_at(first, place) end -- constants
      count, place = number_at(first, place)
      debug_size, place = number_at(first, place)
      if debug_size > 0 then
         size, place = number_at(first, place) -- the first line
         lines, place = number_at(first, place)
         local width = lines < 256 and 1 or lines < 65536 and 2 or 4
         for instruction = 0, count - 1 do
            if calls[byte(first, place + instruction * INSTRUCTION_BYTES + opcode)] then
               local from = behind - debug_size + instruction * width
               if whole(second, from, width, step) > whole(first, from, width, step) then
                  pieces[#pieces + 1] = sub(first, done, from - 1)
                  pieces[#pieces + 1] = sub(second, from, from + width - 1)
                  done = from + width
               end
            end
         end
      end
      place = behind
   end
   pieces[#pieces + 1] = sub(first, done)
   return concat(pieces)
end
