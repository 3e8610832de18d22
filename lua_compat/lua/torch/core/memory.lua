-- Records of tensors and storages, and the memory that they describe. core/collection.lua releases it when they are
-- dead.
--
-- A tensor or storage is a userdata; records[userdata] describes it. The record is kept alive by being the userdata's
-- environment table, so both are collected in the same cycle. No userdata has a finaliser. The record of a tensor:
--   T     its type (core/types.lua)
--   S     the record of its storage, shared by all its views: when memory moves, S.p is the one place that changes
--   off   offset of its first element, from 0
--   nd    dimensions; size and stride of dimension d (from 1) are at [2*d-1] and [2*d]
--   [0]   what represents the same view outside Lua, created on first use: false, or a table:
--     [0]   its handle in Python, or false; dropped when the view changes
--     era   the storage's era when the handle was made
--     c     its C structure (tensor/cdata.lua)
--     slot  the slot of the handle (core/collection.lua)
--   or [0] is TEMPORARY: the record belongs to one function and has no userdata; its handles are released with the next
--         allocation
-- The record of a storage:
--   T         its type
--   p         pointer to the first element
--   n         number of elements
--   [0]       handle in Python, created on first use, or false
--   blocks    the list that its memory returns to; `piece` for a piece of its own; nil for PyTorch's memory
--   capacity  elements that it has room for; nil: as many as the blocks of the list
--   base      elements before p[0] in Python's storage, if this one views another; nil: none
--   era       how often it has moved to memory that is another storage in Python; nil: never
--   fixed     it cannot grow, because its memory is a file's or (shared) also another Lua state's
--   ud        its userdata, created when a script asks for it
--   c, slot   as above
--
-- A new tensor's two tables have four fields, because LuaJIT gives five fields twice the room, and the collector has to
-- traverse it. All records have the same fields, because a table of another shape causes recompilation, and room for at
-- least two dimensions, because memory is reused best for what has the same size.
local ffi = require 'ffi'
local types = require 'torch.core.types'
local errors = require 'torch.core.errors'
local blocks = require 'torch.core.blocks'
local collection = require 'torch.core.collection'
local device_pointers = require 'torch.core.device_pointers'
local shared = require 'th.python'
local python = shared.functions

local newproxy, setmetatable, cast, select, remove = newproxy, setmetatable, ffi.cast, select, os.remove
local setfenv = debug.setfenv

local check_whole, MOST = errors.check_whole, errors.MOST

local records = setmetatable({}, { __mode = 'kv' })
local memory = { records = records }

local make_room, watch, drop, note_dead, make_room_for_kernels = collection.make_room, collection.watch,
   collection.drop,
   collection.note_dead, collection.make_room_for_kernels
local few_bytes, block_storage, address_of, capacity_of = blocks.fit, blocks.storage, blocks.address_of, blocks.capacity
memory.capacity = capacity_of

local TEMPORARY = true

-- The value of S.blocks for a storage whose memory is a separate piece. Until PyTorch is loaded, large storages use
-- pieces, which are not reused. Afterwards they use PyTorch's memory, which kernels can resize.
local piece = {}

-- Whether a storage's memory is a block, which remains allocated when the storage is dead.
local function in_block(S) return S.blocks and S.blocks ~= piece end

-- Called when a storage that is not in a block gets other memory or another handle.
local function watch_storage(S)
   local is_counted = S.parent or S.counted
   watch(S, S[0], is_counted and 0 or capacity_of(S) * S.T.size, S.blocks and address_of(S.p))
end

-- The metatables of the userdata; tensor/tensor.lua and tensor/storage.lua make classes of them.
local function prototype()
   local proto = newproxy(true)
   return proto, debug.getmetatable(proto)
end

for code = 1, types.count do
   local T = types[code]
   T.tensor_proto, T.tensor_metatable = prototype()
   T.storage_proto, T.storage_metatable = prototype()
end

local function push(proto, record)
   local ud = newproxy(proto)
   records[ud] = record
   setfenv(ud, record)
   return ud
end
memory.push = push

local function push_tensor(T, r) return push(T.tensor_proto, r) end
memory.push_tensor = push_tensor

