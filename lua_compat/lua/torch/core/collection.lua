-- Releases the memory and handles of dead tensors and storages, and decides when Lua's collector runs.
--
-- There are no finalisers: each would be called from inside the collector, which aborts any trace that LuaJIT is
-- recording. Instead, records are kept in weak tables; what is missing there after a collection cycle is dead.
local buffer = require 'string.buffer'
local shared = require 'th.python'
local python = shared.functions

local setmetatable = setmetatable

local collection = {}

-- Lua's own collector; after each of its cycles the memory of dead tensors can be reused. A cycle starts when `pause`
-- percent of the memory that the last cycle left is in use: twice as much, as in plain Lua, but at least 4 MB more,
-- because a cycle traverses everything. (More garbage does not stay in a processor's caches.)
local collectgarbage = collectgarbage
local LEAST_GARBAGE = 2 ^ 12 -- KB
local MOST_PAUSE = 350
local pause = MOST_PAUSE
collectgarbage('setpause', pause)
collectgarbage('setstepmul', 400)

-- LuaJIT returns memory to the system as soon as 2 MB are free at the end of its heap, or all of a segment. A script
-- that makes garbage would lose and get the same pages in each cycle, which costs as much as the cycle. So for each MB
-- that a cycle needs, an object is kept. They are buffers, because making one does not touch its memory.
local PART, KEPT = 2 ^ 16, 16 -- bytes; one of so many parts is kept
local MOST_ROOM = 2 ^ 16 -- KB; more would cost a script with a limit of memory too much of it
local room, kept = 0, {} -- KB; buffers

local function keep_room(needed)
   needed = math.min(needed, MOST_ROOM)
   if needed <= room and needed > room / 4 then return end
   if needed < room then
      for _, part in ipairs(kept) do part:free() end
      kept = {}
   end
   room = 1.25 * needed -- because a cycle takes its time
   local parts = {}
   while collectgarbage('count') < room do
      local made, part = pcall(buffer.new, PART)
      if not made then break end -- memory is short
      parts[#parts + 1] = part
   end
   for k, part in ipairs(parts) do
      if k % KEPT == 1 then kept[#kept + 1] = part else part:free() end
   end
end

-- left: KB in use after a cycle.
local function set_pause(left)
   pause = 100 + math.max(100, math.min(math.floor(100 * LEAST_GARBAGE / left), MOST_PAUSE - 100))
   collectgarbage('setpause', pause)
   keep_room(left * pause / 100)
end

-- Counts cycles: an object that nothing refers to is found dead in the next cycle, like everything else.
local last_made, cycles = setmetatable({}, { __mode = 'v' }), 0

-- A number that changes when a cycle has found what is dead. swept: what is dead is no longer in use; otherwise nearly
-- all of it is.
local function cycle(swept)
   if last_made[1] == nil then
      last_made[1] = {}
      cycles = cycles + 1
      local count = collectgarbage('count')
      set_pause(swept and count or count * 100 / pause)
   end
   return cycles
end
collection.cycle = cycle

-- A cycle finds everything that is dead only if it starts with no other cycle under way. That is certain when none has
-- ended since the last one that ended here, and when too little memory is in use for Lua to have started one (Lua
-- starts one at twice what the last cycle left, or more).
local RESTS_BELOW = 1.5                 -- times what the last cycle left
local rests_in, rests_below = 0, 0      -- the number of the last cycle that ended here; KB

local function is_at_rest() return cycle() == rests_in and collectgarbage('count') < rests_below end

local function end_at_rest() rests_in, rests_below = cycle(true), RESTS_BELOW * collectgarbage('count') end

-- Runs a cycle, or the rest of the current one, without interruption. Returns whether it found everything that is dead.
local function run_cycle()
   local whole = is_at_rest()
   collectgarbage('setpause', pause) -- a script may have asked for less
   collectgarbage('step', math.ceil(collectgarbage('count')))
   end_at_rest()
   return whole
end

-- Finds everything that is dead. Lua's full collection first completes a cycle that is under way, then runs one of its
-- own; each traverses everything.
local function find_dead()
   if is_at_rest() then
      run_cycle()
   else
      collectgarbage('setpause', pause)
      collectgarbage()
      end_at_rest()
   end
end

-- The account. The bytes of memory outside Lua are counted here and nowhere else:
--   held         of tensors and storages, including dead ones, whose memory has not been given back
--   own          the part of `held` in no block, and not shared with a file or another Lua state, after the last cycle
--   unreleased   the part of `held` that was found dead
-- After `make_room(n)`, held + n is at most `limit`: what was in use when all dead memory was last given back, plus 96
-- MB or half of what was `own` then, whichever is more. Dead memory is therefore limited to that margin, plus whatever
-- has died since. What a cycle finds dead is given back by the next `make_room`.
local held, own, unreleased = 0, 0, 0

local LEAST_ROOM = 96 * 2 ^ 20
local limit = LEAST_ROOM

-- Bytes allocated, or found to be in use, since the last cycle; without memory that another Lua state keeps, too, for
-- which the limit is enough.
local since_cycle = 0

-- Handles to be released. They stay valid until `release` is called, which never happens while a kernel's arguments are
-- being collected.
local RELEASE_AT = 256 -- handles; also the most that one call passes as arguments
local dead, ndead = {}, 0

local function note_dead(handle)
   ndead = ndead + 1
   dead[ndead] = handle
end
collection.note_dead = note_dead

-- A record that stands for something outside Lua, with Python's handle or false in [0], has a slot: r.slot. By slot:
-- the records (false: the slot is free), their handles, the bytes of their memory, and the address of memory that
-- Python provided as a separate piece.
local holders = setmetatable({}, { __mode = 'v' })
local handles, bytes, pieces, slots = {}, {}, {}, 0
local free, nfree = {}, 0
local searched = 0                    -- the cycle after which the slots were last searched
local dead_pieces, ndead_pieces = {}, 0
local in_blocks = 0                   -- bytes of the slabs that blocks are cut from

-- Searches the slots: takes out what is dead and adds up what is `own`.
local function search()
   if searched == cycle() then return end
   searched = cycle()
   own = 0
   for slot = 1, slots do
      local holder = holders[slot]
      if holder == nil then
         holders[slot] = false
         if handles[slot] then note_dead(handles[slot]) end
         if pieces[slot] then
            ndead_pieces = ndead_pieces + 1
            dead_pieces[ndead_pieces] = pieces[slot]
         end
         unreleased, bytes[slot] = unreleased + bytes[slot], 0
         nfree = nfree + 1
         free[nfree] = slot
      elseif bytes[slot] > 0 and not holder.fixed then
         own = own + bytes[slot]
      end
   end
end

-- Arranges that a record's handle (or none) is released when the record is dead, together with `of_memory` bytes: a
-- piece at an address, or Python's own memory (nil).
function collection.watch(r, handle, of_memory, address)
   local slot = r.slot
   if not slot then
      search()
      if nfree > 0 then
         slot, nfree = free[nfree], nfree - 1
      else
         slot = slots + 1
         slots, bytes[slot] = slot, 0
      end
      holders[slot], r.slot = r, slot
   end
   local more = of_memory - bytes[slot]
   held = held + more
   if not r.kept_elsewhere then since_cycle = since_cycle + math.max(more, 0) end
   handles[slot], bytes[slot], pieces[slot] = handle or false, of_memory, address or false
end

-- Drops a record's handle, which no longer describes it.
function collection.drop(r)
   local h = r[0]
   if h then
      r[0] = false
      if r.slot then handles[r.slot] = false end
      note_dead(h)
   end
end

-- Notes that a piece of memory is no longer used; its storage is already watched with another.
function collection.note_dead_piece(address, of_memory)
   ndead_pieces = ndead_pieces + 1
   dead_pieces[ndead_pieces] = address
   held, unreleased = held + of_memory, unreleased + of_memory
end

-- Notes that a slab of `of_memory` bytes was taken for blocks; a negative number: given back.
function collection.note_slab(of_memory)
   in_blocks = in_blocks + of_memory
   held, since_cycle = held + of_memory, since_cycle + math.max(of_memory, 0)
end

-- Gives back slabs with no block in use; set by core/blocks.lua.
local give_back_slabs
function collection.on_shortage(f) give_back_slabs = f end

-- The memory that Python's allocator has freed is returned to the system each time this many bytes have been given
-- back.
local TRIM_AT = LEAST_ROOM / 4
local since_trim = 0

-- Gives back everything found dead.
local function release()
   search()
   while ndead_pieces > 0 do
      python.release_slab(dead_pieces[ndead_pieces])
      ndead_pieces = ndead_pieces - 1
   end
   while ndead > 0 do
      local first = math.max(ndead - RELEASE_AT, 0) + 1
      python.release(unpack(dead, first, ndead))
      ndead = first - 1
   end
   held, since_trim, unreleased = held - unreleased, since_trim + unreleased, 0
end
collection.release = release

-- Lua's collector does not see memory outside Lua. So a cycle runs after each 8 MB allocated, or a third of what is
-- `own`, or four times what Lua itself uses (all of which a cycle traverses), whichever is most. It runs without
-- interruption: an incremental cycle would be continued at each of Lua's own allocations, end too early, and find
-- little.
local CYCLE_AT = 8 * 2 ^ 20
local cycle_at = CYCLE_AT
local known_cycle = 0

-- Called after a cycle. whole: it found everything that is dead, and `of_memory` bytes are about to be allocated.
local function end_cycle(whole, of_memory)
   release()
   known_cycle, since_cycle = cycle(), 0
   cycle_at = math.max(CYCLE_AT, own / 3, 4 * 1024 * collectgarbage('count'))
   if whole then limit = held + of_memory + math.max(LEAST_ROOM, own / 2) end
end

-- Gives back everything that is dead; with `shortage`, free slabs, too.
local function collect(of_memory, shortage)
   find_dead()
   if shortage then give_back_slabs() end
   end_cycle(true, of_memory)
   if since_trim > TRIM_AT then
      since_trim = 0
      python.trim_heap()
   end
end

-- The collectgarbage that scripts call.
function collection.collectgarbage(option, ...)
   if option ~= nil and option ~= 'collect' then
      if option ~= 'count' then rests_in = 0 end -- this may start a cycle, or make one start sooner
      return collectgarbage(option, ...)
   end
   collect(0)
   return 0
end

-- Called before `of_memory` bytes are allocated.
local function make_room(of_memory)
   if known_cycle ~= cycle() then end_cycle(false) end
   if held + of_memory > limit then
      local running = collectgarbage('isrunning')
      collect(of_memory, true)
      -- a collection restarts a collector that the script has stopped
      if not running then collectgarbage('stop') end
   elseif since_cycle > cycle_at then
      if collectgarbage('isrunning') then end_cycle(run_cycle(), of_memory) else since_cycle = 0 end
   end
   if ndead >= RELEASE_AT then release() end
end
collection.make_room = make_room

-- Called when a tensor is made without memory. A kernel may allocate it later, and no collection may run during that
-- call.
function collection.make_room_for_kernels()
   if ndead >= RELEASE_AT or since_cycle > cycle_at then make_room(0) end
end

-- For tests: the bytes counted, the limit, and the bytes in slabs.
function collection.account() return held, limit, in_blocks end

return collection
