-- Records of tensors and storages, the memory they stand for, and when it is released.
--
-- A tensor or storage is a userdata; records[userdata] says what it is. A tensor's record:
--   T     its type (torch/types.lua)
--   S     the record of its storage, shared by all its views: when memory moves, S.p is the one place that changes
--   owner the storage's userdata, which keeps the storage alive
--   off   offset of its first element, from 0
--   nd    dimensions; size and stride of dimension d (from 1) are at [2*d-1] and [2*d]
--   h     the handle of the same view in Python, made when a kernel first wants it; dropped when the view changes
--   era   that of the storage when h was made
-- A storage's record: T, p (pointer to the first element), n (elements), capacity, h (handle in Python, made when one is
-- first wanted; nil without memory), base (elements before p[0] in Python's storage: not 0 for a storage that views
-- another), blocks (the list that its memory goes back to; nil for memory of PyTorch's), era (how often
-- it has got other memory that Python sees as another storage; nil: never), removed (the file of a shared-memory object,
-- which goes with it), fixed (it cannot grow: it is a file's memory, or, shared, that of another Lua state, too), shown (a script
-- has had its userdata).
-- Both may have c, the C structure that stands for them (torch/cdata.lua).
local math = require('th.own').math
local ffi = require 'ffi'
local types = require 'torch.types'
local errors = require 'torch.errors'
local shared = require 'th.python'
local python = shared.functions

local newproxy, setmetatable, cast, select, remove = newproxy, setmetatable, ffi.cast, select, os.remove
local getfenv, setfenv = debug.getfenv, debug.setfenv
local ceil = math.ceil

local check_whole, MOST = errors.check_whole, errors.MOST

local records = setmetatable({}, { __mode = 'k' })
local memory = { records = records }

-- State that both finalisers and the rest of the code change. A finaliser may run at any allocation, and also where a
-- compiled trace exits: between the parts of "n = n + 1; list[n] = x". In the interpreter it runs only at allocations,
-- so the functions below are not compiled and do not allocate between reading and writing.
local RELEASE_AT = 256 -- handles; and no more at a time, as arguments of one call
local dead, ndead = {}, 0 -- handles to be released
local freed = 0           -- bytes of storages that are gone
local to_find = 0         -- bytes of the storages of what is gone: if they are gone, too, the next collection finds them

local function note_dead(handle)
   ndead = ndead + 1
   dead[ndead] = handle
end
jit.off(note_dead)

local function take_dead()
   local fresh = {}
   local list, n = dead, ndead
   dead, ndead = fresh, 0
   return list, n
end
jit.off(take_dead)

local function note_freed(bytes) freed = freed + bytes end
jit.off(note_freed)

local function take_freed()
   local bytes = freed
   freed = 0
   return bytes
end
jit.off(take_freed)

-- Handles that are noted stay valid until release_dead is called: not while the arguments of a kernel are gathered.
local release_large
local function release_dead()
   release_large()
   while ndead > 0 do
      local list, n = take_dead()
      for first = 1, n, RELEASE_AT do
         python.release(unpack(list, first, math.min(first + RELEASE_AT - 1, n)))
      end
   end
end
memory.release_dead = release_dead

-- Collection. Lua does not see tensor memory: a full collection runs when as much was allocated since the last one
-- as is in use, but not before 96 MB. A record stands for about 1 KB of its own.
local COLLECT_AT = 96 * 2 ^ 20
local RECORD_BYTES = 1024
local since_collection, in_use, limit = 0, 0, COLLECT_AT
local SEARCHED_AT = 16 * 2 ^ 20 -- bytes that are worth another collection: scripts ask for one every few steps
local round = 0 -- of collection

-- Lua's own collector: at its usual pace, tens of thousands of dead tensors pile up before their memory is reused.
local collectgarbage = collectgarbage
collectgarbage('setpause', 130)
collectgarbage('setstepmul', 400)

local function collect(times)
   for _ = 1, times do
      to_find = 0
      round = round + 1
      collectgarbage()
      if to_find < SEARCHED_AT then break end
   end
   release_dead()
   local bytes = take_freed()
   if bytes > COLLECT_AT / 4 then python.trim_heap() end
   in_use = in_use - bytes
   since_collection = 0
   limit = math.max(COLLECT_AT, in_use / 2)
end