local function push_storage(T, S)
   local ud = push(T.storage_proto, S)
   S.ud = ud
   return ud
end

-- The Python handle of a storage that has memory.
local function storage_handle(S)
   local h = S[0]
   if h then return h end
   if in_block(S) then
      S[0] = blocks.handle(S)
      return S[0]
   end
   if S.blocks then
      h = python.slab_storage(address_of(S.p), S.T.code, capacity_of(S))
   else
      h = python.storage_of(storage_handle(S.parent))
   end
   S[0] = h
   watch_storage(S)
   return h
end

-- Each requests memory for n elements and returns S.blocks (nil: PyTorch's memory), a handle or false, and the address.
local function request_piece(T, n) return piece, false, python.slab(n * T.size) end

local function request_from_pytorch(T, n)
   local view, handle, address = python.new(T.code, n)
   note_dead(view)
   return nil, handle, address
end

local function request(T, n)
   if shared.pytorch or not T.here then return request_from_pytorch(T, n) end
   return request_piece(T, n)
end

-- The record of a new storage of n elements.
local function storage_record(T, n)
   check_whole(n, 0, 'size of a storage')
   if n > 0 and few_bytes(T, n) then return block_storage(T, n) end
   make_room(n * T.size)
   local S = { [0] = false, T = T, n = n, capacity = n }
   if n > 0 then
      local address
      S.blocks, S[0], address = request(T, n)
      S.p = cast(T.pointer, address)
      watch_storage(S)
   end
   return S
end

-- A new storage of n elements for a script: its userdata and its record.
function memory.new_storage(T, n)
   local S = storage_record(T, n)
   return push_storage(T, S), S
end

-- The userdata of a tensor's storage, for a script; nil if it has none.
function memory.storage_of(r)
   local S = r.S
   return S and (S.ud or push_storage(S.T, S))
end

-- A storage that views the elements [offset, offset + n) of another; the offset counts from 0.
function memory.view_storage(parent, offset, n)
   local T = parent.T
   check_whole(offset, 0, 'offset in a storage')
   check_whole(n, 1, 'size of a storage')
   if offset + n > parent.n then error('a storage reaches beyond the one it views', 0) end
   local S = {
      [0] = false, T = T, n = n, capacity = n, base = (parent.base or 0) + offset, p = parent.p + offset,
      parent = parent, offset = offset,
   }
   parent.views = parent.views or setmetatable({}, { __mode = 'k' })
   parent.views[S] = true
   return push_storage(T, S), S
end

-- Maps a file as a storage. removed: the file is deleted when the storage is dead.
function memory.map_storage(T, filename, shared, n, removed)
   make_room(0) -- the size of the file is not known yet
   local handle, address, count = python.storage_map(T.code, filename, shared, n)
   local S = { [0] = handle, T = T, n = count, capacity = count, fixed = true }
   S.p = cast(T.pointer, address)
   watch_storage(S)
   if removed then S.removal = ffi.gc(ffi.new('char[1]'), function() remove(filename) end) end
   return push_storage(T, S), S
end

-- By address: the storage with which this state counts memory that it shares with another state. It may get the same
-- memory with every job, also its own.
local counted = setmetatable({}, { __mode = 'v' })

-- Lets a storage without memory use the memory of another Lua state's storage: PyTorch's, or (handle: false) a piece.
-- kept_elsewhere: that state keeps it.
function memory.adopt(S, handle, address, base, n, kept_elsewhere)
   S.counted, S.kept_elsewhere = counted[address], kept_elsewhere
   if not S.counted then
      make_room(n * S.T.size)
      counted[address] = S
   end
   S[0], S.base, S.n, S.capacity, S.blocks = handle, base, n, n, not handle and piece or nil
   S.fixed, S.shared = true, true
   S.p = cast(S.T.pointer, address) + base
   watch_storage(S)
end

-- Called when a record that has a C structure (tensor/cdata.lua) changes.
local tensor_changed, storage_changed
function memory.on_change(tensor, storage) tensor_changed, storage_changed = tensor, storage end

-- Updates the views of a storage whose memory has moved.
local function follow(S)
   for view in pairs(S.views) do
      view.p = S.p + view.offset
      if view.c then storage_changed(view) end
      if view.views then follow(view) end
   end
end

-- Notes that the memory of a storage is now at p and has room for `capacity` elements.
local function moved(S, p, capacity)
   S.p, S.capacity = p, capacity
   if not in_block(S) then watch_storage(S) elseif S.slot then watch(S, nil, 0) end
   if S.c then storage_changed(S) end
   if S.views then follow(S) end
end

-- The same for PyTorch's memory, which starts at `address` and has room for `count` elements.
local function moved_in_python(S, address, count)
   local base = S.base or 0
   moved(S, cast(S.T.pointer, address) + base, count - base)
end

-- Drops Python's handles of a storage and its views, which no longer describe their memory.
local function forget(S)
   S.era = (S.era or 0) + 1
   if S.views then
      for view in pairs(S.views) do
         drop(view)
         forget(view)
      end
   end
end

-- Moves a storage out of its block or piece, so that it has room for n elements; the contents are kept. The new memory
-- is a larger block or, if n elements do not fit into one or `its_request` is given, requested from Python. (The old
-- block becomes free when the storage is dead.)
local function leave_block(S, n, its_request)
   local T, from, old, held = S.T, S.p, capacity_of(S), S.blocks == piece and S[0]
   local in_piece = S.blocks == piece
   local p, address
   local capacity = n
   S.capacity = old -- the list no longer says it
   if few_bytes(T, n) and not its_request then
      p, capacity = blocks.give(S, n)
   else
      S.blocks, S[0], address = (its_request or request)(T, n)
      p = cast(T.pointer, address)
   end
   ffi.copy(p, from, old * T.size) -- views may reach beyond S.n
   moved(S, p, capacity)
   if in_piece then
      collection.note_dead_piece(address_of(from), old * T.size)
      if held then note_dead(held) end
   end
   forget(S)
end

function memory.resize_storage(S, n)
   check_whole(n, 0, 'size of a storage')
   local capacity = capacity_of(S)
   if n > capacity then
      if S.parent or S.fixed then
         error('Trying to resize storage that is not resizable' .. (S.shared and ': threads share it' or ''), 0)
      end
      make_room((n - capacity) * S.T.size)
      if S.blocks then
         leave_block(S, n)
      elseif S[0] then
         local count = n
         moved_in_python(S, python.storage_resize(S[0], count), count)
      else
         local address
         S.blocks, S[0], address = request(S.T, n)
         moved(S, cast(S.T.pointer, address), n)
      end
   end
   -- A smaller storage keeps its memory: views may still reach there.
   S.n = n
   if S.c then storage_changed(S) end
end

-- The record of a tensor without elements; push_tensor makes a tensor of it. It has all its fields from the start,
-- because adding one later would reallocate the table.
local function empty_record(T, temporary) return { [0] = temporary, 0, 0, 0, 0, T = T, S = nil, off = 0, nd = 0 } end

function memory.temporary(T) return empty_record(T, TEMPORARY) end

function memory.new_tensor(T)
   local r = empty_record(T, false)
   make_room_for_kernels()
   return push_tensor(T, r), r
end

-- A copy of a tensor's record: another view of the same elements, for push_tensor.
local function copy_view(r)
   if r.nd <= 2 then
      return { [0] = false, r[1], r[2], r[3], r[4], T = r.T, S = r.S, off = r.off, nd = r.nd }
   end
   local v = { [0] = false, r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8], T = r.T, S = r.S, off = r.off, nd = r.nd }
   for i = 9, 2 * r.nd do v[i] = r[i] end
   return v
