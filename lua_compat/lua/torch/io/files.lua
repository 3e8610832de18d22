-- torch.File and its kinds: DiskFile, MemoryFile, PipeFile. A file's state is a table { stream, name, ... flags }. Its
-- stream moves bytes: read(pointer, n) and write(pointer, n) return the number moved, byte() returns the next byte or
-- nil, and unread() puts the last byte() back.
local ffi = require 'ffi'
local types = require 'torch.core.types'
local attached = require 'torch.core.attached'
local memory = require 'torch.core.memory'
local class = require 'torch.core.class'
local errors = require 'torch.core.errors'
local storage = require 'torch.tensor.storage'
local shared = require 'th.python'
local python = shared.functions

local records = memory.records
local NEWLINE = ('\n'):byte()

ffi.cdef[[
typedef struct FILE FILE;
FILE *fopen(const char *path, const char *mode);
FILE *popen(const char *command, const char *mode);
int fclose(FILE *file);
int pclose(FILE *file);
size_t fread(void *to, size_t size, size_t count, FILE *file);
size_t fwrite(const void *from, size_t size, size_t count, FILE *file);
int fgetc(FILE *file);
int ungetc(int byte, FILE *file);
int fflush(FILE *file);
int fseek(FILE *file, long offset, int whence);
long ftell(FILE *file);
int setvbuf(FILE *file, char *buffer, int mode, size_t size);
double strtod(const char *text, char **rest);
long long strtoll(const char *text, char **rest, int base);
]]
local C = ffi.C
local SEEK_SET, SEEK_END, UNBUFFERED = 0, 2, 2

local states, attach_state = attached.kind()

-- Streams

local DiskStream = {}
DiskStream.__index = DiskStream

function DiskStream:read(pointer, n) return tonumber(C.fread(pointer, 1, n, self.file)) end
function DiskStream:write(pointer, n) return tonumber(C.fwrite(pointer, 1, n, self.file)) end
function DiskStream:byte()
   local byte = C.fgetc(self.file)
   if byte >= 0 then
      self.last = byte
      return byte
   end
end
function DiskStream:unread() C.ungetc(self.last, self.file) end
function DiskStream:seek(position) return C.fseek(self.file, position, SEEK_SET) == 0 end
function DiskStream:seek_end() return C.fseek(self.file, 0, SEEK_END) == 0 end
function DiskStream:position() return tonumber(C.ftell(self.file)) end
function DiskStream:flush() C.fflush(self.file) end
-- Returns whether buffered data could be written, too. For a program nothing is reported: closing waits until it exits.
function DiskStream:close()
   ffi.gc(self.file, nil)
   return self.closing(self.file) == 0 or self.closing ~= C.fclose
end
function DiskStream:unbuffered() C.setvbuf(self.file, nil, UNBUFFERED, 0) end

local function disk_stream(open, closing, name, mode)
   local file = open(name, mode)
   if file == nil then return nil end
   return setmetatable({ file = ffi.gc(file, closing), closing = closing }, DiskStream)
end

-- Bytes in a CharStorage, which ends with an additional zero byte.
local MemoryStream = {}
MemoryStream.__index = MemoryStream

local function memory_stream(owner)
   local S = records[owner]
   return setmetatable({ owner = owner, S = S, size = S.n - 1, at = 0 }, MemoryStream)
end

function MemoryStream:read(pointer, n)
   n = math.min(n, self.size - self.at)
   if n <= 0 then return 0 end
   ffi.copy(pointer, self.S.p + self.at, n)
   self.at = self.at + n
   return n
end
function MemoryStream:write(pointer, n)
   local last = self.at + n
   local S = self.S
   local capacity = memory.capacity(S)
   if last + 1 > capacity then
      -- the source may be the storage's own memory, which moves
      local inside = S.p and ffi.cast('char *', pointer) - ffi.cast('char *', S.p) or -1
      memory.resize_storage(S, math.max(last + 1, 2 * capacity))
      if inside >= 0 and inside < capacity then pointer = S.p + inside end
   end
   if n > 0 then ffi.copy(S.p + self.at, pointer, n) end
   self.at = last
   if last > self.size then
      self.size = last
      S.p[last] = 0
   end
   S.n = self.size + 1
   return n
