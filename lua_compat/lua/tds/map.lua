-- A hash table in the memory of a heap, which several threads read and change. Keys and values are given as a kind and
-- a number or, of kind STRING, text. Changes are made under the heap's lock; a reader tries again if there was a
-- change.
local ffi = require 'ffi'
local heap = require 'tds.heap'

local cast, copy, fill, to_string, pcall, error = ffi.cast, ffi.copy, ffi.fill, ffi.string, pcall, error
local band, bxor, lshift, rshift, tobit = bit.band, bit.bxor, bit.lshift, bit.rshift, bit.tobit
local pointer, take, free, taken = heap.pointer, heap.take, heap.free, heap.taken

ffi.cdef 'int th_memcmp(const void *a, const void *b, size_t n) __asm__("memcmp");'
local memcmp = ffi.C.th_memcmp

local map = {}

-- Kinds. A slot whose key is REMOVED was in use; the search for a key goes on after it.
local NONE, REMOVED, STRING = 0, 1, 2
map.NONE, map.STRING, map.NUMBER, map.TRUE, map.FALSE, map.TENSOR, map.OBJECT = NONE, STRING, 3, 4, 5, 6, 7

-- A block of slots begins with how many there are, a power of two; a block of text with its length.
local Slot = ffi.typeof 'struct { double key, value; int32_t hash; uint8_t key_kind, value_kind; }'
local slot_pointer, double_pointer, int_pointer = ffi.typeof('$ *', Slot), ffi.typeof 'double *', ffi.typeof 'int32_t *'
local words_pointer, bytes_pointer = ffi.typeof 'const int32_t *', ffi.typeof 'const uint8_t *'
local SLOT, BEFORE_SLOTS, BEFORE_TEXT = ffi.sizeof(Slot), 8, 4
local FEWEST, MOST_SLOTS = 8, 2 ^ 30

local function mixed(h, word)
   h = bxor(h, word)
   h = tobit(h + lshift(h, 10))
   return bxor(h, rshift(h, 6))
end

local function ended(h)
   h = tobit(h + lshift(h, 3))
   h = bxor(h, rshift(h, 11))
   return tobit(h + lshift(h, 15))
end

local number = ffi.new 'union { double number; int32_t words[2]; }'

-- Two words at the beginning of the n bytes at p and two at the end.
local function mixed_ends(h, p, n)
   local first, last = cast(words_pointer, p), cast(words_pointer, p + n - 8)
   return mixed(mixed(mixed(mixed(h, first[0]), first[1]), last[0]), last[1])
end

-- Of every byte of a text. Without a loop for short ones: LuaJIT compiles the caller's loop then.
local function hash_of_text(key)
   local n, p = #key, cast(bytes_pointer, key)
   if n < 4 then
      if n == 0 then return 0 end
      return ended(mixed(mixed(mixed(n, p[0]), p[rshift(n, 1)]), p[n - 1]))
   end
   if n <= 8 then return ended(mixed(mixed(n, cast(words_pointer, p)[0]), cast(words_pointer, p + n - 4)[0])) end
   local h = mixed_ends(n, p, n)
   if n > 16 then
      h = mixed_ends(h, p + 8, n - 16)
      for i = 16, n - 17, 4 do h = mixed(h, cast(words_pointer, p + i)[0]) end
   end
   return ended(h)
end

local function hash_of(kind, key)
   if kind == STRING then return hash_of_text(key) end
   number.number = key + 0 -- -0 is 0
   return ended(mixed(mixed(kind, number.words[0]), number.words[1]))
end

-- Text in a block; nil if there is none. p points to it.
local function text(m, reference)
   local p = pointer(m, reference, BEFORE_TEXT)
   if not p then return end
   local n = cast(int_pointer, p)[0]
   if n >= 0 and pointer(m, reference, BEFORE_TEXT + n) then return p + BEFORE_TEXT, n end
end

local function is_text(m, reference, key)
   local p, n = text(m, reference)
   return p and n == #key and memcmp(p, key, n) == 0
end

-- The slots and how many there are; nil if the block cannot be read.
local function slots_of(m)
   local reference = m.header.table
   local p = pointer(m, reference, BEFORE_SLOTS)
   if not p then return end
   local count = cast(double_pointer, p)[0]
   if count >= 1 and count <= MOST_SLOTS and pointer(m, reference, BEFORE_SLOTS + SLOT * count) then
      return cast(slot_pointer, p + BEFORE_SLOTS), count
   end
