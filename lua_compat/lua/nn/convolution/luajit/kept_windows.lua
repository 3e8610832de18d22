-- The windows that a layer's last forward pass laid out, for the gradients of its weight, as Torch7 keeps them in
-- `finput`. Here they are used only where the layer's input still has the same bits: a copy of it is kept, too.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local new_rooms = require 'torch.core.scratch'

ffi.cdef 'int th_memcmp(const void *a, const void *b, size_t n) __asm__("memcmp");'
local C, copy, rawget, records = ffi.C, ffi.copy, rawget, memory.records

local kept = {}

local MOST = 2 ^ 22 -- bytes of all windows of a layer

-- They live as long as the layer's weight does: with what stands for that outside Lua. (As values of weak keys they
-- would outlive the layer by a cycle of the collector.)
local of_layer = setmetatable({}, { __mode = 'kv' })

local function bytes_of_input(g) return g.images * g.planes * g.pixels * g.size end

-- Where the windows of a layer's input at x, of geometry g, are to be laid out: a record with a pointer `columns`; nil
-- for those that are not kept. They are taken as they are for the layer's gradients, afterwards.
function kept.begin(layer, g, x)
   local bytes = g.images * g.length * g.windows * g.size
   if bytes > MOST then return nil end
   local found = of_layer[layer]
   if not found then
      local weight = records[rawget(layer, 'weight')]
      if not weight then return nil end
      found = { room = new_rooms() }
      of_layer[layer], memory.outside(weight).windows = found, found
   end
   found.is_filled, found.geometry = false, nil
   found.columns, found.input = found.room('columns', bytes), found.room('input', bytes_of_input(g))
   copy(found.input, x, bytes_of_input(g))
   found.geometry = g
   return found
end

-- The windows of a layer's input at x, if they are kept: a record with `columns`, in which is_filled is true.
function kept.find(layer, g, x)
   local found = of_layer[layer]
   if not found or found.geometry ~= g or C.th_memcmp(found.input, x, bytes_of_input(g)) ~= 0 then return nil end
   return found
end

-- The layer that the next convolution is computed for.
local current

-- Says which that is: one that learns.
function kept.announce(layer) current = layer.train ~= false and layer or nil end

-- Gives it, once.
function kept.take()
   local layer = current
   current = nil
   return layer
end

return kept