end
function MemoryStream:byte()
   if self.at < self.size then
      self.at = self.at + 1
      return bit.band(self.S.p[self.at - 1], 255)
   end
end
function MemoryStream:unread() self.at = self.at - 1 end
function MemoryStream:seek(position)
   if position > self.size then return false end
   self.at = position
   return true
end
function MemoryStream:seek_end()
   self.at = self.size
   return true
end
function MemoryStream:position() return self.at end
function MemoryStream:flush() end
function MemoryStream:close() return true end

-- Methods of all files

local File = class.newmetatable('torch.File')

-- The C file that Torch7's messages name. Files in memory have no name.
local function place(state) return state.name and 'THDiskFile.c' or 'THMemoryFile.c' end

local function opened(self, writing)
   local state = states[self]
   if not state then errors.wrong_class(1, 'torch.File', self) end
   if not state.stream then errors.argument(1, 'attempt to use a closed file', place(state)) end
   if writing == true and not state.writable then
      errors.argument(1, 'attempt to write in a read-only file', place(state))
   elseif writing == false and not state.readable then
      errors.argument(1, 'attempt to read in a write-only file', place(state))
   end
   return state
end

local function failed(state, message)
   state.error = true
   if not state.quiet then errors.raise(message, place(state)) end
end

for method, field in pairs{ isQuiet = 'quiet', isReadable = 'readable', isWritable = 'writable', isBinary = 'binary',
   isAutoSpacing = 'spacing', hasError = 'error' } do
   File[method] = function(self) return states[self][field] or false end
end
for method, change in pairs{
   binary = { 'binary', true }, ascii = { 'binary', false }, autoSpacing = { 'spacing', true },
   noAutoSpacing = { 'spacing', false }, quiet = { 'quiet', true }, pedantic = { 'quiet', false },
   clearError = { 'error', false },
} do
   local field, value = unpack(change)
   File[method] = function(self)
      opened(self)[field] = value
      return self
   end
end

function File:synchronize()
   opened(self).stream:flush()
   return self
end
function File:seek(position)
   local state = opened(self)
   position = errors.whole(position, 2)
   if not (position >= 1) then errors.argument(2, 'position has to be greater than 0!', 'File.c:55') end
   if not state.stream:seek(position - 1) then
      failed(state, ('unable to seek %s position %d'):format(state.name and 'to' or 'at', position - 1))
   end
   return self
end
function File:seekEnd()
   local state = opened(self)
   if not state.stream:seek_end() then failed(state, 'unable to seek at end of file') end
   return self
end
function File:position() return opened(self).stream:position() + 1 end
function File:close()
   local state = opened(self)
   local is_written = state.stream:close() or not state.writable
   state.stream = nil
   if not is_written then failed(state, 'write error: the end of the file could not be written') end
   return self
end

-- Elements

local function reverse(p, size, n)
   local bytes = ffi.cast('uint8_t*', p)
   for i = 0, n - 1 do
      local low, high = i * size, (i + 1) * size - 1
      while low < high do
         bytes[low], bytes[high] = bytes[high], bytes[low]
         low, high = low + 1, high - 1
      end
   end
end

local function binary_read(state, p, size, n)
   local read = math.floor(state.stream:read(p, n * size) / size)
   if state.swapped and size > 1 then reverse(p, size, read) end
   return read
end

local function binary_write(state, p, size, n)
   if state.swapped and size > 1 then
      local copy = ffi.new('uint8_t[?]', n * size)
      ffi.copy(copy, p, n * size)
      reverse(copy, size, n)
      p = copy
   end
   return math.floor(state.stream:write(p, n * size) / size)
end

-- Numbers as text, read as C's scanf reads them: a number ends where the text no longer continues it (12abc, 1,2). A
-- word is read into word_text and ends with a zero; no number is as long as the buffer.
local LONGEST_WORD = 511
local word_text, word_rest = ffi.new('char[?]', LONGEST_WORD + 1), ffi.new('char *[1]')

local function is_space(byte) return byte == 32 or (byte >= 9 and byte <= 13) end