-- For scripts: a full collection finds all large memory that is dead, and gives it back at once. The first finds tensors,
-- the next their storages, the last what guards the memory of those.
function memory.collectgarbage(option, ...)
   if option ~= nil and option ~= 'collect' then return collectgarbage(option, ...) end
   collect(3)
   return 0
end

local function account(bytes)
   in_use = in_use + bytes
   since_collection = since_collection + bytes + RECORD_BYTES
   if since_collection > limit then collect(1) end
   if ndead >= RELEASE_AT then release_dead() end
end

-- Memory of small storages: requesting it from Python costs ten times as much as everything else about a small tensor.
-- Python gives slabs, which are cut here into blocks. A block is used again by the next storage of its type and size
-- class: when a storage is gone, its finaliser puts the block into `back`; `ready` is for take_block alone, so that it
-- may be compiled. Both alternate pointers and handles (false where no kernel wanted one): tables would weigh more, and
-- the collector runs the later the more is alive.
local LARGEST = 32768       -- bytes of a block
local STEP = 64             -- size classes are multiples of it,
local STEPS_PER_OCTAVE = 4  -- and so many between a power of two and the next
local SLAB = 2 ^ 20
local lists = {} -- by the type's code, then by the multiples of STEP that are asked for
for code = 1, types.count do
   local list
   lists[code] = {}
   for steps = LARGEST / STEP, 1, -1 do
      local multiple = 1
      while steps > 2 * STEPS_PER_OCTAVE * multiple do multiple = 2 * multiple end
      if steps % multiple == 0 then list = { class = steps * STEP, ready = {}, n = 0, back = {}, nback = 0 } end
      lists[code][steps] = list
   end
end
local slab_memory, slab_used = nil, SLAB -- the current one

local function put_back(list, p, h)
   local n, back = list.nback + 2, list.back
   list.nback = n
   back[n - 1], back[n] = p, h or false
end
jit.off(put_back)

-- Larger storages' memory, until PyTorch is loaded: pieces of their own, which are not used again. (PyTorch's is better
-- then: kernels can resize it.)
local large = { back = {}, nback = 0 }

-- Whether a storage's memory is a block, which stays when the storage goes.
local function in_block(S) return S.blocks and S.blocks ~= large end

local function take_large()
   local fresh = {}
   local back, n = large.back, large.nback
   large.back, large.nback = fresh, 0
   return back, n
end
jit.off(take_large)

local function address_of(p) return tonumber(cast('intptr_t', p)) end

function release_large()
   while large.nback > 0 do
      local back, n = take_large()
      for k = 2, n, 2 do
         python.release_slab(address_of(back[k - 1]))
         if back[k] then note_dead(back[k]) end
      end
   end
end

-- Makes what finalisers have put back ready.
local function fetch_back(list)
   local n = list.nback
   list.ready, list.back = list.back, list.ready
   list.n, list.nback = n, 0
   return n
end
jit.off(fetch_back)

local function cut_block(T, class)
   account(class)
   if slab_used + class > SLAB then slab_memory, slab_used = cast('char*', python.slab(SLAB)), 0 end
   local p = cast(T.pointer, slab_memory + slab_used)
   slab_used = slab_used + class
   return p
end

-- A block for n elements of type T: its list, a pointer, a handle if there is one.
local function take_block(T, n)
   local list = lists[T.code][ceil(n * T.size / STEP)]
   local last = list.n
   if last == 0 and list.nback > 0 then last = fetch_back(list) end
   if last == 0 then return list, cut_block(T, list.class) end
   list.n = last - 2
   local ready = list.ready
   return list, ready[last - 1], ready[last] or nil
end

-- Releases what Python holds for blocks that no storage uses.
function memory.release_spares()
   local function release(list, n)
      for k = 2, n, 2 do
         if list[k] then note_dead(list[k]) end
         list[k] = false
      end
   end
   for code = 1, types.count do
      for _, list in ipairs(lists[code]) do
         release(list.ready, list.n)
         release(list.back, list.nback)
      end
   end
end

local function drop(r) -- the Python view no longer matches the record
   local h = r.h
   if h then
      r.h = nil
      note_dead(h)
   end
end
memory.drop = drop

-- A storage that may be found dead is counted once in each collection.
local function may_find(S)
   if S.round ~= round then
      S.round = round
      to_find = to_find + S.capacity * S.T.size
   end
