-- The package mime (of LuaSocket): base64, and line wrapping. With a second argument, its functions are low-level
-- filters: they return what can be converted so far, and the rest.
local base64 = require 'base64'
local ltn12 = require 'ltn12'
local mime = {}

local function in_groups(convert, size, passed_over)
   return function(text, more)
      if text == nil then return nil, nil end
      if more == nil then return convert(text), '' end
      local all = text .. more
      if passed_over then all = all:gsub(passed_over, '') end
      local whole = #all - #all % size
      return convert(all:sub(1, whole)), all:sub(whole + 1)
   end
end

mime.b64, mime.unb64 = in_groups(base64.encode, 3), in_groups(base64.decode, 4, '[^%w+/=]')


local LINE = 76

-- Wraps lines at a length.
function mime.wrap(_, length)
   length = length or LINE
   local line = ''
   return function(piece)
      if not piece then return line ~= '' and line .. '\r\n' or '' end
      local done = {}
      line = line .. piece
      while #line >= length do
         done[#done + 1] = line:sub(1, length) .. '\r\n'
         line = line:sub(length + 1)
      end
      return table.concat(done)
   end
end

local function named(converters)
   return function(name)
      local convert = converters[name or 'base64'] or error('unknown key (' .. tostring(name) .. ')', 2)
      return ltn12.filter.cycle(convert, '')
   end
end

mime.encode, mime.decode = named{ base64 = mime.b64 }, named{ base64 = mime.unb64 }

return mime
