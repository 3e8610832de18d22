-- Storages: flat arrays of one element type.
local ffi = require 'ffi'
local types = require 'torch.core.types'
local memory = require 'torch.core.memory'
local class = require 'torch.core.class'
local errors = require 'torch.core.errors'
local python = require('th.python').functions

local records = memory.records
local type = type

local Storage = {}

local function check(object, position, T)
   local S = records[object]
   if S and not S.nd and S.T and (not T or S.T == T) then return S end
   errors.wrong_class(position, T and T.storage or 'torch.*Storage', object)
end

local integer, number_in = errors.whole, errors.number_in

local function check_size(n)
   if n < 0 then errors.raise('$ Torch: invalid memory size -- maybe an overflow?') end
   return n
end

local function new(T, first, second, third, fourth)
   local kind = type(first)
   if kind == 'table' and class.typename(first) == 'torch.Allocator' then
      return first.allocate(T, second == nil and 0 or integer(second, 2))
   end
   if kind == 'string' then
      -- filename, shared, size, shared memory: maps a file, or the shared-memory object of that name
      local in_shared_memory = second and fourth
      if in_shared_memory then first = '/dev/shm/' .. first:gsub('^/', '') end
      local mapped, owner = pcall(memory.map_storage, T, first, second or false, third or 0, in_shared_memory)
      if not mapped then -- checked first: the sandbox refuses it by name
         local missing = owner:find('No such file', 1, true) or owner:find('Permission denied', 1, true)
            or owner:find('Not a directory', 1, true)
         if not second and missing then errors.raise(('unable to open file <%s> in read-only mode'):format(first)) end
         error(owner, 0)
      end
      return owner
   elseif kind == 'table' then
      local n = #first
      local owner, S = memory.new_storage(T, n)
      for i = 1, n do
         local value = number_in(first[i])
         if not value then errors.raise(('element at index %d is not a number'):format(i)) end
         T.set(S.p, i - 1, value)
      end
      return owner
   elseif kind == 'userdata' then
      local source = check(first, 1, T)
      local offset = second == nil and 0 or integer(second, 2) - 1
      if offset < 0 or offset >= source.n then errors.raise('offset out of bounds') end
      local size = third == nil and source.n - offset or integer(third, 3)
      if size < 1 or size > source.n - offset then errors.raise('size out of bounds') end
      return (memory.view_storage(source, offset, size))
   end
   return (memory.new_storage(T, first == nil and 0 or check_size(integer(first, 1))))
end

function Storage:size() return check(self, 1).n end

function Storage:resize(n)
   memory.resize_storage(check(self, 1), check_size(integer(n, 2)))
   return self
end

function Storage:fill(value)
   local S = check(self, 1)
   local set, p, number = S.T.set, S.p, S.T.element_of(value)
   if not number then errors.wrong_type(2, 'number', value) end
   if not S.T.here then
      python.fill(memory.storage_handle(S), S.T.cast(number))
      return self
   end
   for i = 0, S.n - 1 do set(p, i, number) end
   return self
end

function Storage:totable()
   local S = check(self, 1)
   local get, p, result = S.T.get, S.p, {}
   for i = 1, S.n do result[i] = get(p, i - 1) end
   return result
end

-- A pointer to the first element, for LuaJIT's FFI; nil if the storage has no memory.
function Storage:data()
   local S = check(self, 1)
   return S.p and memory.pointer(S, 0)
end

-- The bytes of a Char or Byte storage as a string, and the inverse.
local function string_of(self, text)
   local S = check(self, 1)
   if type(text) == 'number' then text = tostring(text) end
   if type(text) ~= 'string' then return S.n > 0 and ffi.string(S.p, S.n) or '' end
   memory.resize_storage(S, #text)
   if #text > 0 then ffi.copy(S.p, text, #text) end
   return self
end

local function retain() end

local function install(T)
   local mt = class.newmetatable(T.storage, nil, function(...) return new(T, ...) end, nil,
      function() return (memory.new_storage(T, 0)) end, nil, T.storage_metatable)
   for name, method in pairs(Storage) do mt[name] = method end
   mt.retain, mt.free = retain, retain
   function mt.elementSize() return T.size end -- also without a storage: torch.ByteStorage.elementSize()
   if T.size == 1 and not T.device then mt.string = string_of end
   mt.__len = Storage.size
   local get, set, element_of = T.get, T.set, T.element_of
   mt.__index = function(self, key)
      local index = number_in(key)
      if not index then return mt[key] end
      local S = records[self]
      index = index - index % 1
      if not (index >= 1 and index <= S.n) then errors.argument(2, 'out of bounds', 'THStorage.c:202') end
      return get(S.p, index - 1)
   end
   mt.__newindex = function(self, key, value)
      local index, number = number_in(key), element_of(value)
      if not index then error(('the class %s cannot be indexed'):format(T.storage), 2) end
      if not number then errors.wrong_type(3, 'number', value) end
      local S = records[self]
      index = index - index % 1
      if not (index >= 1 and index <= S.n) then errors.argument(2, 'out of bounds', 'THStorage.c:195') end
      set(S.p, index - 1, number)
   end
end

for code = 1, types.count do install(types[code]) end

return { check = check, new = new }