end

local function finalize_tensor(ud)
   local r = records[ud]
   if r then
      records[ud] = nil
      drop(r)
      if r.S and not in_block(r.S) then may_find(r.S) end
   end
end

local function release_storage(S)
   if S.blocks then
      if S.blocks == large then note_freed(S.capacity * S.T.size) end
      put_back(S.blocks, S.p, S.h)
      S.blocks, S.h, S.n, S.capacity = nil, nil, 0, 0 -- should anything still lead here
      return
   end
   if not S.parent then note_freed(S.capacity * S.T.size) end
   drop(S)
end

-- Between the moment when the collector finds a userdata dead and its finaliser, a script can have it back from the keys
-- of a weak table, and make a tensor of it. So the memory of a storage that a script has had is not released with its
-- userdata but with its record, which no script has: a guard goes with that. Blocks need none: their memory stays, and
-- what the script then sees is elements of its own.
local guard_proto = newproxy(true)
debug.getmetatable(guard_proto).__gc = function(guard)
   if guard ~= guard_proto then release_storage(getfenv(guard)) end
end

local function finalize_storage(ud)
   local S = records[ud]
   if S then
      records[ud] = nil
      if S.removed then remove(S.removed) end
      if S.shown and not (S.parent or S.shared or in_block(S)) then -- shared: the sandbox has no threads
         S.guard = setfenv(newproxy(guard_proto), S)
         may_find(S)
      else
         release_storage(S)
      end
   end
end

-- The metatables of the userdata; torch/tensor.lua and storage.lua make classes of them.
local function prototype(finalize)
   local proto = newproxy(true)
   local metatable = debug.getmetatable(proto)
   metatable.__gc = finalize
   return proto, metatable
end

for code = 1, types.count do
   local T = types[code]
   T.tensor_proto, T.tensor_metatable = prototype(finalize_tensor)
   T.storage_proto, T.storage_metatable = prototype(finalize_storage)
end

local function push_tensor(T, r)
   local ud = newproxy(T.tensor_proto)
   records[ud] = r
   return ud
end
memory.push_tensor = push_tensor

local function push_storage(T, S)
   local ud = newproxy(T.storage_proto)
   records[ud] = S
   return ud
end

-- Whether n elements fit a block.
local largest_block = LARGEST
local function few_bytes(T, n) return n * T.size <= largest_block and T.here end

-- Requests every storage's memory from Python: for tests, which put each between guard pages.
function memory.use_no_blocks() largest_block = -1 end

-- A storage of n elements, which few_bytes allows.
local function small_storage(T, n)
   local list, p, h = take_block(T, n)
   if ndead >= RELEASE_AT then release_dead() end
   local S = { T = T, tag = T.storage_tag, n = n, capacity = list.class / T.size, base = 0, p = p, h = h, blocks = list }
   return push_storage(T, S), S
end

-- The handle of a storage that has memory.
local function storage_handle(S)
   local h = S.h
   if h then return h end
   if S.blocks then
      h = python.slab_storage(address_of(S.p), S.T.code, S.capacity)
   else
      h = python.storage_of(storage_handle(S.parent))
   end
   S.h = h
   return h
end

