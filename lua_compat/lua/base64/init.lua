-- The package base64 (lbase64, LuaRocks' base64): bytes as text in 64 characters.
local base64 = {}

local ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
local value_of = {}
for place = 1, #ALPHABET do value_of[ALPHABET:byte(place)] = place - 1 end

local function letter(value) return ALPHABET:sub(value + 1, value + 1) end

function base64.encode(text)
   local pieces = {}
   for place = 1, #text, 3 do
      local a, b, c = text:byte(place, place + 2)
      local bits = a * 65536 + (b or 0) * 256 + (c or 0)
      pieces[#pieces + 1] = letter(math.floor(bits / 262144)) .. letter(math.floor(bits / 4096) % 64)
         .. (b and letter(math.floor(bits / 64) % 64) or '=') .. (c and letter(bits % 64) or '=')
   end
   return table.concat(pieces)
end

-- Other characters are skipped.
function base64.decode(text)
   local pieces, bits, count = {}, 0, 0
   for place = 1, #text do
      local value = value_of[text:byte(place)]
      if value then
         bits, count = bits * 64 + value, count + 6
         if count >= 8 then
            count = count - 8
            local unit = 2 ^ count
            pieces[#pieces + 1] = string.char(math.floor(bits / unit))
            bits = bits % unit
         end
      end
   end
   return table.concat(pieces)
end

return base64
