-- The memory of an object that threads share: a header and blocks. It consists of pieces, which Python provides, which
-- never move and live as long as the object. A reference to a block is a number: the piece and the place in it. Every
-- use of one checks that the block lies within the piece, so that whatever threads do at the same time, nothing outside
-- is read or written.
--
-- A heap is a record: number (by which Python knows the object), header, mutex, pieces (pointers), sizes (bytes),
-- locked (whether this state holds the mutex).
local ffi = require 'ffi'
local collection = require 'torch.core.collection'
local python = require('th.python').functions

local cast, fill, floor, band, tobit = ffi.cast, ffi.fill, math.floor, bit.band, bit.tobit

ffi.cdef [[
   int th_mutex_init(void *mutex, const void *attributes) __asm__("pthread_mutex_init");
   int th_mutex_trylock(void *mutex) __asm__("pthread_mutex_trylock");
   int th_mutex_unlock(void *mutex) __asm__("pthread_mutex_unlock");
   int th_yield(void) __asm__("sched_yield");
]]
local C = ffi.C

-- The sizes of blocks: a power of two, or the middle between two. By class, from 0.
local class_sizes, CLASSES = {}, 58
for class = 0, CLASSES - 1 do class_sizes[class] = (class % 2 == 0 and 16 or 24) * 2 ^ floor(class / 2) end

-- version changes with each change, and is odd during one. table: the block of the map's slots (0: none); n: its keys;
-- used: its slots that are or were in use; length: of a vector. New blocks are taken between `free_from` and `free_to`,
-- in piece `newest`, or are blocks that were freed: for each class the last one, which refers to the one before.
local Header = ffi.typeof([[struct {
   int32_t version, newest;
   double table, n, used, length;
   double free_from, free_to, freed[$];
   char mutex[64];
}]], CLASSES)
local header_pointer = ffi.typeof('$ *', Header)
local double_pointer, byte_pointer = ffi.typeof 'double *', ffi.typeof 'uint8_t *'

local PIECE, PER_PIECE = 2 ^ 40, 2 ^ -40

local HEADER, LEAST = ffi.sizeof(Header), 1024 -- bytes: of the header, of the first piece

local heap = {}

local function watch(m)
   local bytes = m.bytes_held
   for _, size in ipairs(m.sizes) do bytes = bytes + size end
   collection.watch(m, false, bytes, m.address)
end

-- Makes `m` the heap that Python has opened. bytes_held: of tensors that it keeps alive.
function heap.attach(m, number, address, size, bytes_held)
   collection.make_room(size + bytes_held)
   local header = cast(header_pointer, address)
   m.number, m.address, m.header, m.mutex = number, address, header, cast('void *', header.mutex)
   m.pieces, m.sizes, m.locked, m.fixed, m.bytes_held = { cast(byte_pointer, address) }, { size }, false, true,
      bytes_held
   watch(m)
   heap.renew(m)
   return m
end

-- Makes `m` a new heap, of an object of a class, with room for blocks of `size` bytes.
function heap.new(m, name, size)
   local number, _, address, bytes = python.object_new(name, math.max(LEAST, HEADER + size))
   heap.attach(m, number, address, bytes, 0)
   local header = m.header
   C.th_mutex_init(m.mutex, nil)
   header.newest, header.free_from, header.free_to = 1, PIECE + HEADER, PIECE + m.sizes[1]
   return m
end

-- Finds pieces that threads have added.
function heap.renew(m)
   for place = #m.pieces + 1, math.huge do
      local address, size = python.object_piece(m.number, place)
      if not address then return end
      m.sizes[place], m.pieces[place] = size, cast(byte_pointer, address)
      watch(m)
   end
end

-- Whether this state knows all pieces in which there are blocks.
function heap.is_known(m) return m.header.newest <= #m.pieces end

function heap.damaged() error('tds: the memory of a shared object is damaged', 0) end

-- A pointer to a block of `size` bytes; nil if there is no such block (in a piece that this state knows).
local function pointer(m, reference, size)
   local place = floor(reference * PER_PIECE)
   local base = m.pieces[place]
   if not base then return end
   local offset = reference - place * PIECE
   if size >= 0 and offset >= 0 and offset + size <= m.sizes[place] then return base + offset end
end
heap.pointer = pointer

local small = {} -- the classes of small sizes, by multiple of 8
for multiple = 0, 128 do
   local class = 0
   while class_sizes[class] < 8 * multiple do class = class + 1 end
   small[multiple] = class
end

local function class_of(size)
   local class = small[floor((size + 7) / 8)]
   if class then return class end
   class = small[128]
   while class_sizes[class] < size do class = class + 1 end
   return class
end

-- The bytes that a block of `size` bytes takes.
function heap.taken(size) return class_sizes[class_of(size)] end

-- Adds a piece with room for a block of `size` bytes, unless another thread has added one.
function heap.grow(m, size)
   python.object_grow(m.number, #m.pieces, class_sizes[class_of(size)])
   heap.renew(m)
end

-- Takes a block of `size` bytes. Returns a reference and a pointer; nil: the heap has to grow. Like what follows, only
-- for the state that holds the lock, and knows all pieces.
function heap.take(m, size)
   local header, class = m.header, class_of(size)
   local bytes, freed = class_sizes[class], header.freed[class]
   if freed ~= 0 then
      local p = pointer(m, freed, bytes) or heap.damaged()
      header.freed[class] = cast(double_pointer, p)[0]
      return freed, p
   end
   local newest = #m.pieces
   if header.free_from + bytes > header.free_to and newest > header.newest then
      header.newest = newest
      header.free_from, header.free_to = newest * PIECE, newest * PIECE + m.sizes[newest]
   end
   local reference = header.free_from
   if reference + bytes > header.free_to then return end
   local p = pointer(m, reference, bytes) or heap.damaged()
   header.free_from = reference + bytes
   return reference, p
end

function heap.free(m, reference, size)
   local header, class = m.header, class_of(size)
   local bytes = class_sizes[class]
   if bytes > header.free_to - header.free_from then -- the larger of the two is where new blocks are taken from
      header.free_from, header.free_to = reference, reference + bytes
      return
   end
   local p = pointer(m, reference, bytes) or heap.damaged()
   cast(double_pointer, p)[0] = header.freed[class]
   header.freed[class] = reference
end

-- Waits for the mutex. A thread whose script ends meanwhile gets an exception.
local YIELDS = 1000 -- before asking whether the script has ended
local function wait(mutex)
   while true do
      for _ = 1, YIELDS do
         C.th_yield()
         if C.th_mutex_trylock(mutex) == 0 then return end
      end
      python.threads_check()
   end
end

function heap.lock(m)
   if m.locked then error('tds: a finaliser uses the shared object that it interrupts', 0) end
   if C.th_mutex_trylock(m.mutex) ~= 0 then wait(m.mutex) end
   m.locked = true
end

function heap.unlock(m)
   m.locked = false
   C.th_mutex_unlock(m.mutex)
end

-- Encloses changes, under the lock.
function heap.changes(m) m.header.version = tobit(m.header.version + 1) end

-- What has been read before is read again after this: LuaJIT assumes that other memory may have changed, too.
local scratch = ffi.new 'int32_t[1]'
local function forget_reads() fill(scratch, 4) end
heap.forget_reads = forget_reads

-- Whether this is still the version.
function heap.is_version(m, version)
   forget_reads()
   return m.header.version == version
end

-- The version, if nothing is being changed; nil otherwise.
function heap.settled(m)
   forget_reads()
   local version = m.header.version
   if band(version, 1) == 0 then return version end
end

function heap.yield() C.th_yield() end

return heap
