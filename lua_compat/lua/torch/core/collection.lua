-- What becomes of the memory and the handles of dead tensors and storages, and when Lua's collector runs.
--
-- Nothing here is a finaliser: each would be a call out of the middle of the collector, and ends whatever LuaJIT is about to
-- compile. Records are in weak tables instead, and what is missing there after a cycle of the collector is dead.
local math = require('th.own').math
local shared = require 'th.python'
local python = shared.functions

local setmetatable = setmetatable

local collection = {}

-- Lua's own collector, after whose cycles a dead tensor's memory is used again. It begins one when there is `pause` percent of
-- what the last has left: as Lua's own twice as much, and at least 3 MB more, because a cycle goes through all of it.
local collectgarbage = collectgarbage
local LEAST_GARBAGE = 3 * 2 ^ 10 -- KB
local MOST_PAUSE = 350
local pause = MOST_PAUSE
collectgarbage('setpause', pause)
collectgarbage('setstepmul', 400)

local function set_pause()
   local left = collectgarbage('count') * 100 / pause -- about
   pause = 100 + math.max(100, math.min(math.floor(100 * LEAST_GARBAGE / left), MOST_PAUSE - 100))
   collectgarbage('setpause', pause)
end

-- Cycles: a table that nothing refers to is found dead in the next one, as everything else is then.
local last_made, cycles = setmetatable({}, { __mode = 'v' }), 0

-- A number that changes when the collector has found what is dead.
local function cycle()
   if last_made[1] == nil then
      last_made[1] = {}
      cycles = cycles + 1
      set_pause()
   end
   return cycles
end
collection.cycle = cycle

-- Runs a cycle in one go, or what is left of one that has begun.
local function run_cycle()
   collectgarbage('step', math.ceil(collectgarbage('count')))
end

-- Finds all that is dead. A full collection of Lua's first ends the cycle that may have begun, by going through everything, and
-- then through everything in a cycle of its own. A cycle alone is enough where none has begun since one ended here: where none
-- has ended since either, and less is in use than makes Lua begin one, which is twice as much as the last has left or more.
local RESTS_BELOW = 1.5                 -- times what the last has left
local rests_in, rests_below = 0, 0      -- the number of the cycle that ended here; KB

local function find_dead()
   collectgarbage('setpause', pause) -- a script may have asked for less
   if cycle() == rests_in and collectgarbage('count') < rests_below then run_cycle() else collectgarbage() end
   rests_in, rests_below = cycle(), RESTS_BELOW * collectgarbage('count')
end

-- Handles to be released. They stay valid until `release` is called: not while the arguments of a kernel are gathered.
local RELEASE_AT = 256 -- handles; and no more at a time, as arguments of one call
local dead, ndead = {}, 0

local function note_dead(handle)
   ndead = ndead + 1
   dead[ndead] = handle
end
collection.note_dead = note_dead

-- Tables that stand for something outside Lua, of which [0] is the handle in Python or false, have a slot: r.slot. By slots: the
-- tables (false: the slot is free), what goes with them: their handles, the bytes of their memory, and the address of memory
-- that Python gave as a piece.
local holders = setmetatable({}, { __mode = 'v' })
local handles, bytes, pieces, slots = {}, {}, {}, 0
local free, nfree = {}, 0
local searched = 0                    -- the cycle after which the slots were last gone through
local dead_pieces, ndead_pieces = {}, 0
local freed = 0                       -- bytes of storages that are gone
local held = 0                        -- bytes of those that are not, or are not yet found to be

local function search()
   if searched == cycle() then return end
   searched = cycle()
   for slot = 1, slots do
      if holders[slot] == nil then
         holders[slot] = false
         if handles[slot] then note_dead(handles[slot]) end
         if pieces[slot] then
            ndead_pieces = ndead_pieces + 1
            dead_pieces[ndead_pieces] = pieces[slot]
         end
         freed, held, bytes[slot] = freed + bytes[slot], held - bytes[slot], 0
         nfree = nfree + 1
         free[nfree] = slot
      end
   end
end

