-- JSON with lua-cjson's functions and settings.

local null = newproxy(true)
getmetatable(null).__tostring = function() return 'userdata: NULL' end

local escapes = { ['"'] = '\\"', ['\\'] = '\\\\', ['/'] = '\\/', ['\b'] = '\\b', ['\f'] = '\\f', ['\n'] = '\\n',
   ['\r'] = '\\r', ['\t'] = '\\t' }
for code = 0, 31 do
   local character = string.char(code)
   escapes[character] = escapes[character] or ('\\u%04x'):format(code)
end
escapes['\127'] = '\\u007f'
local unescaped = { b = '\b', f = '\f', n = '\n', r = '\r', t = '\t', ['"'] = '"', ['\\'] = '\\', ['/'] = '/' }

local function quoted(text) return '"' .. text:gsub('[%c"\\/\127]', escapes) .. '"' end

local function utf8(code)
   local floor, char = math.floor, string.char
   if code < 0x80 then return char(code) end
   if code < 0x800 then return char(0xc0 + floor(code / 64), 0x80 + code % 64) end
   if code < 0x10000 then
      return char(0xe0 + floor(code / 4096), 0x80 + floor(code / 64) % 64, 0x80 + code % 64)
   end
   return char(0xf0 + floor(code / 262144), 0x80 + floor(code / 4096) % 64, 0x80 + floor(code / 64) % 64,
      0x80 + code % 64)
end

-- Returns the number of elements if a table is a list, or nil if it is an object. Sparse lists become objects or
-- errors, according to the settings.
local function list_length(t, settings)
   local largest, count = 0, 0
   for key in pairs(t) do
      if type(key) ~= 'number' or key < 1 or key ~= math.floor(key) then return nil end
      largest, count = math.max(largest, key), count + 1
   end
   local sparse = settings.sparse
   if sparse.ratio > 0 and largest > count * sparse.ratio and largest > sparse.safe then
      if not sparse.convert then error('Cannot serialise table: excessively sparse array', 0) end
      return nil
   end
   return count > 0 and largest or nil
end

local encode_value

local function encode_number(number, settings)
   if number ~= number or number == math.huge or number == -math.huge then
      if settings.encode_invalid_numbers == 'null' then return 'null' end
      if not settings.encode_invalid_numbers then
         error('Cannot serialise number: must not be NaN or Infinity', 0)
      end
      return number ~= number and 'nan' or number > 0 and 'inf' or '-inf'
   end
   return settings.number_format:format(number)
end

