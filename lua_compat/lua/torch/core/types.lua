-- The element types of tensors and storages: a table for each, and how their elements are read and written.
local ffi = require 'ffi'
local number_in = require('torch.core.errors').number_in
local templates = require 'torch.core.templates'
local python = require('th.python').functions

local type, tonumber, floor, ceil = type, tonumber, math.floor, math.ceil

local function read(p, i) return p[i] end
-- As in C: in 64 bits, of which the low bits are written.
local function read_whole(p, i) return p[i] + 0LL end

-- LuaJIT uses values from memory as they are. It may take a NaN whose bits are not those of its own NaN for a string, a
-- table and so on, at once or after arithmetic. Uninitialised memory may contain any bits.
local NAN = 0 / 0
local band = bit.band
local words = ffi.typeof('int32_t*')
local function read_float(p, i)
   if band(ffi.cast(words, p)[i], 0x7fffffff) > 0x7f800000 then return NAN end
   return p[i]
end
local function read_double(p, i)
   local w = ffi.cast(words, p)
   local high = band(w[2 * i + 1], 0x7fffffff)
   if high >= 0x7ff00000 and (high > 0x7ff00000 or w[2 * i] ~= 0) then return NAN end
   return p[i]
end

-- Replaces such NaNs in memory by LuaJIT's; then p[first] to p[last] can be read safely.
local function tidy_with(get)
   return function(p, first, last)
      for i = first, last do
         local value = get(p, i)
         if value ~= value then p[i] = NAN end
      end
   end
end

local function write(p, i, v) p[i] = v end

local function truncate(v) return v >= 0 and floor(v) + 0 or ceil(v) + 0 end -- not -0

-- What C's cast of a number to the element type gives on Torch7's processors: NaN, and what does not fit into the
-- register, becomes the register's smallest number. For small types the register has 32 bits.
local function register(v, bits)
   local whole = truncate(v)
   if whole >= -2 ^ (bits - 1) and whole < 2 ^ (bits - 1) then return whole end
   return -2 ^ (bits - 1)
end
local cell = ffi.new('union { int32_t int32; uint8_t uint8; int8_t int8; int16_t int16; float single; }')
local cast = {
   Byte = function(v) cell.int32 = register(v, 32) return cell.uint8 end,
   Char = function(v) cell.int32 = register(v, 32) return cell.int8 end,
   Short = function(v) cell.int32 = register(v, 32) return cell.int16 end,
   Int = function(v) return register(v, 32) end,
   Long = function(v) return type(v) == 'cdata' and v or register(v, 64) end,
   Float = function(v) cell.single = v return cell.single end,
   Double = function(v) return v end,
   Half = function(v) return v end,
}

local half_values -- the float of each of the 65536 bit patterns, made when the first half is read
local function read_half(p, i)
   if not half_values then
      local values = ffi.new('float[65536]')
      python.half_values(tonumber(ffi.cast('intptr_t', values)))
      half_values = values
   end
   return read_float(half_values, p[i])
end
-- Zeros do not load PyTorch.
local function write_half(p, i, v) p[i] = v == 0 and (1 / v < 0 and 0x8000 or 0) or python.half_bits(v) end

local function write_integer(kind)
   local to = cast[kind]
   return function(p, i, v) p[i] = to(v) end
end

ffi.cdef 'int64_t th_strtoll(const char *text, char **rest, int base) __asm__("strtoll");'
local strtoll = ffi.C.th_strtoll

-- What Torch7 reads from a value that a script gives for an element; nil if it is no number. Of a string for a whole
-- type it is what C's strtol reads (0 if that is nothing): where a number would not be exact, 64 bits.
local function whole_element(element)
   return function(value)
      if type(value) ~= 'string' then return number_in(value) end
      local whole = ffi.cast(element, strtoll(value, nil, 0))
      local number = tonumber(whole)
      return number > -2 ^ 53 and number < 2 ^ 53 and number or whole
   end
end

local types = {}
for code, row in ipairs{
   { 'Byte', 'unsigned char', 1 },
   { 'Char', 'signed char', 1 },
   { 'Short', 'short', 2 },
   { 'Int', 'int', 4 },
   { 'Long', 'int64_t', 8 },
   { 'Half', 'uint16_t', 2 },
   { 'Float', 'float', 4 },
   { 'Double', 'double', 8 },
} do
   local name, ctype, size = unpack(row)
   local T = {
      name = name,
      code = code, -- the index in lua_compat.kernels.element_types.DTYPES
      tensor = 'torch.' .. name .. 'Tensor',
      storage = 'torch.' .. name .. 'Storage',
      size = size,
      floating = name == 'Float' or name == 'Double',
      integer = not (name == 'Float' or name == 'Double' or name == 'Half'),
      element = ffi.typeof(ctype),
      pointer = ffi.typeof(ctype .. '*'),
      array = ffi.typeof(ctype .. '[?]'),
      here = true, -- the elements lie in memory that Lua can read and write
      get = read,
      tidy = function() end,
      set = write,
      element_of = number_in,
      cast = cast[name],
      tensor_tag = 16 + code,
      storage_tag = 32 + code,
   }
   T.host = T -- the type of the same elements in main memory
   if T.integer then T.set, T.element_of = write_integer(name), whole_element(T.element) end
   types[code], types[name] = T, T