-- Has such a table's handle, or none, released when the table is gone, together with so many bytes of memory; they are a
-- piece that lies at an address, or Python's own (nil).
function collection.watch(r, handle, of_memory, address)
   local slot = r.slot
   if not slot then
      search()
      if nfree > 0 then
         slot, nfree = free[nfree], nfree - 1
      else
         slot = slots + 1
         slots = slot
      end
      holders[slot], r.slot = r, slot
   end
   held = held + of_memory - (bytes[slot] or 0)
   handles[slot], bytes[slot], pieces[slot] = handle or false, of_memory, address or false
end

-- Drops such a table's handle, which no longer shows what it should.
function collection.drop(r)
   local h = r[0]
   if h then
      r[0] = false
      if r.slot then handles[r.slot] = false end
      note_dead(h)
   end
end

-- Notes that a piece of memory is no longer used.
function collection.note_dead_piece(address, of_memory)
   ndead_pieces = ndead_pieces + 1
   dead_pieces[ndead_pieces] = address
   freed = freed + of_memory
end

-- Gives back the pieces that are no longer used.
local function release_pieces()
   while ndead_pieces > 0 do
      python.release_slab(dead_pieces[ndead_pieces])
      ndead_pieces = ndead_pieces - 1
   end
end

-- Releases what was found dead.
local function release()
   search()
   release_pieces()
   while ndead > 0 do
      local first = math.max(ndead - RELEASE_AT, 0) + 1
      python.release(unpack(dead, first, ndead))
      ndead = first - 1
   end
end
collection.release = release

-- The same where enough has come together.
local function release_many()
   if ndead >= RELEASE_AT then release() end
end
collection.release_many = release_many

-- Lua does not see tensor memory: a full collection runs when as much was allocated since the last one as is in use, but not
-- before 96 MB. A record stands for about 1 KB of its own.
local COLLECT_AT = 96 * 2 ^ 20
local RECORD_BYTES = 1024
local since_collection, in_use, limit = 0, 0, COLLECT_AT

local function collect()
   find_dead()
   release()
   if freed > COLLECT_AT / 4 then python.trim_heap() end
   in_use, freed = in_use - freed, 0
   since_collection = 0
   limit = math.max(COLLECT_AT, in_use / 2)
end

-- For scripts: a full collection finds all memory that is dead, and gives it back at once.
function collection.collectgarbage(option, ...)
   if option ~= nil and option ~= 'collect' then
      if option ~= 'count' then rests_in = 0 end -- a cycle may begin, or be made to begin sooner
      return collectgarbage(option, ...)
   end
   collect()
   return 0
end

-- Lua's collector sees nothing of that memory either: a cycle runs for every 8 MB of it, or for as much as a third of
-- what was alive after the last, or four times as much as Lua itself has, all of which a cycle goes through. It runs in
-- one go: one that is begun is gone on with by Lua whenever it allocates something, is soon over, and finds little.
local CYCLE_AT = 8 * 2 ^ 20
local since_cycle, known_cycle, alive = 0, 0, 0

-- Called when there has been a cycle.
local function begin_count()
   known_cycle, since_cycle = cycle(), 0
   search()
   alive = held
end

local function run_cycle_of_tensors()
   if since_cycle < math.max(CYCLE_AT, alive / 3, 4 * 1024 * collectgarbage('count')) then return end
   run_cycle()
   begin_count()
   since_collection = 0
end

-- Called where memory is about to be allocated.
function collection.account(of_memory)
   in_use = in_use + of_memory
   if known_cycle ~= cycle() then begin_count() end
   since_collection, since_cycle = since_collection + of_memory + RECORD_BYTES, since_cycle + of_memory
   if since_collection > limit then
      local running = collectgarbage('isrunning')
      collect()
      if not running then collectgarbage('stop') end -- a collection starts the collector again, which the script has stopped
   elseif since_cycle > CYCLE_AT and collectgarbage('isrunning') then
      run_cycle_of_tensors()
   end
   search()
   release_pieces()
   release_many()
end

-- Called where so much memory has become part of what is in use in another way (less than 0: is not).
function collection.note_use(of_memory) in_use = in_use + of_memory end

-- Called where memory has been allocated while no collection may run.
function collection.note_allocated(of_memory) since_cycle = since_cycle + of_memory end

return collection