end

local function has_key(m, slot, kind, key, hash)
   if slot.key_kind ~= kind or slot.hash ~= hash then return false end
   if kind == STRING then return is_text(m, slot.key, key) end
   return slot.key == key
end

local function find_further(m, slots, mask, kind, key, hash)
   local place, removed = band(hash, mask), nil
   for _ = 0, mask do
      local slot = slots[place]
      local found = slot.key_kind
      if found == NONE then return nil, removed or place end
      if found == REMOVED then removed = removed or place
      elseif has_key(m, slot, kind, key, hash) then return place end
      place = band(place + 1, mask)
   end
   return nil, removed
end

-- The place of a key; nil and the place where it would be put if it is missing. It is mostly the first that is looked
-- at; then there is no loop, which would end LuaJIT's traces.
local function find(m, slots, count, kind, key, hash)
   local place = band(hash, count - 1)
   local slot = slots[place]
   if has_key(m, slot, kind, key, hash) then return place end
   if slot.key_kind == NONE then return nil, place end
   return find_further(m, slots, count - 1, kind, key, hash)
end

-- A kind and what stands for a key or value, as text or number; nil if it cannot be read.
local function what_is(m, kind, value)
   if kind ~= STRING then return kind, value end
   local p, n = text(m, value)
   if p then return STRING, to_string(p, n) end
end

local function lookup(m, kind, key, hash)
   local slots, count = slots_of(m)
   if not slots then return m.header.table == 0 and NONE or nil end
   local place = find(m, slots, count, kind, key, hash)
   if not place then return NONE end
   local slot = slots[place]
   return what_is(m, slot.value_kind, slot.value)
end

-- Calls read(m, ...) again until nothing has changed meanwhile and this state knows every piece. While others change
-- the map all the time, it waits for them.
local TRIES = 100
local function settled(m, read, ...)
   for attempt = 1, math.huge do
      local version = heap.settled(m)
      if version then
         heap.renew(m)
         local a, b, c, d = read(m, ...)
         if heap.is_version(m, version) then
            if a then return a, b, c, d end
            heap.damaged()
         end
      end
      if attempt < TRIES then
         heap.yield()
      else
         heap.lock(m)
         heap.unlock(m)
      end
   end
end

-- The kind and the value of a key; NONE if it is missing.
function map.get(m, kind, key)
   local hash, version = hash_of(kind, key), heap.settled(m)
   if version then
      local found, value = lookup(m, kind, key, hash)
      if found and heap.is_version(m, version) then return found, value end
   end
   return settled(m, lookup, kind, key, hash)
end

local PLACES = 64 -- that are found at a time: a loop that ends soon would not be compiled

-- Puts the places of the next keys into a list, from a place on (from 0). Returns how many there are and the place
-- after them; at the end, that is nil.
local function places(m, from, list)
   local slots, count = slots_of(m)
   if not slots then return m.header.table == 0 and 0 or nil end
   local n = 0
   for place = from, count - 1 do
      if slots[place].key_kind > REMOVED then
         n = n + 1
         list[n] = place
         if n == PLACES then return n, place + 1 end
      end
   end
   return n
end

function map.places(m, from, list) return settled(m, places, from, list) end

local function slot_at(m, place)
   local slots, count = slots_of(m)
   if not slots then return end
   if place >= count then return NONE end
   local slot = slots[place]
   if slot.key_kind <= REMOVED then return NONE end
   local key_kind, key = what_is(m, slot.key_kind, slot.key)
   local kind, value = what_is(m, slot.value_kind, slot.value)
   return key_kind and kind and key_kind, key, kind, value
end

-- The kind and key, kind and value at a place; NONE if there is none any longer.
function map.at(m, place)
   local version = heap.settled(m)
   if version then
      local key_kind, key, kind, value = slot_at(m, place)
      if key_kind and heap.is_version(m, version) then return key_kind, key, kind, value end
   end
   return settled(m, slot_at, place)
end

local function slots_bytes(count) return BEFORE_SLOTS + SLOT * count end

-- The bytes that a map of n keys takes before text, and that a text takes.
local function slots_for(n)
   local count = FEWEST
   while 3 * count < 4 * (n + 1) do count = 2 * count end
   return count
