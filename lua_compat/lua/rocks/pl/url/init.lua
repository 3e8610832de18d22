-- pl.url: URL quoting. A value that is not a string is returned unchanged.
local url = {}

local function as_code(character) return ('%%%02X'):format(character:byte()) end
local function of_code(hexadecimal) return string.char(tonumber(hexadecimal, 16)) end

-- plus: for forms; spaces become +, and slashes are quoted, too.
function url.quote(text, plus)
   if type(text) ~= 'string' then return text end
   text = text:gsub('\n', '\r\n'):gsub(plus and '[^A-Za-z0-9 %-_%.]' or '[^A-Za-z0-9 %-_%./]', as_code)
   return (text:gsub(' ', plus and '+' or '%%20'))
end

function url.unquote(text)
   if type(text) ~= 'string' then return text end
   return (text:gsub('%+', ' '):gsub('%%(%x%x)', of_code):gsub('\r\n', '\n'))
end

return url
