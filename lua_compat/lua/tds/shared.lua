-- The objects of tds that threads share: their contents are in a heap, not in a Lua table. An object becomes one of
-- them when it is sent to a thread by threads.sharedserialize, or put into one of them.
local attached = require 'torch.core.attached'
local memory = require 'torch.core.memory'
local types = require 'torch.core.types'
local heap = require 'tds.heap'
local map = require 'tds.map'
local python = require('th.python').functions

local typename = torch.typename
local NONE, STRING, NUMBER, TRUE, FALSE, TENSOR, OBJECT = map.NONE, map.STRING, map.NUMBER, map.TRUE, map.FALSE,
   map.TENSOR, map.OBJECT

local shared = {}

-- By object: the record of its contents. That of a shared one is a heap.
local contents, attach_contents = attached.kind()
shared.contents, shared.attach = contents, attach_contents

-- By number: what this state has of the tensors and objects in shared objects. By tensor: its number.
local objects, numbers = setmetatable({}, { __mode = 'v' }), setmetatable({}, { __mode = 'k' })

-- By the name of a class: a function that makes an object with these contents.
local makers = {}
function shared.class(name, make) makers[name] = make end

local function hold_tensor(m, tensor)
   local r = memory.records[tensor]
   local layout, S = {}, r.S
   for i = 1, 2 * r.nd do layout[i] = r[i] end
   local lent = S and S.n > 0 and memory.lend(S) or nil
   local bytes = lent and S.n * S.T.size or 0
   local number = python.object_hold_tensor(m.number, lent, bytes, r.T.code, r.off, r.nd, unpack(layout))
   numbers[tensor], objects[number] = number, tensor
   return number
end

local function set_tensor(T, handle, address, base, count, off, nd, ...)
   local tensor, r = memory.new_tensor(T)
   if count == 0 then return tensor end
   local _, S = memory.new_storage(T, 0)
   memory.adopt(S, handle, address, base, count)
   local sizes, strides = {}, {}
   for d = 1, nd do sizes[d], strides[d] = select(2 * d - 1, ...) end
   memory.set_storage(r, S, off, nd, sizes, strides)
   return tensor
end

-- The tensor of a number; nil if it is in no object any longer.
local function open_tensor(number)
   local function opened(handle, address, base, count, code, ...)
      if code == nil then return end
      local tensor = set_tensor(types[code], handle, address, base, count, ...)
      numbers[tensor], objects[number] = number, tensor
      return tensor
   end
   return opened(python.object_open_tensor(number))
end

local function open_object(number)
   local _, kind, address, size, bytes_held = python.object_open(number)
   if not kind then return end
   local object = makers[kind](heap.attach({}, number, address, size, bytes_held))
   objects[number] = object
   return object
end

-- The kind and value of a key or value in a map; nil for what cannot be in it. holds: the object is to hold it.
local function encoded(m, value, holds)
   local kind = type(value)
   if kind == 'number' then return NUMBER, value
   elseif kind == 'string' then return STRING, value
   elseif kind == 'boolean' then return value and TRUE or FALSE, 0
   elseif value == nil then return NONE, 0 end
   local inside = contents[value]
   if inside then
      if holds then python.object_hold(m.number, shared.share(value)) end
      return inside.header and OBJECT, inside.number
   end
   local number = numbers[value]
   if holds and not (number and python.object_hold(m.number, number)) then number = hold_tensor(m, value) end
   return number and TENSOR, number
end

local function decoded(kind, value)
   if kind == NUMBER or kind == STRING then return value
   elseif kind == NONE then return nil
   elseif kind == TRUE then return true
   elseif kind == FALSE then return false
   elseif kind == TENSOR then return objects[value] or open_tensor(value)
   elseif kind == OBJECT then return objects[value] or open_object(value) end
end

function shared.get(m, key)
   local kind, value = encoded(m, key)
   if kind then return decoded(map.get(m, kind, value)) end
end

-- The number of keys; the length of a vector.
function shared.count(m)
   heap.forget_reads()
   return m.header.n
end
function shared.length(m)
   heap.forget_reads()
   return m.header.length
end

local function drop(m, kind, value)
   if kind and kind >= TENSOR then python.object_drop(m.number, value) end
end

function shared.set(m, key, value)
   if key ~= key then error('table index is NaN', 3) end
   local key_kind, encoded_key = encoded(m, key, value ~= nil)
   if not key_kind then return end -- it is not there
   local kind, encoded_value = encoded(m, value, true)
   local is_new, old_kind, old, gone_kind, gone = map.set(m, key_kind, encoded_key, kind, encoded_value)
   if kind ~= NONE and not is_new then drop(m, key_kind, encoded_key) end -- it is held already
   drop(m, old_kind, old)
   drop(m, gone_kind, gone)
end

-- Keys and values in the order of the slots.
function shared.pairs(m)
   local list, n, after, i = {}, 0, 0, 0
   local function step()
      if i == n then
         if not after then return end
         n, after = map.places(m, after, list)
         i = 0
         if n == 0 then return end
      end
      i = i + 1
      local key_kind, key, kind, value = map.at(m, list[i])
      if key_kind == NONE then return step() end
      return decoded(key_kind, key), decoded(kind, value)
   end
   return step
end

local function bytes_of(values)
   local n, bytes = 0, 0
   for key, value in pairs(values) do
      n = n + 1
      if type(key) == 'string' then bytes = bytes + map.text_bytes(#key) end
      if type(value) == 'string' then bytes = bytes + map.text_bytes(#value) end
   end
   return bytes + map.bytes(n)
end

local function fill(m, values)
   for key, value in pairs(values) do shared.set(m, key, value) end
end

-- Makes an object's record a new heap.
function shared.allocate(object, inside, bytes)
   heap.new(inside, typename(object), bytes)
   objects[inside.number] = object
end

-- Moves the contents of a hash or vector to a heap, if they are not in one. Returns its number.
function shared.share(object)
   local inside = contents[object]
   if inside.header then return inside.number end
   local values = inside.values
   shared.allocate(object, inside, bytes_of(values))
   inside.values, inside.header.length = nil, inside.n
   local ok, problem = pcall(fill, inside, values)
   if not ok then
      inside.values, inside.header = values, nil
      error(problem, 0)
   end
   return inside.number
end

-- For a file by which an object is sent to a thread.
function shared.write(number, file) file:writeLong(python.object_lend(number)) end

-- The heap of the object that was written, for `object`, which was just made. records: the heaps of such objects.
function shared.read(object, records, file)
   local number, name, address, size, bytes_held = python.object_borrow(file:readLong())
   if name ~= typename(object) then error(('a %s was shared, not a %s'):format(name, typename(object)), 0) end
   local known = objects[number]
   if known then
      python.release_slab(address)
      return records[known]
   end
   objects[number] = object
   return heap.attach({}, number, address, size, bytes_held)
end

return shared
