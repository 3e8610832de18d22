-- The module socket.http: requests, by Python's urllib.
local cjson = require 'cjson'
local ltn12 = require 'ltn12'
local python = require('th.python').functions

local http = { PORT = 80, TIMEOUT = 60, USERAGENT = 'LuaSocket (th)' }

local function send(request, body)
   local headers = { ['user-agent'] = http.USERAGENT }
   for name, value in pairs(request.headers or {}) do headers[name:lower()] = tostring(value) end
   headers['content-length'] = nil -- it follows from the body
   local address = request.url or ('http://%s%s%s'):format(request.host, request.port and ':' .. request.port or '',
      request.path or request.uri or '/')
   local method = request.method or (body and 'POST' or 'GET')
   return python.http_request(method, address, cjson.encode(headers), body or '', request.redirect ~= false,
      http.TIMEOUT)
end

-- request(url [, body]): the body, the code, the headers, the line of the status; request{ url =, method =, headers =,
-- source =, sink = }: 1 and the same. nil and a text, where there is no answer.
function http.request(request, body)
   if type(request) == 'string' then
      request = { url = request, headers = body and { ['content-type'] = 'application/x-www-form-urlencoded' } }
      local answered, code, headers, status = send(request, body)
      if not answered then return nil, code end
      return answered, code, cjson.decode(headers), status
   end
   if request.source then
      local to, pieces = ltn12.sink.table()
      local ok, problem = ltn12.pump.all(request.source, to)
      if not ok then return nil, problem end
      body = table.concat(pieces)
   end
   local answered, code, headers, status = send(request, body)
   if not answered then return nil, code end
   if request.sink then
      local ok, problem = ltn12.pump.all(ltn12.source.string(answered), request.sink)
      if not ok then return nil, problem end
   end
   return 1, code, cjson.decode(headers), status
end

return http