-- Reads the next word (bytes that are not white space) and returns its length, 0 at the end of the file.
local function read_word(stream)
   local byte, n = nil, 0
   repeat byte = stream:byte() until not byte or not is_space(byte)
   while byte and n < LONGEST_WORD and not is_space(byte) do
      word_text[n] = byte
      n = n + 1
      byte = stream:byte()
   end
   if byte then stream:unread() end
   word_text[n] = 0
   return n
end

-- Puts back what C's conversion function left of a word of n bytes, where the file is not a pipe. Returns whether there
-- was a number.
local function was_number(stream, n)
   local taken = word_rest[0] - word_text
   return (taken == n or stream:seek(stream:position() - (n - taken))) and taken > 0 and taken < LONGEST_WORD
end

local function read_number(stream)
   local n = read_word(stream)
   local value = C.strtod(word_text, word_rest)
   if was_number(stream, n) then return value == value and value or 0 / 0 end
end

-- Reads a whole number, including digits beyond 2^53.
local function read_whole_number(stream)
   local n = read_word(stream)
   local value = C.strtoll(word_text, word_rest, 10)
   if was_number(stream, n) then return value end
end

local function end_of_line(state, n)
   if state.spacing and n > 0 then
      local byte = state.stream:byte()
      if byte and byte ~= NEWLINE then state.stream:unread() end
   end
end

