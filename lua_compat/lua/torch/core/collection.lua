-- What becomes of the memory and the handles of dead tensors and storages, and when Lua's collector runs.
--
-- Nothing here is a finaliser: each would be a call out of the middle of the collector, and ends whatever LuaJIT is
-- about to compile. Records are in weak tables instead, and what is missing there after a cycle of the collector is
-- dead.
local shared = require 'th.python'
local python = shared.functions

local setmetatable = setmetatable

local collection = {}

-- Lua's own collector, after whose cycles a dead tensor's memory is used again. It begins one when there is `pause`
-- percent of what the last has left: as Lua's own twice as much, and at least 3 MB more, because a cycle goes through
-- all of it.
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

-- A cycle that begins where none has begun since one ended here finds all that is dead: where none has ended since
-- either, and less is in use than makes Lua begin one, which is twice as much as the last has left or more.
local RESTS_BELOW = 1.5                 -- times what the last has left
local rests_in, rests_below = 0, 0      -- the number of the cycle that ended here; KB

local function is_at_rest() return cycle() == rests_in and collectgarbage('count') < rests_below end

local function end_at_rest() rests_in, rests_below = cycle(), RESTS_BELOW * collectgarbage('count') end

-- Runs a cycle in one go, or what is left of one that has begun. Gives whether it has found all that is dead.
local function run_cycle()
   local whole = is_at_rest()
   collectgarbage('setpause', pause) -- a script may have asked for less
   collectgarbage('step', math.ceil(collectgarbage('count')))
   end_at_rest()
   return whole
end

-- Finds all that is dead. A full collection of Lua's first ends the cycle that may have begun, by going through
-- everything, and then through everything in a cycle of its own.
local function find_dead()
   if is_at_rest() then
      run_cycle()
   else
      collectgarbage('setpause', pause)
      collectgarbage()
      end_at_rest()
   end
end

-- The account: the bytes of memory outside Lua are counted here and nowhere else.
--   held         of tensors and storages, dead ones among them, whose memory has not been given back
--   own          as much of it as is in no block, and no file or other Lua state has, too, after the last cycle
--   unreleased   as much of it as was found dead
-- After `make_room(n)`, held + n is at most `limit`: what was in use when all dead memory was last given back, plus
-- half of what was own then, or 96 MB if that is more. So the dead are at most that half or 96 MB, plus what has died
-- of what was in use then. What a cycle finds dead is given back by the next `make_room`.
local held, own, unreleased = 0, 0, 0

local LEAST_ROOM = 96 * 2 ^ 20
local limit = LEAST_ROOM

-- What was allocated since the last cycle, or found to be in use.
local since_cycle = 0

-- Handles to be released. They stay valid until `release` is called: not while the arguments of a kernel are gathered.
local RELEASE_AT = 256 -- handles; and no more at a time, as arguments of one call
local dead, ndead = {}, 0

local function note_dead(handle)
   ndead = ndead + 1
   dead[ndead] = handle
end
collection.note_dead = note_dead

-- Tables that stand for something outside Lua, of which [0] is the handle in Python or false, have a slot: r.slot. By
-- slots: the tables (false: the slot is free), what goes with them: their handles, the bytes of their memory, and the
-- address of memory that Python gave as a piece.
local holders = setmetatable({}, { __mode = 'v' })
local handles, bytes, pieces, slots = {}, {}, {}, 0
local free, nfree = {}, 0
local searched = 0                    -- the cycle after which the slots were last gone through
local dead_pieces, ndead_pieces = {}, 0
local in_blocks = 0                   -- bytes of the slabs of which blocks are cut

-- Takes what is dead, or own, from the slots.
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

-- Has such a table's handle, or none, released when the table is gone, together with so many bytes of memory; they are
-- a piece that lies at an address, or Python's own (nil).
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
   held, since_cycle = held + more, since_cycle + math.max(more, 0)
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

-- Notes that a piece of memory, whose storage is watched with another by now, is no longer used.
function collection.note_dead_piece(address, of_memory)
   ndead_pieces = ndead_pieces + 1
   dead_pieces[ndead_pieces] = address
   held, unreleased = held + of_memory, unreleased + of_memory
end

-- Notes that a slab of so many bytes was taken for blocks (less than 0: given back).
function collection.note_slab(of_memory)
   in_blocks = in_blocks + of_memory
   held, since_cycle = held + of_memory, since_cycle + math.max(of_memory, 0)
end

-- Gives back slabs that no block of is in use: torch/blocks.lua's.
local give_back_slabs
function collection.on_shortage(f) give_back_slabs = f end

-- What Python's allocator keeps of freed memory is looked at when so much was given back since it last was.
local TRIM_AT = LEAST_ROOM / 4
local since_trim = 0

-- Gives back what was found dead.
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

-- Lua sees nothing of that memory: a cycle runs for every 8 MB of it, or for as much as a third of what is own, or four
-- times as much as Lua itself has, all of which a cycle goes through. It runs in one go: one that is begun is gone on
-- with by Lua whenever it allocates something, is soon over, and finds little.
local CYCLE_AT = 8 * 2 ^ 20
local cycle_at = CYCLE_AT
local known_cycle = 0

-- Called where there has been a cycle; whole: it has found all that is dead, and so many bytes will be allocated.
local function end_cycle(whole, of_memory)
   release()
   known_cycle, since_cycle = cycle(), 0
   cycle_at = math.max(CYCLE_AT, own / 3, 4 * 1024 * collectgarbage('count'))
   if whole then limit = held + of_memory + math.max(LEAST_ROOM, own / 2) end
end

-- Gives back all that is dead, at once; `shortage`: free slabs, too.
local function collect(of_memory, shortage)
   find_dead()
   if shortage then give_back_slabs() end
   end_cycle(true, of_memory)
   if since_trim > TRIM_AT then
      since_trim = 0
      python.trim_heap()
   end
end

-- For scripts.
function collection.collectgarbage(option, ...)
   if option ~= nil and option ~= 'collect' then
      if option ~= 'count' then rests_in = 0 end -- a cycle may begin, or be made to begin sooner
      return collectgarbage(option, ...)
   end
   collect(0)
   return 0
end

-- Called where so many bytes are about to be allocated.
local function make_room(of_memory)
   if known_cycle ~= cycle() then end_cycle(false) end
   if held + of_memory > limit then
      local running = collectgarbage('isrunning')
      collect(of_memory, true)
      -- a collection starts the collector again, which the script has stopped
      if not running then collectgarbage('stop') end
   elseif since_cycle > cycle_at then
      if collectgarbage('isrunning') then end_cycle(run_cycle(), of_memory) else since_cycle = 0 end
   end
   if ndead >= RELEASE_AT then release() end
end
collection.make_room = make_room

-- Called where a tensor is made without memory: a kernel may give it some, and while it does no collection may run.
function collection.make_room_for_kernels()
   if ndead >= RELEASE_AT or since_cycle > cycle_at then make_room(0) end
end

-- For tests: the bytes that are counted, the limit, and how many of them are in slabs.
function collection.account() return held, limit, in_blocks end

return collection
