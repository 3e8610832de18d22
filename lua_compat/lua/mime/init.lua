-- The package mime (of LuaSocket): base64, and lines of a length. With a second argument the functions are low-level
-- filters: they give what can be converted by now, and what is left.
local base64 = require 'base64'
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

-- Lines of at most so many characters.
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

local function filter_of(convert)
   return function()
      local left = ''
      return function(piece)
         local all = left .. (piece or '')
         if not piece then
            left = ''
            return convert(all)
         end
         local converted
         converted, left = convert(left, piece)
         return converted
      end
   end
end

local encoders, decoders = { base64 = filter_of(mime.b64) }, { base64 = filter_of(mime.unb64) }

function mime.encode(name) return (encoders[name or 'base64'] or error('unknown key (' .. tostring(name) .. ')', 2))() end

function mime.decode(name) return (decoders[name or 'base64'] or error('unknown key (' .. tostring(name) .. ')', 2))() end

return mime