-- Memory for n elements that are not few, whoever owns it: the list that it goes back to (nil: PyTorch's), a handle if there
-- is one, its address. A kernel can only resize PyTorch's.
local function request(T, n, for_kernel)
   release_large()
   if not (shared.pytorch or not T.here or for_kernel) then return large, nil, python.slab(n * T.size) end
   local view, handle, address = python.new(T.code, n)
   note_dead(view)
   return nil, handle, address
end

-- A storage of n elements, which a script may have: its userdata and its record.
function memory.new_storage(T, n)
   check_whole(n, 0, 'size of a storage')
   if n > 0 and few_bytes(T, n) then return small_storage(T, n) end
   account(n * T.size)
   local S = { T = T, tag = T.storage_tag, n = n, capacity = n, base = 0, shown = true }
   if n > 0 then
      local address
      S.blocks, S.h, address = request(T, n)
      S.p = cast(T.pointer, address)
   end
   return push_storage(T, S), S
end

-- The userdata of a tensor's storage, for a script; nil without a storage.
function memory.storage_of(r)
   local S = r.S
   if S and not in_block(S) then S.shown = true end
   return r.owner
end

-- A storage on the elements [offset, offset + n) of another, from 0.
function memory.view_storage(parent, parent_owner, offset, n)
   local T = parent.T
   check_whole(offset, 0, 'offset in a storage')
   check_whole(n, 1, 'size of a storage')
   if offset + n > parent.n then error('a storage reaches beyond the one it views', 0) end
   local S = {
      T = T, tag = T.storage_tag, n = n, capacity = n, base = parent.base + offset, p = parent.p + offset,
      parent = parent, owner = parent_owner, offset = offset,
   }
   parent.views = parent.views or setmetatable({}, { __mode = 'k' })
   parent.views[S] = true
   return push_storage(T, S), S
end

-- A file as a storage.
function memory.map_storage(T, filename, shared, n)
   local handle, address, count = python.storage_map(T.code, filename, shared, n)
   local S = { T = T, tag = T.storage_tag, n = count, capacity = count, base = 0, fixed = true, shown = true }
   in_use = in_use + count * T.size
   S.h, S.p = handle, cast(T.pointer, address)
   return push_storage(T, S), S
end

-- Gives a storage without memory the memory of another Lua state's storage.
function memory.adopt(S, handle, address, base, n)
   S.h, S.base, S.n, S.capacity, S.blocks = handle, base, n, n, nil
   S.fixed, S.shared = true, true
   S.p = cast(S.T.pointer, address) + base
   account(n * S.T.size)
end

-- Called when a record that has a C structure (torch/cdata.lua) has changed.
local tensor_changed, storage_changed
function memory.on_change(tensor, storage) tensor_changed, storage_changed = tensor, storage end

-- The views of a storage whose memory has moved.
local function follow(S)
   for view in pairs(S.views) do
      view.p = S.p + view.offset
      if view.c then storage_changed(view) end
      if view.views then follow(view) end
   end
end

-- The memory of a storage, from Python's first element, now lies at an address and holds count elements.
local function moved(S, address, count)
   count = count - S.base
   in_use = in_use + (count - S.capacity) * S.T.size
   S.p, S.capacity = cast(S.T.pointer, address) + S.base, count
   if S.c then storage_changed(S) end
   if S.views then follow(S) end
end

-- What Python holds for a storage and its views no longer is their memory.
local function forget(S)
   S.era = (S.era or 0) + 1
   if S.views then
      for view in pairs(S.views) do
         drop(view)
         forget(view)
      end
   end
end

-- Gives a storage on a block room for n elements, contents kept, in a larger block or, where there is none or one must not
-- be, in memory that Python requests and can resize.
local function leave_block(S, n, for_python)
   local T, from, old, list, h, total = S.T, S.p, S.capacity, S.blocks, S.h, in_use
   local address, capacity = nil, n
   if few_bytes(T, n) and not for_python then
      S.blocks, address, S.h = take_block(T, n)
      capacity = S.blocks.class / T.size
   else
      S.blocks, S.h, address = request(T, n, for_python)
      S.shown = true
      total = total + n * T.size
   end
   moved(S, address, capacity)
   in_use = total -- blocks count when they are cut
   if list == large then note_freed(old * T.size) end
   forget(S)
   ffi.copy(S.p, from, old * T.size) -- views may reach beyond S.n
   put_back(list, from, h)
end

function memory.resize_storage(S, n)
   check_whole(n, 0, 'size of a storage')
   if n > S.capacity then
      if S.parent or S.fixed then
         error('Trying to resize storage that is not resizable' .. (S.shared and ': threads share it' or ''), 0)
      end
      local grown = (n - S.capacity) * S.T.size
      if S.blocks then
         leave_block(S, n)
      elseif S.h then
         local count = n
         moved(S, python.storage_resize(S.h, count), count)
      else
         local address
         S.blocks, S.h, address = request(S.T, n)
         moved(S, address, n)
      end
      account(grown)
      in_use = in_use - grown -- moved has counted it
   end
   -- A smaller storage keeps its memory: views may still reach there.
   S.n = n
   if S.c then storage_changed(S) end
end

-- Tensors. The record of one without elements; with push_tensor it becomes a tensor.
local function empty_record(T) return { T = T, tag = T.tensor_tag, off = 0, nd = 0 } end
memory.empty_record = empty_record

-- A record for use within one function, without userdata. Its handles are released with the next allocation.
function memory.temporary(T)
   local r = empty_record(T)
   r.temporary = true
   return r
end

function memory.new_tensor(T)
   local r = empty_record(T)
   if ndead >= RELEASE_AT then release_dead() end
   return push_tensor(T, r), r
end

-- A copy of a tensor's record: one more view of the same elements.
local function copy_view(r)
   local v = { r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8],
      T = r.T, tag = r.tag, S = r.S, owner = r.owner, off = r.off, nd = r.nd }
   for i = 9, 2 * r.nd do v[i] = r[i] end
   return v