end
function map.bytes(n) return taken(slots_bytes(slots_for(n))) end
function map.text_bytes(n) return taken(BEFORE_TEXT + n) end

-- What follows runs under the lock. What takes a block returns nil and its bytes if the heap has to grow first.

local function put(m, kind, value)
   if kind ~= STRING then return value end
   local bytes = BEFORE_TEXT + #value
   local reference, p = take(m, bytes)
   if not reference then return nil, bytes end
   cast(int_pointer, p)[0] = #value
   copy(p + BEFORE_TEXT, value, #value)
   return reference
end

local function drop(m, kind, value)
   if kind ~= STRING then return end
   local p, n = text(m, value)
   if p then free(m, value, BEFORE_TEXT + n) end
end

local function free_place(slots, mask, hash)
   local place = band(hash, mask)
   if slots[place].key_kind == NONE then return place end
   for _ = 1, mask do
      place = band(place + 1, mask)
      if slots[place].key_kind == NONE then return place end
   end
end

-- Makes slots for n keys, with those that there are.
local function make_slots(m, n)
   local header, count = m.header, slots_for(n)
   local bytes = slots_bytes(count)
   local reference, p = take(m, bytes)
   if not reference then return nil, bytes end
   fill(p, bytes)
   cast(double_pointer, p)[0] = count
   local old, old_count = slots_of(m)
   local slots, mask = cast(slot_pointer, p + BEFORE_SLOTS), count - 1
   for i = 0, (old_count or 0) - 1 do
      if old[i].key_kind > REMOVED then
         local place = free_place(slots, mask, old[i].hash)
         copy(slots + place, old + i, SLOT)
      end
   end
   local former = header.table
   header.table, header.used = reference, header.n
   if old then free(m, former, slots_bytes(old_count)) end
   return slots, count
end

-- Sets or (kind NONE) removes a value. Returns whether that is done, then: whether the key is new, the kinds and values
-- of the value that was there and of the key that is gone. Or false and the bytes for which the heap has to grow; false
-- alone: pieces have to be found.
local function set(m, key_kind, key, hash, kind, value)
   local header = m.header
   if not heap.is_known(m) then return false end
   local slots, count = slots_of(m)
   if not slots and header.table ~= 0 then heap.damaged() end
   local place, new_place
   if slots then place, new_place = find(m, slots, count, key_kind, key, hash) end
   if not place and kind == NONE then return true end
   if not place and not (new_place and 4 * (header.used + 1) <= 3 * count) then
      slots, count = make_slots(m, 2 * header.n)
      if not slots then return false, count end
      place, new_place = find(m, slots, count, key_kind, key, hash)
   end
   local value_put, bytes = put(m, kind, value)
   if not value_put and kind ~= NONE then return false, bytes end
   if not place then
      local key_put, key_bytes = put(m, key_kind, key)
      if not key_put then
         drop(m, kind, value_put)
         return false, key_bytes
      end
      local slot = slots[new_place]
      if slot.key_kind == NONE then header.used = header.used + 1 end
      slot.key, slot.value, slot.hash, slot.key_kind, slot.value_kind = key_put, value_put, hash, key_kind, kind
      header.n = header.n + 1
      return true, true
   end
   local slot = slots[place]
   local old_kind, old, old_key = slot.value_kind, slot.value, slot.key
   drop(m, old_kind, old)
   if kind ~= NONE then
      slot.value, slot.value_kind = value_put, kind
      return true, false, old_kind, old, NONE
   end
   drop(m, key_kind, old_key)
   slot.key_kind, header.n = REMOVED, header.n - 1
   return true, false, old_kind, old, key_kind, old_key
end

-- The same without `done`.
local attempt
function attempt(m, key_kind, key, hash, kind, value)
   heap.lock(m)
   heap.changes(m)
   local ok, done, a, b, c, d, e = pcall(set, m, key_kind, key, hash, kind, value)
   heap.changes(m)
   heap.unlock(m)
   if not ok then error(done, 0) end
   if done then return a, b, c, d, e end
   if a then heap.grow(m, a) else heap.renew(m) end
   return attempt(m, key_kind, key, hash, kind, value)
end

function map.set(m, key_kind, key, kind, value)
   return attempt(m, key_kind, key, hash_of(key_kind, key), kind, value)
end

return map
