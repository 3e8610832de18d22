-- Memory of small storages. Requesting it from Python costs ten times as much as everything else about a small tensor,
-- so Python provides slabs, which are cut into blocks here. A block is reused by a storage of the same type and size
-- class once its storage is dead: the storage's record is then missing from a weak table. A slab whose blocks are all
-- free may move to another size class.
local ffi = require 'ffi'
local types = require 'torch.core.types'
local collection = require 'torch.core.collection'
local python = require('th.python').functions

local cast, ceil, max, min, setmetatable = ffi.cast, math.ceil, math.max, math.min, setmetatable
local cycle = collection.cycle

local blocks = {}

local LARGEST = 32768       -- bytes: the largest block
local STEP = 64             -- size classes are multiples of this,
local STEPS_PER_OCTAVE = 4  -- with this many between one power of two and the next
local SLAB = 2 ^ 20

-- The blocks of one size class. addresses, holders: by block number, the address and the record of the storage that
-- uses it (false: none). free: the numbers of unused blocks, as found after the cycle `searched`. handles: by address,
-- Python's handle for the block as a storage (nil: none yet). It is keyed by number because the collector does not
-- traverse numbers; pointers to tens of thousands of free blocks took most of the time of a cycle. The blocks of slab k
-- have the numbers (k-1) * per_slab + 1 to k * per_slab. slabs: their addresses (false: given away). gone: the k of
-- those. next, last: the numbers still to be cut from the newest slab; the next block lies at `address`.
local function list_of(class)
   return {
      class = class, per_slab = math.floor(SLAB / class), n = 0, addresses = {},
         holders = setmetatable({}, { __mode = 'v' }),
      free = {}, nfree = 0, searched = 0, slabs = {}, gone = {}, next = 1, last = 0, address = 0,
   }
end
local all_lists = {}

-- The lists by type code, then by size in multiples of STEP; false until first used.
local lists = {}
for code = 1, types.count do
   lists[code] = {}
   for steps = 1, LARGEST / STEP do lists[code][steps] = false end
end

