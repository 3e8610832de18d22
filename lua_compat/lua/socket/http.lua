-- The module socket.http: HTTP requests, by Python's urllib.
local cjson = require 'cjson'
local ltn12 = require 'ltn12'
local python = require('th.python').functions

local http = { PORT = 80, TIMEOUT = 60, USERAGENT = 'LuaSocket (th)' }

local function send(request, body)
   local headers = { ['user-agent'] = http.USERAGENT }
   for name, value in pairs(request.headers or {}) do headers[name:lower()] = tostring(value) end
   headers['content-length'] = nil -- determined by the body
   local address = request.url or ('http://%s%s%s'):format(request.host, request.port and ':' .. request.port or '',
      request.path or request.uri or '/')
   local method = request.method or (body and 'POST' or 'GET')
   return python.http_request(method, address, cjson.encode(headers), body or '', request.redirect ~= false,
      http.TIMEOUT)
end

-- request(url [, body]) returns the body, the status code, the headers and the status line. request{ url =, method =,
-- headers =, source =, sink = } returns 1 instead of the body. Without an answer, both return nil and an error text.
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