local function encode_table(t, settings, depth)
   if depth > settings.encode_depth then
      error(('Cannot serialise, excessive depth (%d)'):format(depth), 0)
   end
   local parts = {}
   local length = list_length(t, settings)
   if length then
      for i = 1, length do parts[i] = encode_value(t[i], settings, depth) end
      return '[' .. table.concat(parts, ',') .. ']'
   end
   for key, value in pairs(t) do
      local name
      if type(key) == 'string' then
         name = quoted(key)
      elseif type(key) == 'number' then
         name = '"' .. encode_number(key, settings) .. '"'
      else
         error('Cannot serialise table: table key must be a number or string', 0)
      end
      parts[#parts + 1] = name .. ':' .. encode_value(value, settings, depth)
   end
   return '{' .. table.concat(parts, ',') .. '}'
end

function encode_value(value, settings, depth)
   local kind = type(value)
   if kind == 'string' then return quoted(value) end
   if kind == 'number' then return encode_number(value, settings) end
   if kind == 'boolean' then return tostring(value) end
   if value == nil or value == null then return 'null' end
   if kind == 'table' and not torch.typename(value) then return encode_table(value, settings, depth + 1) end
   error(('Cannot serialise %s: type not supported'):format(torch.typename(value) or kind), 0)
end

-- How lua-cjson's errors name the next token.
local TOKENS = { [''] = 'T_END', ['{'] = 'T_OBJ_BEGIN', ['}'] = 'T_OBJ_END', ['['] = 'T_ARR_BEGIN', [']'] = 'T_ARR_END',
   [','] = 'T_COMMA',
   [':'] = 'T_COLON', ['"'] = 'T_STRING', ['true'] = 'T_BOOLEAN', ['false'] = 'T_BOOLEAN', null = 'T_NULL' }
local function expected(what, text, at)
   local found = TOKENS[text:match('^%a+', at) or text:sub(at, at)]
   found = found or text:find('^%-?%d', at) and 'T_NUMBER' or 'invalid token'
   error(('Expected %s but found %s at character %d'):format(what, found, at), 0)
end

local function skip_space(text, at) return text:find('[^ \t\r\n]', at) or #text + 1 end

-- Reads a string whose opening quote is at `at`. Returns its contents and the position after it.
local function decode_string(text, at)
   local parts = {}
   local from = at + 1
   while true do
      local stop = text:find('["\\%c]', from)
      if not stop then expected('string end', text, #text + 1) end
      parts[#parts + 1] = text:sub(from, stop - 1)
      local character = text:sub(stop, stop)
      if character == '"' then return table.concat(parts), stop + 1 end
      if character ~= '\\' then
         if character ~= '\127' then expected('string', text, stop) end
         parts[#parts + 1] = character
         from = stop + 1
      elseif text:sub(stop + 1, stop + 1) == 'u' then
         local code = tonumber(text:match('^%x%x%x%x', stop + 2) or expected('unicode escape', text, stop), 16)
         from = stop + 6
         local low = code >= 0xd800 and code < 0xdc00 and text:match('^\\u([dD][c-fC-F]%x%x)', from)
         if low then
            code = 0x10000 + (code - 0xd800) * 1024 + tonumber(low, 16) - 0xdc00
            from = from + 6
         elseif code >= 0xd800 and code < 0xe000 then
            expected('unicode escape', text, stop)
         end
         parts[#parts + 1] = utf8(code)
      else
         parts[#parts + 1] = unescaped[text:sub(stop + 1, stop + 1)] or expected('escape code', text, stop)
         from = stop + 2
      end
   end
end

local words = { ['true'] = true, ['false'] = false, null = null }
local odd_numbers = { nan = 0 / 0, inf = math.huge, infinity = math.huge }

local decode_value

-- Reads what is between brackets: next_item(place) reads one item and returns the position after it.
local function decode_items(text, at, close, next_item)
   at = skip_space(text, at + 1)
   if text:sub(at, at) == close then return at + 1 end
   while true do
      at = skip_space(text, next_item(at))
      local mark = text:sub(at, at)
      if mark == close then return at + 1 end
      if mark ~= ',' then expected(close == ']' and 'comma or array end' or 'comma or object end', text, at) end
      at = skip_space(text, at + 1)
   end
end

local function decode_list(text, at, settings, depth)
   local list, n = {}, 0
   at = decode_items(text, at, ']', function(place)
      n = n + 1
      list[n], place = decode_value(text, place, settings, depth)
      return place
   end)
   return list, at
end

local function decode_object(text, at, settings, depth)
   local object = {}
   at = decode_items(text, at, '}', function(place)
      if text:sub(place, place) ~= '"' then expected('object key string', text, place) end
      local key
      key, place = decode_string(text, place)
      place = skip_space(text, place)
      if text:sub(place, place) ~= ':' then expected('colon', text, place) end
      object[key], place = decode_value(text, skip_space(text, place + 1), settings, depth)
      return place
   end)
   return object, at
end

function decode_value(text, at, settings, depth)
   local first = text:sub(at, at)
   if first == '"' then return decode_string(text, at) end
   if first == '{' or first == '[' then
      if depth >= settings.decode_depth then
         error(('Found too many nested data structures (%d)'):format(depth + 1), 0)
      end
      return (first == '{' and decode_object or decode_list)(text, at, settings, depth + 1)
   end
   local word = text:match('^%a+', at)
   if word and words[word] ~= nil then return words[word], at + #word end
   local literal = settings.decode_invalid_numbers and text:match('^%-?0[xX]%x+', at)
      or text:match('^%-?%d+%.?%d*[eE]?[+-]?%d*', at)
   local number = literal and tonumber(literal)
   if number and (settings.decode_invalid_numbers or not literal:find('^%-?0%d')) then return number, at + #literal end
   local sign, name = text:match('^(%-?)(%a+)', at)
   local odd = name and settings.decode_invalid_numbers and odd_numbers[name:lower()]
   if odd then return sign == '-' and -odd or odd, at + #sign + #name end
   expected('value', text, at)
end

local function instance(safe)
   local settings = { sparse = { convert = false, ratio = 2, safe = 10 }, number_format = '%.14g', encode_depth = 1000,
      decode_depth = 1000, encode_invalid_numbers = false, decode_invalid_numbers = true, keep_buffer = true }
   local cjson = { null = null, _NAME = 'cjson', _VERSION = '2.1.0' }

   -- Raises the error or, for cjson.safe, returns nil and the error.
   local function guarded(f, ...)
      local ok, result = pcall(f, ...)
      if ok then return result end
      if safe then return nil, result end
      error(result, 0)
   end

   function cjson.encode(value)
      return guarded(encode_value, value, settings, 0)
   end

   function cjson.decode(text)
      if type(text) == 'number' then text = tostring(text) end
      if type(text) ~= 'string' then error('bad argument #1 to \'decode\' (string expected)', 2) end
      return guarded(function()
         local value, at = decode_value(text, skip_space(text, 1), settings, 0)
         at = skip_space(text, at)
         if at <= #text then expected('the end', text, at) end
         return value
      end)
   end

   function cjson.encode_number_precision(digits)
      if digits then
         assert(digits >= 1 and digits <= 17, 'expected an integer between 1 and 17')
         settings.number_format = ('%%.%dg'):format(digits)
      end
      return tonumber(settings.number_format:match('%d+'))
   end

   function cjson.encode_sparse_array(convert, ratio, safe_length)
      local sparse = settings.sparse
      if convert ~= nil then sparse.convert = convert end
      sparse.ratio, sparse.safe = ratio or sparse.ratio, safe_length or sparse.safe
      return sparse.convert, sparse.ratio, sparse.safe
   end

   for name, setting in pairs{ encode_max_depth = 'encode_depth', decode_max_depth = 'decode_depth',
      encode_invalid_numbers = 'encode_invalid_numbers', decode_invalid_numbers = 'decode_invalid_numbers',
      encode_keep_buffer = 'keep_buffer' } do
      cjson[name] = function(value)
         if value ~= nil then settings[setting] = value end
         return settings[setting]
      end
   end

   function cjson.new() return instance(safe) end
   return cjson
end

package.preload['cjson.safe'] = function() return instance(true) end

return instance(false)