end
memory.copy_view = copy_view

-- Marks a copied record as temporary, for use within one function.
local function make_temporary(v)
   v[0] = TEMPORARY
   return v
end
function memory.temporary_view(r) return make_temporary(copy_view(r)) end
memory.make_temporary = make_temporary

-- Whether S, which may be nil, is the record of a storage of type T.
function memory.is_storage(S, T) return S ~= nil and S.nd == nil and S.T == T end

-- The number of a record's class.
function memory.tag(record)
   local T = record.T
   if record.nd then return T.tensor_tag end
   return T and T.storage_tag or record.tag
end

-- The table of what represents a tensor outside Lua, created on first use.
local function outside(r)
   local x = r[0]
   if x then return x end
   x = { [0] = false, era = nil, slot = nil, c = nil }
   r[0] = x
   return x
end
memory.outside = outside

-- Stores the Python handle of a tensor.
local function hold(r, h)
   local x = outside(r)
   x[0], x.era = h, r.S and r.S.era
   watch(x, h, 0)
end

-- Drops the Python handle of a tensor whose view changes.
local function drop_handle(r)
   local x = r[0]
   if x and x ~= TEMPORARY then drop(x) end
end

-- Updates the C structure of a tensor whose view has changed.
local function view_changed(r)
   local x = r[0]
   if x and x ~= TEMPORARY and x.c then tensor_changed(r) end
