-- Corrects the line numbers of a function that was compiled from two texts (source.joined), each of which has some
-- wrong. In the first, the ( of a call, and so the call, is one line too high. In the second, the called expression is
-- too low, and a call in it perhaps too high. For calls the lower line is right, for everything else the first text's.
-- Both are bytecode from string.dump, identical except for the lines.
local byte, concat, loadstring, sub = string.byte, table.concat, loadstring, string.sub
local band = bit.band
local funcbc = require('jit.util').funcbc

local BIG_ENDIAN, STRIPPED = 1, 2 -- flags of a dump
local INSTRUCTION_BYTES = 4

-- The opcodes of calls.
local calls
local function call_codes()
   local codes = {}
   for text, place in pairs{ ['f()'] = 2, ['f(g())'] = 4, ['return f()'] = 2, ['return f(g())'] = 4 } do
      codes[band(funcbc(loadstring(text), place), 0xff)] = true
   end
   return codes
end

-- A number with seven bits in each byte, the last below 128, and the position after it.
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

-- The number in `width` bytes; step 1: little-endian, -1: big-endian.
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