local function write_text(state, text) return state.stream:write(text, #text) end

local function install(name, T, text_format)
   local size, get, set = T.size, T.get, T.set
   local raw = size == 1 -- in ascii mode, too, bytes and chars are written as they are
   local is_long = name == 'Long'
   local whole = T.integer
   local read_one = whole and read_whole_number or read_number
   local element = ffi.typeof(T.pointer)

   local function text_of(p, i)
      if is_long then return (tostring(p[i]):gsub('LL$', '')) end
      return text_format:format(get(p, i))
   end

   local function read_elements(state, p, n)
      local read = 0
      if state.binary then
         if is_long and state.long_size == 4 then
            local short = ffi.new('int32_t[?]', n)
            read = binary_read(state, short, 4, n)
            for i = 0, read - 1 do p[i] = short[i] end
         else
            read = binary_read(state, p, size, n)
         end
      elseif raw then
         read = state.stream:read(p, n)
         end_of_line(state, n)
      else
         while read < n do
            local value = read_one(state.stream)
            if not value then break end
            if whole then p[read] = value else set(p, read, value) end
            read = read + 1
         end
         end_of_line(state, n)
      end
      if read ~= n then failed(state, ('read error: read %d blocks instead of %d'):format(read, n)) end
      return read
   end

   local function write_elements(state, p, n)
      local written
      if state.binary then
         if is_long and state.long_size == 4 then
            local short = ffi.new('int32_t[?]', n)
            for i = 0, n - 1 do short[i] = p[i] end
            written = binary_write(state, short, 4, n)
         else
            written = binary_write(state, p, size, n)
         end
      else
         if raw then
            written = state.stream:write(p, n)
         else
            local texts = {}
            for i = 1, n do texts[i] = text_of(p, i - 1) end
            local text = table.concat(texts, state.spacing and ' ' or '')
            written = write_text(state, text) == #text and n or 0
         end
         if state.spacing and n > 0 then write_text(state, '\n') end
      end
      if written ~= n then failed(state, ('write error: wrote %d blocks instead of %d'):format(written, n)) end
      return written
   end

   local cell = ffi.new(tostring(element):match('ctype<(.-) ?%*>') .. '[1]')

   -- readX(): a number; readX(n): a storage; readX(storage): the number of elements read
   File['read' .. name] = function(self, target)
      local state = opened(self, false)
      if target == nil then
         cell[0] = 0 -- the result in quiet mode where there is no number
         read_elements(state, ffi.cast(element, cell), 1)
         return get(ffi.cast(element, cell), 0)
      end
      if errors.number_in(target) then
         target = errors.whole(target, 2)
         local owner, S = memory.new_storage(T, target)
         if target > 0 then
            local read = read_elements(state, S.p, target)
            if read ~= target then memory.resize_storage(S, read) end
         end
         return owner
      end
      local S = records[target]
      if memory.is_storage(S, T) then return S.n > 0 and read_elements(state, S.p, S.n) or 0 end
      errors.raise(('nothing, number, or %sStorage expected'):format(name))
   end

   File['write' .. name] = function(self, source)
      local state = opened(self, true)
      local number = errors.number_in(source)
      if number then
         set(ffi.cast(element, cell), 0, number)
         write_elements(state, ffi.cast(element, cell), 1)
         return
      end
      local S = records[source]
      if memory.is_storage(S, T) then return S.n > 0 and write_elements(state, S.p, S.n) or 0 end
      errors.raise(('number, or %sStorage expected'):format(name))
   end
end

for name, text_format in pairs{ Byte = '%c', Char = '%c', Short = '%d', Int = '%d', Long = '%d', Half = '%.9g',
   Float = '%.9g', Double = '%.17g' } do
   install(name, types[name], text_format)
end

-- "*a" reads the rest of the file, "*l" a line. At the end of the file this is an error, or '' in quiet mode.
function File:readString(format)
   local state = opened(self, false)
   if format ~= '*a' and format ~= '*l' then
      errors.argument(2, "format must be '*a' or '*l'", 'THDiskFile.c')
   end
   local stream, bytes = state.stream, {}
   local byte = stream:byte()
   if not byte then
      failed(state, 'read error: read 0 blocks instead of 1')
      return ''
   end
   if format == '*a' then
      bytes[1] = string.char(byte)
      local buffer = ffi.new('uint8_t[?]', 65536)
      while true do
         local n = stream:read(buffer, 65536)
         if n == 0 then break end
         bytes[#bytes + 1] = ffi.string(buffer, n)
      end
      return table.concat(bytes)
   end
   while byte and byte ~= NEWLINE do
      bytes[#bytes + 1] = string.char(byte)
      byte = stream:byte()
   end
   return table.concat(bytes)
end

function File:writeString(text)
   local state = opened(self, true)
   if type(text) ~= 'string' then errors.wrong_type(2, 'string', text) end
   local written = write_text(state, text)
   if written ~= #text then failed(state, ('write error: wrote %d blocks instead of %d'):format(written, #text)) end
   return written
end

-- Reads a string of n bytes, as readChar(n):string() does; and the inverse.
local function read_bytes(self, n)
   local state = opened(self, false)
   errors.check_whole(n, 0, 'length of a string in the file')
   local buffer = ffi.new('char[?]', n)
   local read = state.stream:read(buffer, n)
   if not state.binary then end_of_line(state, n) end
   if read ~= n then failed(state, ('read error: read %d blocks instead of %d'):format(read, n)) end
   return ffi.string(buffer, read)
end

local function write_bytes(self, text)
   local state = opened(self, true)
   local written = write_text(state, text)
   if written ~= #text then failed(state, ('write error: wrote %d blocks instead of %d'):format(written, #text)) end
   if not state.binary and state.spacing and #text > 0 then write_text(state, '\n') end
end

-- Kinds of files

local function mode_of(mode, position)
   local readable, writable = mode == 'r' or mode == 'rw', mode == 'w' or mode == 'rw'
   if not (readable or writable) then
      errors.argument(position, "file mode should be 'r','w' or 'rw'", 'THDiskFile.c:650')
   end
   return readable, writable
end

local function described(self, text)
   local state = states[self]
   return text:format(state.stream and 'open' or 'closed', state.readable and 'r' or ' ', state.writable and 'w' or ' ')
end

local function kind(name, constructor, proto)
   local mt = debug.getmetatable(proto)
   return class.newmetatable(name, 'torch.File', constructor, nil, nil, nil, mt)
end

local function new_file(proto, state)
   local ud = newproxy(proto)
   state.spacing = true
   attach_state(ud, state)
   return ud
end

local disk_proto = newproxy(true)
local DiskFile = kind('torch.DiskFile', function(name, mode, quiet)
   if type(name) ~= 'string' then errors.wrong_type(1, 'string', name) end
   mode = mode or 'r'
   local readable, writable = mode_of(mode, 2)
   if shared.settle then shared.settle(name) end
   local stream
   if readable and writable then
      stream = disk_stream(C.fopen, C.fclose, name, 'r+b') or disk_stream(C.fopen, C.fclose, name, 'w+b')
   else
      stream = disk_stream(C.fopen, C.fclose, name, mode .. 'b')
   end
   if not stream then
      if quiet then return nil end
      errors.raise(('cannot open <%s> in mode %s%s '):format(errors.shown(name), readable and 'r' or ' ', writable
         and 'w' or ''),
         'THDiskFile.c:673')
   end
   if writable and not name:find('^/proc/self/fd/') then python.note_written(name) end
   return new_file(disk_proto, { stream = stream, name = name, readable = readable, writable = writable,
      quiet = quiet or false })
end, disk_proto)

local little_endian = ffi.abi('le')
function DiskFile.isLittleEndianCPU() return little_endian end
function DiskFile.isBigEndianCPU() return not little_endian end
for method, swapped in pairs{ nativeEndianEncoding = false, littleEndianEncoding = not little_endian,
   bigEndianEncoding = little_endian } do
   DiskFile[method] = function(self)
      opened(self).swapped = swapped
      return self
   end
end
local function longSize(self, size)
   if size ~= 0 and size ~= 4 and size ~= 8 then errors.argument(1, 'Invalid long size specified', 'THDiskFile.c') end
   opened(self).long_size = size
   return self
end
DiskFile.longSize = longSize
function DiskFile:noBuffer()
   opened(self).stream:unbuffered()
   return self
end
function DiskFile:__tostring__()
   return described(self, ('torch.DiskFile on <%s> [status: %%s -- mode %%s%%s]'):format(states[self].name:gsub('%%',
      '%%%%')))
end

local pipe_proto = newproxy(true)
local PipeFile = kind('torch.PipeFile', function(command, mode, quiet)
   mode = mode or 'r'
   local readable, writable = mode_of(mode, 2)
   if readable and writable then errors.argument(2, "file mode should be 'r','w' or 'rw'", 'THDiskFile.c') end
   io.stdout:flush() -- keeps the order of output: ours before the command's
   local stream = disk_stream(C.popen, C.pclose, command, mode)
   if not stream then
      if quiet then return nil end
      errors.raise(('cannot open <%s> in mode %s'):format(command, mode), 'THDiskFile.c')
   end
   return new_file(pipe_proto, { stream = stream, name = command, piped = true, readable = readable,
      writable = writable,
      quiet = quiet or false })
end, pipe_proto)
PipeFile.longSize = longSize
PipeFile.noBuffer = DiskFile.noBuffer
function PipeFile:__tostring__()
   return described(self, ('torch.PipeFile on <%s> [status: %%s -- mode: %%s%%s]'):format(states[self].name:gsub('%%',
      '%%%%')))
end

local memory_proto = newproxy(true)
local MemoryFile = kind('torch.MemoryFile', function(first, second)
   local owner, mode = first, second
   if type(first) == 'string' or first == nil then owner, mode = nil, first end
   local readable, writable = mode_of(mode or 'rw', owner and 2 or 1)
   if owner then
      local S = storage.check(owner, 1, types.Char)
      if S.n == 0 or S.p[S.n - 1] ~= 0 then
         errors.argument(1, 'provided CharStorage must be terminated by 0', 'THMemoryFile.c')
      end
   else
      local S
      owner, S = memory.new_storage(types.Char, 1)
      S.p[0] = 0
   end
   return new_file(memory_proto, { stream = memory_stream(owner), owner = owner, readable = readable,
      writable = writable })
end, memory_proto)
MemoryFile.longSize = longSize
function MemoryFile:storage() return states[self].owner end
function MemoryFile:__tostring__() return described(self, 'torch.MemoryFile [status: %s -- mode: %s%s]') end

-- Why functions read from this file are not loaded; nil if they are. A file in memory is the script's own.
local function why_no_functions(file)
   local state = states[file]
   if not state.name then return nil end
   return python.why_no_functions(not state.piped and state.name or nil)
end

return { methods = File, read_bytes = read_bytes, write_bytes = write_bytes, why_no_functions = why_no_functions }
