-- os.execute and the closing of pipes return how a process ended, and write returns the file, as in a LuaJIT built with
-- the option for Lua 5.2. Errors are left to LuaJIT's own functions, in tail calls.
local ffi = require 'ffi'
local band, shiftright = bit.band, bit.rshift
local type, select, setmetatable, tonumber, format = type, select, setmetatable, tonumber, string.format
local cast, kind_of_file, output = ffi.cast, io.type, io.output

-- true or nil, 'exit' or 'signal', and the code, from the result of C's system or pclose.
local function ended(status)
   if status == -1 then
      local number = ffi.errno()
      return nil, ffi.string(ffi.C.strerror(number)), number
   end
   local signal = band(status, 0x7f)
   if signal ~= 0 then return nil, 'signal', signal end
   local code = band(shiftright(status, 8), 0xff)
   if code == 0 then return true, 'exit', 0 end
   return nil, 'exit', code
end

local plain_execute = os.execute

function os.execute(command)
   if command == nil then return true end
   if type(command) ~= 'string' then return plain_execute(command) end
   return ended(plain_execute(command))
end

-- Files

local methods = debug.getmetatable(io.stdout).__index
local plain_close, plain_write, plain_popen = methods.close, methods.write, io.popen
local default_write = io.write

ffi.cdef [[
   int th_pclose(void *stream) asm("pclose");
   char *strerror(int number);
]]

local pipes = setmetatable({}, { __mode = 'k' })

local function keep_pipe(file, ...)
   if file then pipes[file] = true end
   return file, ...
end

function io.popen(command, mode)
   if type(command) ~= 'string' then return plain_popen(command, mode) end
   return keep_pipe(plain_popen(command, mode))
end

-- A Lua file starts with C's stream pointer; without one, it is closed. LuaJIT's own close would discard the status of
-- a pipe's process.
local function close_pipe(file)
   local stream = cast('void *', file)
   local held = cast('void **', cast('uintptr_t', tonumber(format('%p', file))))
   if held[0] ~= stream then return plain_close(file) end
   held[0] = nil
   pipes[file] = nil
   return ended(ffi.C.th_pclose(stream))
end

function methods.close(file)
   if pipes[file] and kind_of_file(file) == 'file' then return close_pipe(file) end
   return plain_close(file)
end

function io.close(file)
   if file == nil then file = output() end
   return methods.close(file)
end

local function writable(...)
   for place = 1, select('#', ...) do
      local kind = type((select(place, ...)))
      if kind ~= 'string' and kind ~= 'number' then return false end
   end
   return true
end

local function file_or_problem(file, ok, ...)
   if ok then return file end
   return ok, ...
end

function methods.write(file, ...)
   if kind_of_file(file) ~= 'file' or not writable(...) then return plain_write(file, ...) end
   return file_or_problem(file, plain_write(file, ...))
end

function io.write(...)
   if not writable(...) then return default_write(...) end
   local file = output()
   if kind_of_file(file) ~= 'file' then return default_write(...) end
   return file_or_problem(file, default_write(...))
end
