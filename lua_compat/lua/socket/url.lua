-- The module socket.url: splits and joins URLs.
local url = {}

function url.escape(text)
   return (text:gsub('[^%w]', function(byte) return ('%%%02x'):format(byte:byte()) end))
end

function url.unescape(text)
   return (text:gsub('%%(%x%x)', function(digits) return string.char(tonumber(digits, 16)) end))
end

function url.parse(text, parsed)
   parsed = parsed or {}
   local function take(pattern, name)
      text = text:gsub(pattern, function(found)
         parsed[name] = found
         return ''
      end, 1)
   end
   take('#(.*)$', 'fragment')
   take('^(%a[%w+.-]*):', 'scheme')
   take('^//([^/?]*)', 'authority')
   take('%?(.*)$', 'query')
   take(';(.*)$', 'params')
   if text ~= '' then parsed.path = text end
   local authority = parsed.authority
   if authority then
      local user, place = authority:match('^(.*)@(.*)$')
      parsed.userinfo = user
      parsed.host, parsed.port = (place or authority):match('^(.-):(%d+)$')
      parsed.host = parsed.host or place or authority
      if user then
         parsed.user, parsed.password = user:match('^(.-):(.*)$')
         parsed.user = parsed.user or user
      end
   end
   return parsed
end

return url
