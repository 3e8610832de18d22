-- Escapes for XML's special characters.
local escapes = {}

local NAMES = { quot = '"', apos = "'", lt = '<', gt = '>', amp = '&' }
local CHARACTERS = {}
for name, character in pairs(NAMES) do CHARACTERS[character] = '&' .. name .. ';' end

-- text: a string or a number.
function escapes.escape(text)
   text = string.gsub(text, '[%z\1-\8\11\12\14-\31\127]',
      function(character) return ('\\x%02X'):format(character:byte()) end)
   return (text:gsub('[\'&<>"]', CHARACTERS))
end

function escapes.unescape(text)
   text = text:gsub('\\x(%x%x)', function(code) return string.char(tonumber(code, 16)) end)
   return (text:gsub('&(%a+);', NAMES))
end

return escapes