end
memory.copy_view = copy_view

-- Fresh memory for a record without a storage: one call makes both storage and Python view.
local function allocate(r, nd, sizes, count)
   local T = r.T
   if few_bytes(T, count) then
      r.owner, r.S = small_storage(T, count)
      return
   end
   if not (shared.pytorch or not T.here) then
      r.owner, r.S = memory.new_storage(T, count)
      r.S.shown = nil
      return
   end
   account(count * T.size)
   local view, handle, address
   if nd == 1 then view, handle, address = python.new(T.code, sizes[1])
   elseif nd == 2 then view, handle, address = python.new(T.code, sizes[1], sizes[2])
   else view, handle, address = python.new(T.code, unpack(sizes, 1, nd)) end
   local S = { T = T, tag = T.storage_tag, n = count, capacity = count, base = 0, h = handle,
      p = cast(T.pointer, address) }
   r.S, r.owner = S, push_storage(T, S)
   if r.temporary then note_dead(view) else r.h = view end
end

-- The sizes of a tensor in one place: whole numbers, and elements that can be counted. Returns the element after the last
-- one, from the tensor's first, and whether the elements lie one after the other.
local function extent(nd, sizes, strides)
   local last, contiguous, count, dense = 1, 1, 1, true
   for d = nd, 1, -1 do
      local size = sizes[d]
      local stride = strides and strides[d] or -1
      check_whole(size, 1, 'size of a tensor')
      check_whole(stride, -MOST, 'stride of a tensor')
      if stride < 0 then stride = contiguous end
      dense = dense and stride == contiguous
      contiguous, count = size * stride, count * size
      last = last + (size - 1) * stride
   end
   check_whole(last, 1, 'memory of a tensor')
   check_whole(count, 1, 'elements of a tensor')
   return last, dense
end

local function lay_out(r, nd, sizes, strides)
   local contiguous = 1
   for d = nd, 1, -1 do
      local size = sizes[d]
      local stride = strides and strides[d] or -1
      if stride < 0 then stride = contiguous end
      r[2 * d - 1], r[2 * d] = size, stride
      contiguous = size * stride
   end
   r.nd = nd
end

-- Resizing to a contiguous vector (columns 1) or matrix, as below but without loops: LuaJIT does not compile a loop over
-- dimensions as a part of what calls it. False, with nothing done, for sizes of 0.
local function resize_plain(r, nd, rows, columns)
   if not (rows > 0 and columns > 0) then return false end
   if r.nd == nd and r[1] == rows and (nd == 1 or r[3] == columns) then return true end
   local n = rows * columns
   check_whole(rows, 1, 'size of a tensor')
   check_whole(columns, 1, 'size of a tensor')
   check_whole(n, 1, 'elements of a tensor')
   local S, off = r.S, r.off
   if S then
      if off + n > S.n then memory.resize_storage(S, off + n) end
      drop(r)
   else
      drop(r)
      if off > 0 then
         r.owner, r.S = memory.new_storage(r.T, off + n)
      elseif few_bytes(r.T, n) then
         r.owner, r.S = small_storage(r.T, n)
      else
         allocate(r, nd, { rows, columns }, n)
      end
   end
   if nd == 2 then
      r[1], r[2], r[3], r[4] = rows, columns, columns, 1
   else
      r[1], r[2] = rows, 1
   end
   r.nd = nd
   if r.c then tensor_changed(r) end
   return true
end

