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
   if depth > settings.encode_max_depth then
      error(('Cannot serialise, excessive nesting (%d)'):format(depth), 0)
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
         error(('Cannot serialise %s: table key must be a number or string'):format(type(key)), 0)
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
local function expected(what, text, at, found)
   found = found or TOKENS[text:match('^%a+', at) or text:sub(at, at)]
      or text:find('^[-+]?%d', at) and 'T_NUMBER' or text:find('^[-+]', at) and 'invalid number' or 'invalid token'
   error(('Expected %s but found %s at character %d'):format(what, found, at), 0)
end

local function skip_space(text, at) return text:find('[^ \t\r\n]', at) or #text + 1 end

-- Reads a string whose opening quote is at `at`, where `what` is expected. Returns its contents and the position after
-- it.
local function decode_string(text, at, what)
   local parts = {}
   local from = at + 1
   while true do
      local stop = text:find('["\\%z]', from) or #text + 1
      parts[#parts + 1] = text:sub(from, stop - 1)
      local character = text:sub(stop, stop)
      if character == '"' then return table.concat(parts), stop + 1 end
      if character ~= '\\' then expected(what, text, stop, 'unexpected end of string') end
      if text:sub(stop + 1, stop + 1) == 'u' then
         local digits = text:match('^%x%x%x%x', stop + 2)
         local code = digits and tonumber(digits, 16) or 0xd800
         from = stop + 6
         local low = code >= 0xd800 and code < 0xdc00 and text:match('^\\u([dD][c-fC-F]%x%x)', from)
         if low then
            code = 0x10000 + (code - 0xd800) * 1024 + tonumber(low, 16) - 0xdc00
            from = from + 6
         elseif code >= 0xd800 and code < 0xe000 then
            expected(what, text, stop, 'invalid unicode escape code')
         end
         parts[#parts + 1] = utf8(code)
      else
         parts[#parts + 1] = unescaped[text:sub(stop + 1, stop + 1)]
            or expected(what, text, stop, 'invalid escape code')
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
      key, place = decode_string(text, place, 'object key string')
      place = skip_space(text, place)
      if text:sub(place, place) ~= ':' then expected('colon', text, place) end
      object[key], place = decode_value(text, skip_space(text, place + 1), settings, depth)
      return place
   end)
   return object, at
end

function decode_value(text, at, settings, depth)
   local first = text:sub(at, at)
   if first == '"' then return decode_string(text, at, 'value') end
   if first == '{' or first == '[' then
      if depth >= settings.decode_max_depth then
         error(('Found too many nested data structures (%d) at character %d'):format(depth + 1, at), 0)
      end
      return (first == '{' and decode_object or decode_list)(text, at, settings, depth + 1)
   end
   local word = text:match('^%a+', at)
   if word and words[word] ~= nil then return words[word], at + #word end
   local any = settings.decode_invalid_numbers
   local sign = text:match(any and '^[-+]?' or '^%-?', at)
   local place = at + #sign
   local literal = any and text:match('^0[xX]%x+', place) or text:match('^%d+%.?%d*[eE]?[+-]?%d*', place)
   local number = literal and tonumber(literal)
   if number and not any and literal:find('^0%d') then expected('value', text, at, 'invalid number') end
   if not number and any then
      literal = text:match('^%a+', place)
      number = literal and odd_numbers[literal:lower()]
   end
   if number then return sign == '-' and -number or number, place + #literal end
   expected('value', text, at)
end

local function got(value) return value == nil and 'no value' or type(value) end
local function bad_argument(name, place, problem)
   error(("bad argument #%d to '%s' (%s)"):format(place, name, problem), 4)
end

-- Functions that check an argument of a setting's function, and return the setting.
local function whole(least, most)
   return function(name, place, value)
      local number = tonumber(value)
      if not number then bad_argument(name, place, 'number expected, got ' .. got(value)) end
      number = number < 0 and math.ceil(number) or math.floor(number)
      if not (number >= least and number <= most) then
         bad_argument(name, place, ('expected integer between %d and %d'):format(least, most))
      end
      return number
   end
end

local SWITCH = { off = false, on = true }
local NUMBERS = { off = false, on = true, null = 'null' }
local function one_of(options)
   return function(name, place, value)
      if type(value) == 'boolean' then return value end
      if type(value) ~= 'string' and type(value) ~= 'number' then
         bad_argument(name, place, 'string expected, got ' .. got(value))
      end
      local setting = options[value]
      if setting == nil then bad_argument(name, place, ("invalid option '%s'"):format(value)) end
      return setting
   end
end

local function instance(safe)
   local settings = { sparse = { convert = false, ratio = 2, safe = 10 }, number_format = '%.14g',
      encode_max_depth = 1000,
      decode_max_depth = 1000, encode_invalid_numbers = false, decode_invalid_numbers = true,
         encode_keep_buffer = true }
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
      if type(text) ~= 'string' then bad_argument('decode', 1, 'string expected, got ' .. got(text)) end
      return guarded(function()
         local value, at = decode_value(text, skip_space(text, 1), settings, 0)
         at = skip_space(text, at)
         if at <= #text then expected('the end', text, at) end
         return value
      end)
   end

   local function add(name, read)
      cjson[name] = function(value)
         if value ~= nil then settings[name] = read(name, 1, value) end
         return settings[name]
      end
   end
   for _, name in ipairs{ 'encode_max_depth', 'decode_max_depth' } do add(name, whole(1, 2 ^ 31 - 1)) end
   for name, options in pairs{ encode_invalid_numbers = NUMBERS, decode_invalid_numbers = SWITCH,
      encode_keep_buffer = SWITCH } do add(name, one_of(options)) end

   local digits = whole(1, 14)
   function cjson.encode_number_precision(value)
      if value ~= nil then
         settings.number_format = ('%%.%dg'):format(digits('encode_number_precision', 1, value))
      end
      return tonumber(settings.number_format:match('%d+'))
   end

   local length, switched = whole(0, 2 ^ 31 - 1), one_of(SWITCH)
   function cjson.encode_sparse_array(convert, ratio, safe_length)
      local sparse = settings.sparse
      if ratio ~= nil then sparse.ratio = length('encode_sparse_array', 2, ratio) end
      if safe_length ~= nil then sparse.safe = length('encode_sparse_array', 3, safe_length) end
      if convert ~= nil then sparse.convert = switched('encode_sparse_array', 1, convert) end
      return sparse.convert, sparse.ratio, sparse.safe
   end

   function cjson.new() return instance(safe) end
   return cjson
end

package.preload['cjson.safe'] = function() return instance(true) end

return instance(false)
