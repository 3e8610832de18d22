-- Tensors whose memory cutorch allocates: pinned memory, or managed memory, which belongs to a FloatTensor and a
-- CudaTensor at once. PyTorch's copies need no pinned memory, so ordinary memory is used. PyTorch has no managed
-- memory: on a GPU it is an error; on the CPU (th --cpu-as-cuda) both tensors really share their elements.
local types = require 'torch.core.types'
local memory = require 'torch.core.memory'
local address_of = require('torch.core.blocks').address_of
local python = require('th.python').functions

local records = memory.records

-- Sizes, or a table, LongStorage or LongTensor of them.
local function sizes_of(first, ...)
   if torch.isTensor(first) then first = first:totable() end
   if torch.isStorage(first) then return first end
   return torch.LongStorage(type(first) == 'table' and first or { first or 0, ... })
end

local function count(sizes) return torch.LongTensor(sizes):prod() end

-- Storages identify an allocator by its class: torch.FloatStorage(cutorch.CudaHostAllocator, 3).
local Allocator = torch.class('torch.Allocator')
function Allocator:__init(allocate) self.allocate = allocate end

local function ordinary(T, n) return (memory.new_storage(T, n)) end

local managed = setmetatable({}, { __mode = 'k' }) -- the records of the storages in managed memory

local function managed_storage(T, n)
   if python.on_gpu() then
      error('managed memory (UVA) is not available on a GPU: PyTorch has none; use tensor:cuda() and tensor:float()', 0)
   end
   local owner, S = memory.new_storage(T, n)
   if n > 0 then memory.pin(S) end -- its memory must not move
   managed[S] = true
   return owner
end

cutorch.CudaHostAllocator, cutorch.CudaUVAAllocator = torch.Allocator(ordinary), torch.Allocator(managed_storage)

for _, name in ipairs{ 'Float', 'Double', 'Int', 'Long', 'Byte', 'Half' } do
   cutorch[('createCudaHost%sTensor'):format(name)] = function(...)
      local sizes = sizes_of(...)
      return torch[name .. 'Tensor'](torch[name .. 'Storage'](cutorch.CudaHostAllocator, count(sizes)), 1, sizes)
   end
end
cutorch.createCudaHostTensor = cutorch.createCudaHostFloatTensor

-- Whether an address belongs to managed memory.
function cutorch.isManagedPtr(pointer)
   if type(pointer) ~= 'number' then error('Must receive a ptr cast as a number', 0) end
   for S in pairs(managed) do
      if S.n > 0 and pointer >= address_of(S.p) and pointer < address_of(S.p) + S.n * S.T.size then return true end
   end
   return false
end

function cutorch.isManaged(object)
   local r = records[object]
   if not r then error('Usage: cutorch.isManaged(Tensor|Storage), got ' .. torch.type(object)) end
   return managed[r.nd and r.S or r] or false
end

-- A one-dimensional tensor of type T (as in cutorch) that shares the whole storage of a tensor, which must be managed.
local function on_the_same_memory(T, tensor)
   if not torch.isTensor(tensor) then error('Must use a tensor, got ' .. torch.type(tensor)) end
   local S = records[tensor].S
   assert(S and managed[S])
   local owner, Q = memory.new_storage(T, 0)
   local handle, base, n = memory.pin(S)
   memory.adopt(Q, python.storage_of(handle), address_of(S.p) - base * T.size, base, n)
   managed[Q] = true
   return torch[T.name .. 'Tensor'](owner)
end

function cutorch.createFloatUVATensor(...)
   return torch.FloatTensor(torch.FloatStorage(cutorch.CudaUVAAllocator, count(sizes_of(...))))
end
function cutorch.toFloatUVATensor(tensor) return on_the_same_memory(types.Float, tensor) end
function cutorch.toCudaUVATensor(tensor) return on_the_same_memory(types.Cuda, tensor) end
function cutorch.createCudaUVATensor(...) return cutorch.toCudaUVATensor(cutorch.createFloatUVATensor(...)) end