end

-- Allocates memory for a record without a storage: one call to Python makes both the storage and the view.
local function allocate(r, nd, sizes, count)
   local T = r.T
   if few_bytes(T, count) or T.here and not shared.pytorch then
      r.S = storage_record(T, count)
      return
   end
   make_room(count * T.size)
   local view, handle, address
   if nd == 1 then view, handle, address = python.new(T.code, sizes[1])
   elseif nd == 2 then view, handle, address = python.new(T.code, sizes[1], sizes[2])
   else view, handle, address = python.new(T.code, unpack(sizes, 1, nd)) end
   local S = { [0] = handle, T = T, n = count, capacity = count, p = cast(T.pointer, address) }
   watch_storage(S)
   r.S = S
   if r[0] == TEMPORARY then note_dead(view) else hold(r, view) end
end

-- Checks the sizes of a tensor: whole numbers, and a countable number of elements. Returns the index, from the tensor's
-- first element, of the element after its last, and whether the elements are contiguous.
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

-- Resizes to a contiguous vector (columns 1) or matrix, as memory.resize does but without a loop over the dimensions:
-- LuaJIT does not inline loops into a caller's trace. Returns false, with nothing done, for sizes of 0.
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
      drop_handle(r)
   else
      drop_handle(r)
      if off > 0 then
         r.S = storage_record(r.T, off + n)
      elseif few_bytes(r.T, n) then
         r.S = block_storage(r.T, n)
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
   view_changed(r)
   return true
end
memory.resize_plain = resize_plain

-- Whether a tensor has these sizes and, where they are given, strides.
local function lies_so(r, nd, sizes, strides)
   if nd ~= r.nd then return false end
   for d = 1, nd do
      if sizes[d] ~= r[2 * d - 1] or (strides and strides[d] >= 0 and strides[d] ~= r[2 * d]) then return false end
   end
   return true
end

-- Resizes to sizes[1..nd] and strides[1..nd] (nil: contiguous; a negative stride means the contiguous one). Memory
-- grows where necessary; if it cannot, the tensor is unchanged.
function memory.resize(r, nd, sizes, strides)
   if (nd == 2 or nd == 1) and not strides and resize_plain(r, nd, sizes[1], nd == 2 and sizes[2] or 1) then return end
   local kept = 0
   while kept < nd and sizes[kept + 1] > 0 do kept = kept + 1 end
   nd = kept
   if lies_so(r, nd, sizes, strides) then return end
   if nd == 0 then
      drop_handle(r)
      r.nd = 0
      view_changed(r)
      return
   end
   local last, dense = extent(nd, sizes, strides)
   local S = r.S
   if S then
      if r.off + last > S.n then memory.resize_storage(S, r.off + last) end
      drop_handle(r)
   else
      drop_handle(r)
      if r.off == 0 and dense and not strides then
         allocate(r, nd, sizes, last)
      else
         r.S = storage_record(r.T, r.off + last)
      end
   end
   lay_out(r, nd, sizes, strides)
   view_changed(r)
end

function memory.resize_as(r, source)
   local nd = source.nd
   if (nd == 2 or nd == 1) and resize_plain(r, nd, source[1], nd == 2 and source[3] or 1) then return end
   if nd > 2 and nd == r.nd and memory.same_size(r, source) then return end
   local sizes = {}
   for d = 1, nd do sizes[d] = source[2 * d - 1] end
   memory.resize(r, nd, sizes)
end

