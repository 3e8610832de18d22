-- The package socket (LuaSocket): clocks, TCP connections, and waiting for them, by Python's sockets.
local python = require('th.python').functions

socket = { _VERSION = 'LuaSocket 3 (th)', _SETSIZE = 1024, BLOCKSIZE = 2048 }

function socket.gettime() return python.wall_clock() end

function socket.sleep(seconds) python.sleep(math.max(0, seconds)) end

local NO_END = -1
local Tcp = {}
Tcp.__index = Tcp

local function new(number, seconds)
   local made = setmetatable({ number = number, seconds = seconds or NO_END }, Tcp)
   if number then python.socket_set_timeout(number, made.seconds) end
   return made
end

function socket.tcp() return new() end
socket.tcp4 = socket.tcp

function Tcp:settimeout(seconds)
   self.seconds = seconds or NO_END
   if self.number then python.socket_set_timeout(self.number, self.seconds) end
   return 1
end

function Tcp:connect(host, port)
   local number, problem = python.socket_connect(host, tonumber(port), self.seconds)
   if not number then return nil, problem end
   self.number = number
   self:settimeout(self.seconds >= 0 and self.seconds or nil)
   return 1
end

function Tcp:bind(host, port)
   self.place = { host, tonumber(port) }
   return 1
end

function Tcp:listen(waiting)
   if not self.place then return nil, 'not bound' end
   local number, problem = python.socket_listen(self.place[1], self.place[2], waiting or 32)
   if not number then return nil, problem end
   self.number = number
   self:settimeout(self.seconds >= 0 and self.seconds or nil)
   return 1
end

function Tcp:accept()
   local number, problem = python.socket_accept(self.number or 0)
   if not number then return nil, problem end
   return new(number)
end

function Tcp:send(text, first, last)
   first = first or 1
   local sent, problem = python.socket_send(self.number or 0, tostring(text):sub(first, last or -1))
   if problem then return nil, problem, first + sent - 1 end
   return first + sent - 1
end

-- pattern: '*l' a line (default), '*a' everything until the other end closes, or a number of bytes.
function Tcp:receive(pattern, prefix)
   prefix = prefix or ''
   local kind = type(pattern) == 'string' and pattern:gsub('^%*', '') or pattern
   local bytes, to_line = NO_END, kind == nil or kind == 'l'
   if type(kind) == 'number' then
      bytes = math.max(0, kind - #prefix)
   elseif not to_line and kind ~= 'a' then
      error("bad argument #1 to 'receive' (invalid receive pattern)", 2)
   end
   local text, problem = python.socket_receive(self.number or 0, bytes, to_line)
   if problem then return nil, problem, prefix .. text end
   return prefix .. text
end

function Tcp:getsockname() return python.socket_name(self.number or 0, false) end

function Tcp:getpeername() return python.socket_name(self.number or 0, true) end

function Tcp:shutdown(how)
   python.socket_shut(self.number or 0, how or 'both')
   return 1
end

-- Socket options have no effect: Python's defaults suit these uses.
function Tcp:setoption() return 1 end

function Tcp:close()
   python.socket_close(self.number or 0)
   self.number = nil
   return 1
end

function Tcp:__tostring()
   return ('tcp{%s}: %s'):format(self.place and 'server' or 'client', self.number or 'closed')
end

function socket.connect(host, port)
   local made = socket.tcp()
   local ok, problem = made:connect(host, port)
   if not ok then return nil, problem end
   return made
end

function socket.bind(host, port, waiting)
   local made = socket.tcp()
   made:bind(host, port)
   local ok, problem = made:listen(waiting)
   if not ok then return nil, problem end
   return made
end

local function numbers_of(list)
   local words, by_number = {}, {}
   for _, one in ipairs(list or {}) do
      if one.number then
         words[#words + 1] = one.number
         by_number[one.number] = one
      end
   end
   return table.concat(words, ' '), by_number
end

local function ready_of(words, by_number)
   local found = {}
   for word in words:gmatch('%d+') do
      local one = by_number[tonumber(word)]
      found[#found + 1] = one
      found[one] = #found
   end
   return found
end

-- The sockets in two lists that can be read from or written to within the given number of seconds.
function socket.select(readers, writers, seconds)
   local reading, by_reader = numbers_of(readers)
   local writing, by_writer = numbers_of(writers)
   if reading == '' and writing == '' and seconds and seconds >= 0 then
      socket.sleep(seconds)
      return {}, {}, 'timeout'
   end
   local readable, writable = python.socket_ready(reading, writing, seconds or NO_END)
   local problem
   if readable == '' and writable == '' then problem = 'timeout' end
   return ready_of(readable, by_reader), ready_of(writable, by_writer), problem
end

socket.dns = {}

function socket.dns.gethostname() return python.host_name() end

function socket.dns.toip(name) return python.host_address(name) end

function socket.skip(count, ...) return select(count + 1, ...) end

-- The error that a function made by `socket.newtry` raises; one made by `socket.protect` then returns nil and the
-- problem.
local Failure = {}

function socket.newtry(finalizer)
   return function(...)
      local ok, problem = ...
      if not ok then
         if finalizer then pcall(finalizer) end
         error(setmetatable({ problem }, Failure), 0)
      end
      return ...
   end
end

socket.try = socket.newtry()

function socket.protect(f)
   return function(...)
      local results = { n = 0 }
      local function keep(ok, ...)
         results = { n = select('#', ...), ... }
         return ok
      end
      if keep(pcall(f, ...)) then return unpack(results, 1, results.n) end
      local problem = results[1]
      if type(problem) == 'table' and getmetatable(problem) == Failure then return nil, problem[1] end
      error(problem, 0)
   end
end

return socket