local function make_list(code, steps)
   local multiple = 1
   while ceil(steps / multiple) > 2 * STEPS_PER_OCTAVE do multiple = 2 * multiple end
   local largest = ceil(steps / multiple) * multiple -- size of the class, in steps
   local list = lists[code][largest]
   if not list then
      list = list_of(largest * STEP)
      lists[code][largest], all_lists[#all_lists + 1] = list, list
   end
   lists[code][steps] = list
   return list
end

-- Whether n elements of type T fit into a block.
local largest_block = LARGEST
function blocks.fit(T, n) return n * T.size <= largest_block and T.here end

-- For tests, which put each storage between guard pages: requests all memory from Python.
function blocks.use_none() largest_block = -1 end

local function search(list)
   list.searched = cycle()
   local holders, free, n = list.holders, list.free, list.nfree
   for number = 1, list.n do
      if holders[number] == nil then
         holders[number] = false
         n = n + 1
         free[n] = number
      end
   end
   list.nfree = n
end

-- Slabs that belong to no list.
local spare, nspare = {}, 0

-- Moves a list's slabs whose blocks are all free to `spare`.
local function take_free_slabs(list)
   search(list)
   local free, per_slab = list.free, list.per_slab
   if list.nfree < per_slab then return end
   local count, left = {}, 0
   for i = 1, list.nfree do
      local k = ceil(free[i] / per_slab)
      count[k] = (count[k] or 0) + 1
   end
   for i = 1, list.nfree do
      local number = free[i]
      if count[ceil(number / per_slab)] < per_slab then
         left = left + 1
         free[left] = number
      elseif list.handles then
         local address = list.addresses[number]
         if list.handles[address] then collection.note_dead(list.handles[address]) end
         list.handles[address] = nil
      end
   end
   list.nfree = left
   for k, free_blocks in pairs(count) do
      if free_blocks == per_slab then
         nspare = nspare + 1
         spare[nspare], list.slabs[k] = list.slabs[k], false
         list.gone[#list.gone + 1] = k
      end
   end
end

-- Collects free slabs, at most once per collection cycle.
local reclaimed = 0
local function reclaim()
   if reclaimed == cycle() then return end
   reclaimed = cycle()
   for _, list in ipairs(all_lists) do take_free_slabs(list) end
end

collection.on_shortage(function()
   reclaim()
   while nspare > 0 do
      python.release_slab(spare[nspare])
      nspare = nspare - 1
      collection.note_slab(-SLAB)
   end
end)

local function take_slab(list)
   collection.make_room(SLAB)
   if nspare == 0 then reclaim() end
   local address
   if nspare > 0 then
      address, nspare = spare[nspare], nspare - 1
   else
      address = python.slab(SLAB)
      collection.note_slab(SLAB)
   end
   local k = table.remove(list.gone) or #list.slabs + 1
   list.slabs[k], list.address = address, address
   list.next, list.last = (k - 1) * list.per_slab + 1, k * list.per_slab
end

-- Cuts some blocks from the newest slab. Requests do not cut their own one by one: LuaJIT would need one more trace of
-- the whole operation for that, which it cannot always make.
local CUT_AT_ONCE = 64
local function cut(list)
   if list.next > list.last then take_slab(list) end
   local addresses, holders, free, n, address = list.addresses, list.holders, list.free, list.nfree, list.address
   local last = min(list.next + CUT_AT_ONCE - 1, list.last)
   for number = last, list.next, -1 do -- so that the first is taken first
      addresses[number], holders[number] = address + (number - list.next) * list.class, false
      n = n + 1
      free[n] = number
   end
   list.nfree, list.address = n, address + (last - list.next + 1) * list.class
   list.n, list.next = max(list.n, last), last + 1
end

-- Finds a block for n elements of type T. Returns its list and its number in it.
local function find(T, n)
   local steps = ceil(n * T.size / STEP)
   local list = lists[T.code][steps] or make_list(T.code, steps)
   if list.nfree == 0 then
      if list.searched ~= cycle() then search(list) end
      if list.nfree == 0 then cut(list) end
   end
   local last = list.nfree
   list.nfree = last - 1
   return list, list.free[last]
end

local function address_of(p) return (tonumber(cast('intptr_t', p))) end
blocks.address_of = address_of

-- The record of a new storage of n elements, which must fit into a block.
function blocks.storage(T, n)
   local list, number = find(T, n)
   local address = list.addresses[number]
   local S = { [0] = list.handles and list.handles[address] or false, T = T, n = n, p = cast(T.pointer, address),
      blocks = list }
   list.holders[number] = S
   return S
end

-- How many elements a storage has room for.
function blocks.capacity(S) return S.capacity or S.blocks.class / S.T.size end

-- Gives a storage a block for n elements, which must fit, and sets S.blocks and S[0]. Returns a pointer to the block
-- and the number of elements it has room for.
function blocks.give(S, n)
   local list, number = find(S.T, n)
   local address = list.addresses[number]
   list.holders[number] = S
   S.blocks, S[0] = list, list.handles and list.handles[address] or false
   return cast(S.T.pointer, address), list.class / S.T.size
end

-- Creates Python's handle for a block, as a storage.
function blocks.handle(S)
   local list, address = S.blocks, address_of(S.p)
   local h = python.slab_storage(address, S.T.code, list.class / S.T.size)
   list.handles = list.handles or {}
   list.handles[address] = h
   return h
end

-- Gives a block away for good, to whoever keeps its handle or holds its slab.
function blocks.give_away(S)
   local list, address = S.blocks, address_of(S.p)
   for number = 1, list.n do
      if list.holders[number] == S and list.addresses[number] == address then list.holders[number] = true end
   end
   if list.handles then list.handles[address] = nil end
end

-- Releases Python's handles for blocks that no storage uses.
function blocks.release_spares()
   for code = 1, types.count do
      for _, list in pairs(lists[code]) do
         for number = 1, list and list.handles and list.n or 0 do
            local address = list.addresses[number]
            if not list.holders[number] and list.handles[address] then
               collection.note_dead(list.handles[address])
               list.handles[address] = nil
            end
         end
      end
   end
end

return blocks
