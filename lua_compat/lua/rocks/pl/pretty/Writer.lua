-- Writes tables as Lua source.
local lexer = require 'pl.lexer'
local quote_string = require('pl.stringx.quoting').quote_string

local Writer = { quoted = quote_string }

-- Up to here, doubles represent all whole numbers.
local EXACT = 2 ^ 53

-- Numbers have 14 digits; whole numbers no exponent.
function Writer.plain(value)
   if type(value) ~= 'number' then return tostring(value) end
   if value ~= value then return 'NaN' end
   if value == math.huge then return 'Inf' end
   if value == -math.huge then return '-Inf' end
   if math.abs(value) < EXACT and math.floor(value) == value then return ('%d'):format(value) end
   local text = ('%.14g'):format(value)
   if math.abs(value) >= EXACT and not text:find('%.') then text = text:gsub('%d+', '%0.0', 1) end
   return text
end

-- A value that is neither a string nor a table.
local function scalar(value)
   local text = Writer.plain(value)
   return text:find(' ') and quote_string(text) or text
end

local function is_name(key) return key:find('^[%a_][%w_]*$') and not lexer.get_keywords()[key] end

local function in_brackets(key)
   local text = quote_string(key)
   if text:sub(1, 1) == '[' then text = ' ' .. text .. ' ' end
   return '[' .. text .. ']'
end

local function key_text(key, plain)
   if type(key) == 'number' then return '[' .. Writer.plain(key) .. ']' end
   key = Writer.plain(key)
   return not plain and is_name(key) and key or in_brackets(key)
end

-- Sorts by type, then by text.
local function before(a, b)
   if type(a) ~= type(b) then return type(a) < type(b) end
   return tostring(a) < tostring(b)
end

-- The keys that are not written as a list, numbers last.
local function other_keys(t, listed)
   local named, numbers = {}, {}
   for key in pairs(t) do
      if type(key) ~= 'number' then named[#named + 1] = key
      elseif not listed[key] then numbers[#numbers + 1] = key end
   end
   table.sort(named, before)
   for _, key in ipairs(numbers) do named[#named + 1] = key end
   return named
end

function Writer.write(root, space, plain)
   local equals = space == '' and '=' or ' = '
   local lines, within = {}, {}

   -- start: the text before the value on its line.
   local function put(start, value, indent)
      if type(value) ~= 'table' then
         lines[#lines + 1] = start .. (type(value) == 'string' and quote_string(value) or scalar(value)) .. ','
         return
      end
      if within[value] then
         lines[#lines + 1] = start .. '<cycle>,'
         return
      end
      within[value] = true
      lines[#lines + 1] = start .. '{'
      local deeper, listed = indent .. space, {}
      if not plain then
         for i, element in ipairs(value) do
            put(deeper, element, deeper)
            listed[i] = true
         end
      end
      for _, key in ipairs(other_keys(value, listed)) do
         put(deeper .. key_text(key, plain) .. equals, value[key], deeper)
      end
      within[value] = nil
      lines[#lines] = lines[#lines]:gsub(',$', '')
      lines[#lines + 1] = indent .. '},'
   end

   put('', root, '')
   lines[#lines] = lines[#lines]:gsub(',$', '')
   return table.concat(lines, space == '' and '' or '\n')
end

return Writer