-- sizes[1..nd], strides[1..nd] or nil (contiguous; so is each negative stride). Memory grows where needed; where it
-- cannot, the tensor stays as it was.
function memory.resize(r, nd, sizes, strides)
   if (nd == 2 or nd == 1) and not strides and resize_plain(r, nd, sizes[1], nd == 2 and sizes[2] or 1) then return end
   local kept = 0
   while kept < nd and sizes[kept + 1] > 0 do kept = kept + 1 end
   nd = kept
   if nd == r.nd then
      local same = true
      for d = 1, nd do
         if sizes[d] ~= r[2 * d - 1] or (strides and strides[d] >= 0 and strides[d] ~= r[2 * d]) then
            same = false
            break
         end
      end
      if same then return end
   end
   if nd == 0 then
      drop(r)
      r.nd = 0
      if r.c then tensor_changed(r) end
      return
   end
   local last, dense = extent(nd, sizes, strides)
   local S = r.S
   if S then
      if r.off + last > S.n then memory.resize_storage(S, r.off + last) end
      drop(r)
   else
      drop(r)
      if r.off == 0 and dense and not strides then
         allocate(r, nd, sizes, last)
      else
         r.owner, r.S = memory.new_storage(r.T, r.off + last)
      end
   end
   lay_out(r, nd, sizes, strides)
   if r.c then tensor_changed(r) end
end

function memory.resize_as(r, source)
   local nd = source.nd
   if (nd == 2 or nd == 1) and resize_plain(r, nd, source[1], nd == 2 and source[3] or 1) then return end
   if nd == r.nd then
      local same = true
      for d = 1, 2 * nd, 2 do
         if r[d] ~= source[d] then
            same = false
            break
         end
      end
      if same then return end
   end
   local sizes = {}
   for d = 1, nd do sizes[d] = source[2 * d - 1] end
   memory.resize(r, nd, sizes)
end

-- Points r at a storage (record S of userdata owner, or nil).
function memory.set_storage(r, S, owner, off, nd, sizes, strides)
   if S and S.tag ~= r.T.storage_tag then error(('%s expected'):format(r.T.storage), 0) end
   if type(off) == 'number' and off < 0 then error('Tensor: invalid storage offset', 0) end
   check_whole(off, 0, 'Tensor: storage offset')
   drop(r)
   r.S, r.owner, r.off = S, owner, off
   r.nd = 0 -- so that resize checks the storage's size in any case
   memory.resize(r, nd, sizes, strides)
   if r.c and nd == 0 then tensor_changed(r) end
end

-- The handle of a tensor's view in Python.
local function handle(r)
   local h, nd, S = r.h, r.nd, r.S
   if h then
      if not S or r.era == S.era then return h end
      drop(r)
   end
   if nd == 0 then
      if S and (S.h or S.blocks or S.parent) then
         h = python.view(storage_handle(S), 0, 0, 1)
      else
         h = python.empty(r.T.code)
      end
   else
      local whole, off = storage_handle(S), S.base + r.off
      if nd == 1 then h = python.view(whole, off, r[1], r[2])
      elseif nd == 2 then h = python.view(whole, off, r[1], r[3], r[2], r[4])
      else
         local layout = {}
         for d = 1, nd do layout[d], layout[nd + d] = r[2 * d - 1], r[2 * d] end
         h = python.view(whole, off, unpack(layout, 1, 2 * nd))
      end
   end
   if r.temporary then
      note_dead(h)
   else
      r.h = h
      if S and r.era ~= S.era then r.era = S.era end
   end
   return h
end
memory.handle = handle

-- The storage whose memory S views; S itself if it views none.
local function root(S)
   while S.parent do S = S.parent end
   return S
end
memory.root = root

-- The address of a storage's memory, for a script, which may keep it.
function memory.pointer(S)
   if S.blocks then S.pointed = true end
   if S.parent then root(S).pointed = true end
   return S.p
end

-- Makes a storage ready for use by other Lua states, too: its memory stays where it is until the last of them drops it.
-- Returns what stands for it in Python: handle, elements before the first, elements. A block would never come back: its
-- elements move, unless a script has their address.
function memory.pin(S)
   local top = root(S)
   if in_block(top) and not top.pointed then leave_block(top, top.capacity, true) end
   local pinned, h = S, storage_handle(S)
   while pinned do
      if pinned.blocks == large then python.release_slab(address_of(pinned.p)) end -- the handle holds it, too
      pinned.fixed, pinned.shared, pinned.blocks = true, true, nil
      pinned = pinned.parent
   end
   return h, S.base, S.n
end