-- The strides for r when it is given a storage: its own where it has these sizes and, where they are given, strides.
function memory.kept_strides(r, nd, sizes, strides)
   if not lies_so(r, nd, sizes, strides) then return strides end
   local own = {}
   for d = 1, nd do own[d] = r[2 * d] end
   return own
end

-- Lets r view a storage (its record, or nil).
function memory.set_storage(r, S, off, nd, sizes, strides)
   if S and S.T ~= r.T then error(('%s expected'):format(r.T.storage), 0) end
   if type(off) == 'number' and off < 0 then error('Tensor: invalid storage offset', 0) end
   check_whole(off, 0, 'Tensor: storage offset')
   drop_handle(r)
   r.S, r.off = S, off
   r.nd = 0 -- makes resize check the storage's size in any case
   memory.resize(r, nd, sizes, strides)
   if nd == 0 then view_changed(r) end
end

-- The Python handle of a tensor's view.
local function handle(r)
   local x, nd, S = r[0], r.nd, r.S
   local h = x and x ~= TEMPORARY and x[0]
   if h then
      if not S or x.era == S.era then return h end
      drop(x)
   end
   if nd == 0 and not (S and (S[0] or S.blocks or S.parent)) then
      h = python.empty(r.T.code)
   else
      local whole, off = storage_handle(S), (S.base or 0) + r.off -- a kernel may resize one without elements
      if nd == 0 then h = python.view(whole, off, 0, 1)
      elseif nd == 1 then h = python.view(whole, off, r[1], r[2])
      elseif nd == 2 then h = python.view(whole, off, r[1], r[3], r[2], r[4])
      else
         local layout = {}
         for d = 1, nd do layout[d], layout[nd + d] = r[2 * d - 1], r[2 * d] end
         h = python.view(whole, off, unpack(layout, 1, 2 * nd))
      end
   end
   if x == TEMPORARY then note_dead(h) else hold(r, h) end
   return h
end
memory.handle = handle

-- The storage whose memory S views; S itself if it views none.
local function root(S)
   while S.parent do S = S.parent end
   return S
end

-- A pointer to the element at an offset, for a script, which may keep it.
function memory.pointer(S, offset)
   if S.blocks then S.pointed = true end
   if S.parent then root(S).pointed = true end
   local pointer = S.p + offset
   if S.T.here then return pointer end
   return device_pointers.new(S.T, tonumber(cast('intptr_t', pointer)))
end

-- Moves a storage that is to be shared out of its block, which would never be reused, unless a script has a pointer
-- into it.
local function leave_for_others(S, its_request)
   local top = root(S)
   if in_block(top) and not top.pointed then leave_block(top, capacity_of(top), its_request) end
end

-- Fixes a storage, and those that it views, to memory that stays in place. detach(S) decides who keeps it.
local function fix(S, detach)
   while S do
      S.capacity = capacity_of(S)
      detach(S)
      S.fixed, S.shared = true, true
      watch_storage(S)
      S = S.parent
   end
end

-- The handle keeps the memory alive.
local function leave_to_handle(S)
   if in_block(S) then
      blocks.give_away(S)
   elseif S.blocks then
      python.release_slab(address_of(S.p))
   end
   S.blocks = nil
end

-- Prepares a storage for use by others: its memory stays in place until the last of them drops it. Returns its Python
-- handle, the number of elements before its first, and its number of elements.
function memory.pin(S)
   leave_for_others(S, request_from_pytorch)
   local h = storage_handle(S)
   fix(S, leave_to_handle)
   return h, S.base or 0, S.n
end

local function make_piece(S)
   if not in_block(S) then return end
   python.hold_slab(address_of(S.p))
   blocks.give_away(S)
   S.blocks = piece
end

-- Lends a storage's memory to another Lua state. Returns the number by which Python knows it, and whether it was lent
-- before: it is then no message, but kept for many.
function memory.lend(S)
   local again = S.lent
   S.lent = true
   local address, number
   if not root(S).blocks then
      local h, base, n = memory.pin(S)
      address, number = address_of(S.p - base), python.lend(h, S.T.code, base, n)
   else
      leave_for_others(S, request_piece)
      fix(S, make_piece)
      address = address_of(S.p)
      number = python.lend_slab(address, S.T.code, 0, S.n)
   end
   counted[address] = counted[address] or S
   return number, again
