-- Memory of small storages: requesting it from Python costs ten times as much as everything else about a small tensor.
-- Python gives slabs, which are cut here into blocks. A block is used again by another storage of its type and size
-- class when the storage that had it is gone: its record is then missing in a weak table. A slab of which all blocks
-- are free may go to another class.
local ffi = require 'ffi'
local types = require 'torch.core.types'
local collection = require 'torch.core.collection'
local python = require('th.python').functions

local cast, ceil, setmetatable = ffi.cast, math.ceil, setmetatable
local cycle = collection.cycle

local blocks = {}

local LARGEST = 32768       -- bytes of a block
local STEP = 64             -- size classes are multiples of it,
local STEPS_PER_OCTAVE = 4  -- and so many between a power of two and the next
local SLAB = 2 ^ 20

-- The blocks of a size class, by number: their addresses, the records of the storages that have them (false: none).
-- free: the numbers of those that no storage has, found after the cycle `searched`. handles: what Python has for blocks
-- as storages, by address; nil: for none. (A number is nothing that the collector goes through; pointers to blocks that
-- wait to be used again, tens of thousands, were most of what a cycle cost.) The blocks of the k-th slab have the
-- numbers (k-1) * per_slab + 1 to k * per_slab. slabs: their addresses (false: gone). gone: the k of these. next, last:
-- the numbers still to be cut of the newest slab, of which the next lies at `address`.
local function list_of(class)
   return {
      class = class, per_slab = math.floor(SLAB / class), n = 0, addresses = {},
         holders = setmetatable({}, { __mode = 'v' }),
      free = {}, nfree = 0, searched = 0, slabs = {}, gone = {}, next = 1, last = 0, address = 0,
   }
end
local all_lists = {}

-- The lists by the type's code, then by the multiples of STEP that are asked for; false until one is wanted.
local lists = {}
for code = 1, types.count do
   lists[code] = {}
   for steps = 1, LARGEST / STEP do lists[code][steps] = false end
end

local function make_list(code, steps)
   local multiple = 1
   while ceil(steps / multiple) > 2 * STEPS_PER_OCTAVE do multiple = 2 * multiple end
   local largest = ceil(steps / multiple) * multiple -- of the class
   local list = lists[code][largest]
   if not list then
      list = list_of(largest * STEP)
      lists[code][largest], all_lists[#all_lists + 1] = list, list
   end
   lists[code][steps] = list
   return list
end

-- Whether n elements fit a block.
local largest_block = LARGEST
function blocks.fit(T, n) return n * T.size <= largest_block and T.here end

-- Requests every storage's memory from Python: for tests, which put each between guard pages.
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

-- Slabs that no list has any more.
local spare, nspare = {}, 0

-- Takes a list's slabs of which all blocks are free.
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

-- Finds the slabs that are free, once after each cycle.
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

local function cut(list)
   if list.next > list.last then take_slab(list) end
   local number = list.next
   list.addresses[number], list.address = list.address, list.address + list.class
   list.next, list.n = number + 1, math.max(list.n, number)
   return number
end

-- A block for n elements of type T: its list and its number there.
local function find(T, n)
   local steps = ceil(n * T.size / STEP)
   local list = lists[T.code][steps] or make_list(T.code, steps)
   if list.nfree == 0 and list.searched ~= cycle() then search(list) end
   local last = list.nfree
   if last == 0 then return list, cut(list) end
   list.nfree = last - 1
   return list, list.free[last]
end

local function address_of(p) return (tonumber(cast('intptr_t', p))) end
blocks.address_of = address_of

-- The record of a storage of n elements, which fit.
function blocks.storage(T, n)
   local list, number = find(T, n)
   local address = list.addresses[number]
   local S = { [0] = list.handles and list.handles[address] or false, T = T, n = n, p = cast(T.pointer, address),
      blocks = list }
   list.holders[number] = S
   return S
end

-- The elements that a storage has room for.
function blocks.capacity(S) return S.capacity or S.blocks.class / S.T.size end

-- Gives a storage a block for n elements, which fit: S.blocks, S[0]. Returns its pointer and the elements it has room
-- for.
function blocks.give(S, n)
   local list, number = find(S.T, n)
   local address = list.addresses[number]
   list.holders[number] = S
   S.blocks, S[0] = list, list.handles and list.handles[address] or false
   return cast(S.T.pointer, address), list.class / S.T.size
end

-- The handle of a block as a storage.
function blocks.handle(S)
   local list, address = S.blocks, address_of(S.p)
   local h = python.slab_storage(address, S.T.code, list.class / S.T.size)
   list.handles = list.handles or {}
   list.handles[address] = h
   return h
end

-- Gives a block away for good: to what keeps its handle.
function blocks.give_away(S)
   local list, address = S.blocks, address_of(S.p)
   for number = 1, list.n do
      if list.holders[number] == S and list.addresses[number] == address then list.holders[number] = true end
   end
   list.handles[address] = nil
end

-- Releases what Python holds for blocks that no storage uses.
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