-- The same for a kernel that may resize the tensor: that takes memory which Python requested.
function memory.resizable_handle(r)
   local S = r.S and root(r.S)
   if S and S.blocks then leave_block(S, S.capacity, true) end
   return handle(r)
end

-- The handle of all elements of a storage as a vector, for one call.
function memory.storage_handle(S)
   local h = S.n > 0 and python.view(storage_handle(S), S.base, S.n, 1) or python.empty(S.T.code)
   note_dead(h)
   return h
end

-- A kernel resized the tensor: takes over its new layout, in the form that lua_compat/runtime/bridge.py passes it.
function memory.relaid(r, nd, address, count, ...)
   r.nd = nd
   local last = r.off + 1 -- elements the storage must have
   for d = 1, nd do
      local size, stride = select(d, ...), (select(nd + d, ...))
      r[2 * d - 1], r[2 * d] = size, stride
      if size == 0 then r.nd = 0 end -- Torch7 has no dimensions of size 0
      last = last + (size - 1) * stride
   end
   if r.nd > 0 and last + (r.S and r.S.base or 0) > count then
      drop(r)
      r.nd = 0
      error('a kernel left a tensor that reaches outside its memory', 0)
   end
   if not r.S and count > 0 then
      local S = { T = r.T, tag = r.T.storage_tag, n = 0, capacity = 0, base = 0, h = python.storage_of(r.h) }
      r.S, r.owner = S, push_storage(r.T, S)
   end
   local S = r.S
   if S and not S.h and count > 0 then S.h = python.storage_of(r.h) end
   if S then
      if S.n < last and r.nd > 0 then S.n = last end
      moved(root(S), address, count)
   end
   if r.c then tensor_changed(r) end
end

function memory.count(r) -- elements
   local nd = r.nd
   if nd == 2 then return r[1] * r[3] end
   if nd == 0 then return 0 end
   local n = r[1]
   if nd == 1 then return n end
   for d = 3, 2 * nd - 1, 2 do n = n * r[d] end
   return n
end

function memory.is_contiguous(r)
   local nd = r.nd
   if nd == 1 then return r[2] == 1 or r[1] == 1 end
   if nd == 2 then
      local columns = r[3]
      return (columns == 1 or r[4] == 1) and (r[1] == 1 or r[2] == columns)
   end
   local z = 1
   for d = 2 * r.nd - 1, 1, -2 do
      if r[d] ~= 1 then
         if r[d + 1] ~= z then return false end
         z = z * r[d]
      end
   end
   return true
end

-- The offset of the last element.
local function last_offset(r)
   local last = r.off
   for d = 1, 2 * r.nd, 2 do last = last + (r[d] - 1) * r[d + 1] end
   return last
end
memory.last_offset = last_offset

-- Whether two matrices are different columns of a larger one: as LSTMs keep their gates side by side.
local function side_by_side(r, t)
   local step = r[2]
   if r.nd ~= 2 or t.nd ~= 2 or t[2] ~= step or step < 1 or r[4] < 1 or t[4] < 1 then return false end
   local first, other = r.off % step, t.off % step
   local last, other_last = first + (r[3] - 1) * r[4], other + (t[3] - 1) * t[4]
   return last < step and other_last < step and (last < other or other_last < first)
end

-- Whether they have the same elements in the same places.
local function same_view(r, t)
   if r.off ~= t.off or r.nd ~= t.nd then return false end
   for d = 1, 2 * r.nd do
      if r[d] ~= t[d] then return false end
   end
   return true
end

-- Whether writing the elements of r in some order may change elements of t that are still to be read: they lie in the
-- same part of a storage, and not each in the place of the other. Both have elements.
function memory.may_overlap(r, t)
   if r.S ~= t.S or r == t then return false end
   if last_offset(r) < t.off or last_offset(t) < r.off or side_by_side(r, t) then return false end
   return not (same_view(r, t) or r.off == t.off and memory.is_contiguous(r) and memory.is_contiguous(t))
end

function memory.same_size(a, b)
   local nd = a.nd
   if nd ~= b.nd then return false end
   if nd == 1 then return a[1] == b[1] end
   if nd == 2 then return a[1] == b[1] and a[3] == b[3] end
   for d = 1, 2 * a.nd, 2 do
      if a[d] ~= b[d] then return false end
   end
   return true
end

return memory