end
types.Long.get = function(p, i) return (tonumber(p[i])) end
types.Half.get, types.Half.set = read_half, write_half
types.Float.get, types.Double.get = read_float, read_double
types.Float.tidy, types.Double.tidy = tidy_with(read_float), tidy_with(read_double)

-- CUDA's types, in a state that has CUDA. On a GPU, elements are read and written one at a time through Python, because
-- Lua cannot access the memory that their pointers refer to. Where the CPU stands in for a GPU, they are in main
-- memory.
local hosts = { 'Byte', 'Char', 'Short', 'Int', 'Long', 'Half', 'Float', 'Double' }
local function add_device_types(here)
   for position, host_name in ipairs(hosts) do
      local host = types[host_name]
      local name = host_name == 'Float' and 'Cuda' or 'Cuda' .. host_name
      local code, size = #hosts + position, host.size
      local function address(p, i) return tonumber(ffi.cast('intptr_t', p)) + i * size end
      local T = {
         name = name, code = code, tensor = 'torch.' .. name .. 'Tensor', storage = 'torch.' .. name .. 'Storage',
         size = size, floating = not host.integer, integer = host.integer, element = host.element,
            pointer = host.pointer, array = host.array, element_of = host.element_of, cast = host.cast,
         get = here and host.get or function(p, i) return python.device_read(code, address(p, i)) end,
         set = here and host.set
            or function(p, i, v)
               python.device_write(code, address(p, i), host.integer and tonumber(host.cast(v)) or v)
            end,
         tensor_tag = 16 + code, storage_tag = 32 + code,
         tidy = here and host.tidy or function() end,
         device = true, host = host, here = here,
      }
      types[code], types[name] = T, T
   end
end

types.read, types.read_whole = read, read_whole
-- By the size of an element: pointers to whole numbers, as which elements are moved so that NaNs keep their bits.
types.cells = {}
for size, name in pairs{ 'uint8_t', 'int16_t', [4] = 'int32_t', [8] = 'int64_t' } do
   types.cells[size] = ffi.typeof(name .. ' *')
end

types.count = #hosts
if python.has_cuda() then
   add_device_types(python.cuda_in_main_memory())
   types.count = 2 * #hosts
end

-- The types that Lua computes with where they are: real or whole numbers, but not halves.
for code = 1, types.count do
   local T = types[code]
   T.real, T.whole = T.here and T.host.floating, T.here and T.integer
   -- How elements are read that are only moved, and for arithmetic as in C.
   T.get_moved, T.get_as_c = T.real and T.get or read, T.real and T.get or read_whole
end

-- Codes of the types in main memory: of real numbers, and of all real or whole numbers.
types.codes_of_reals, types.codes_of_numbers = { types.Float.code, types.Double.code }, {}
for code = 1, #hosts do
   if types[code].real or types[code].whole then types.codes_of_numbers[#types.codes_of_numbers + 1] = code end
end

-- The text of a hole that rounds a number to a type of real numbers by to_type, the type's cast.
function types.rounded(T) return T == types.Double and '($1)' or 'to_type($1)' end

-- Returns a function of a type of real numbers (or of one of those codes) that returns the text, compiled for that type
-- with its functions, and $round(...), which rounds to it: traces are for one type of memory.
function types.compiled(name, text, values, codes)
   local made = templates.for_each(codes or types.codes_of_reals, function(code)
      local T = types[code]
      return templates.compile(name, text, values, { get = T.get, set = T.set, to_type = T.cast,
         round = types.rounded(T) })
   end)
   return function(T) return made(T.host.code) end
end

-- The types of those names, in main memory and, in a state that has CUDA, on devices.
function types.named(...)
   local list = {}
   for _, name in ipairs{ ... } do
      list[#list + 1] = types[name]
      list[#list + 1] = types['Cuda' .. name]
   end
   return list
end

-- The type of that name, such as Long, in the same kind of memory as tensors of type T.
function types.beside(T, name)
   if not T.device then return types[name] end
   return types[name == 'Float' and 'Cuda' or 'Cuda' .. name]
end

return types