end

-- The Python handle of a tensor that a kernel may resize; its memory must be PyTorch's, unless it is shared.
function memory.resizable_handle(r)
   local S = r.S and root(r.S)
   if S and S.blocks and not S.shared then leave_block(S, capacity_of(S), request_from_pytorch) end
   return handle(r)
end

-- A Python handle of all elements of a storage, as a vector, for one call.
function memory.storage_handle(S)
   local h = S.n > 0 and python.view(storage_handle(S), S.base or 0, S.n, 1) or python.empty(S.T.code)
   note_dead(h)
   return h
end

-- Takes over the layout of a tensor that a kernel has resized, in the form in which lua_compat/runtime/bridge.py passes
-- it. Its memory may have moved. Returns whether the tensor lies within its memory; if not, it has no elements
-- afterwards.
function memory.relaid(r, nd, address, count, ...)
   r.nd = nd
   local last = r.off + 1 -- the number of elements that the storage must have
   for d = 1, nd do
      local size, stride = select(d, ...), (select(nd + d, ...))
      r[2 * d - 1], r[2 * d] = size, stride
      if size == 0 then r.nd = 0 end -- Torch7 has no dimensions of size 0
      last = last + (size - 1) * stride
   end
   local is_outside = r.nd > 0 and last + (r.S and r.S.base or 0) > count
   if is_outside then r.nd = 0 end
   if not r.S and count > 0 then r.S = { [0] = false, T = r.T, n = 0, capacity = 0 } end
   local S = r.S
   if S and not S[0] and count > 0 then
      S[0] = python.storage_of(r[0][0])
      if not in_block(S) then watch_storage(S) end
   end
   if S then
      if S.n < last and r.nd > 0 then S.n = last end
      moved_in_python(root(S), address, count)
   end
   view_changed(r)
   if is_outside then drop_handle(r) end
   return not is_outside
end

-- A pointer to a tensor's first element. (For offset 0 it avoids the addition, which would allocate a new pointer for
-- the collector to traverse.)
function memory.first_element(r)
   local off = r.off
   if off == 0 then return r.S.p end
   return r.S.p + off
end

function memory.count(r) -- elements
   local nd = r.nd
   if nd == 2 then return r[1] * r[3] end
   if nd == 0 then return 0 end
   local n = r[1]
   if nd == 1 then return n end
   n = n * r[3] * r[5]
   if nd == 3 then return n end
   n = n * r[7]
   if nd == 4 then return n end -- up to here without a loop, which would end a trace
   for d = 9, 2 * nd - 1, 2 do n = n * r[d] end
   return n
end

-- Whether the first three dimensions of a tensor are contiguous, in units of z elements.
local function in_three(r, z)
   if r[5] ~= 1 and r[6] ~= z then return false end
   z = z * r[5]
   if r[3] ~= 1 and r[4] ~= z then return false end
   return r[1] == 1 or r[2] == z * r[3]
end

function memory.is_contiguous(r)
   local nd = r.nd
   if nd == 1 then return r[2] == 1 or r[1] == 1 end
   if nd == 2 then
      local columns = r[3]
      return (columns == 1 or r[4] == 1) and (r[1] == 1 or r[2] == columns)
   end
   if nd == 3 then return in_three(r, 1) end
   if nd == 4 then return (r[7] == 1 or r[8] == 1) and in_three(r, r[7]) end
   local z = 1
   for d = 2 * r.nd - 1, 1, -2 do
      if r[d] ~= 1 then
         if r[d + 1] ~= z then return false end
         z = z * r[d]
      end
   end
   return true
end

function memory.same_size(a, b)
   local nd = a.nd
   if nd ~= b.nd then return false end
   if nd == 1 then return a[1] == b[1] end
   if nd == 2 then return a[1] == b[1] and a[3] == b[3] end
   if nd == 0 then return true end
   if a[1] ~= b[1] or a[3] ~= b[3] or a[5] ~= b[5] then return false end
   if nd == 4 then return a[7] == b[7] end
   for d = 7, 2 * nd, 2 do
      if a[d] ~= b[d] then return false end
   end
   return true
end

return memory
