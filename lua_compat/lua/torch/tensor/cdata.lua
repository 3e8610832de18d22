-- The C structures of Torch7's tensors and storages, for scripts that read them through LuaJIT's FFI: tensor:cdata(),
-- storage:cdata(), torch.cdata. A structure is updated with its tensor or storage and lives as long; writing to it has
-- no effect.
local ffi = require 'ffi'
local types = require 'torch.core.types'
local memory = require 'torch.core.memory'
local address_of = require('torch.core.blocks').address_of
local storages = require 'torch.tensor.storage'
local tensors = require 'torch.tensor.tensor'

local cast = ffi.cast

ffi.cdef [[
typedef struct { unsigned short x; } THHalf;
typedef struct THAllocator {
   void *(*malloc)(void *, ptrdiff_t);
   void *(*realloc)(void *, void *, ptrdiff_t);
   void (*free)(void *, void *);
} THAllocator;
]]

local STRUCTURES = [[
typedef struct TH%sStorage {
   %s *data; ptrdiff_t size; int refcount; char flag; THAllocator *allocator; void *allocatorContext;
   struct TH%sStorage *view;
} TH%sStorage;
typedef struct TH%sTensor {
   long *size; long *stride; int nDimension; TH%sStorage *storage; ptrdiff_t storageOffset; int refcount; char flag;
} TH%sTensor;
]]
local element = { Byte = 'unsigned char', Char = 'char', Short = 'short', Int = 'int', Long = 'long', Half = 'THHalf',
   Float = 'float', Double = 'double' }

-- A storage's structure is in its record's field c; a tensor's is in the table for what represents it outside Lua. c
-- holds the structure, the objects that keep its memory alive, and pointers to fill in.

local function fill_storage(S)
   local c = S.c.structure
   c.data, c.size = cast(S.c.pointer, S.p), S.n
end

local function storage_structure(S)
   if not S.c then
      local T = S.T
      S.c = { structure = ffi.new(T.c_storage), pointer = T.c_pointer }
      S.c.structure.refcount, S.c.structure.flag = 1, 7 -- as allocated by Torch7
      fill_storage(S)
   end
   return S.c.structure
end

local function fill_tensor(r)
   local kept, nd = r[0].c, r.nd
   if nd > kept.dimensions then
      kept.sizes, kept.strides = ffi.new('long[?]', nd), ffi.new('long[?]', nd)
      kept.dimensions = nd
   end
   for d = 1, nd do kept.sizes[d - 1], kept.strides[d - 1] = r[2 * d - 1], r[2 * d] end
   local c = kept.structure
   c.size, c.stride, c.nDimension = kept.sizes, kept.strides, nd
   c.storage, c.storageOffset = r.S and storage_structure(r.S) or nil, r.off
end

local function tensor_structure(r)
   local outside = memory.outside(r)
   if not outside.c then
      outside.c = { structure = ffi.new(r.T.c_tensor), dimensions = 0 }
      outside.c.structure.refcount, outside.c.structure.flag = 1, 1
      fill_tensor(r)
   end
   return outside.c.structure
end

memory.on_change(fill_tensor, fill_storage)

-- The tensors whose structures have been handed out, by the structures' addresses
local owners = setmetatable({}, { __mode = 'v' })

for code = 1, types.count do
   local T = types[code]
   local name = T.name
   local c_type = element[T.host.name]
   ffi.cdef(STRUCTURES:format(name, c_type, name, name, name, name, name))
   T.c_storage, T.c_tensor = ffi.typeof('TH' .. name .. 'Storage'), ffi.typeof('TH' .. name .. 'Tensor')
   T.c_pointer = ffi.typeof(c_type .. ' *')
   local storage_pointer, tensor_pointer = ffi.typeof('$ *', T.c_storage), ffi.typeof('$ *', T.c_tensor)
   function T.tensor_metatable:cdata()
      local pointer = cast(tensor_pointer, tensor_structure(tensors.check(self, 1, T)))
      owners[address_of(pointer)] = self
      return pointer
   end
   function T.storage_metatable:cdata()
      return cast(storage_pointer, storage_structure(storages.check(self, 1, T)))
   end
end

-- asnumber: return an FFI integer.
function torch.cdata(object, asnumber)
   if not object then return nil end
   local pointer = object:cdata()
   return asnumber and cast('intptr_t', pointer) or pointer
end

-- The tensor that a pointer from cdata() refers to; other values are returned unchanged.
local function object(value)
   if type(value) ~= 'cdata' then return value end
   local at = address_of(value)
   if at == 0 then return nil end
   return owners[at] or error('a tensor whose cdata() is used was collected', 0)
end

return { object = object }
