-- Keeps the unfolded windows of a layer's last forward pass for the gradient of its weight, as Torch7 does in `finput`.
-- They are used only if the layer's input still has the same bits, so a copy of it is kept, too.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local new_rooms = require 'torch.core.scratch'

ffi.cdef 'int th_memcmp(const void *a, const void *b, size_t n) __asm__("memcmp");'
local C, copy, rawget, records = ffi.C, ffi.copy, rawget, memory.records

local kept = {}

local MOST = 2 ^ 22 -- bytes of all windows of a layer

-- They live as long as the layer's weight: the table of what represents the weight outside Lua refers to them. (As
-- values of weak keys they would outlive the layer by one collection cycle.)
local of_layer = setmetatable({}, { __mode = 'kv' })

local function bytes_of_input(g) return g.images * g.planes * g.pixels * g.size end

-- Where to write the windows of a layer's input at x, with geometry g: a record with a pointer `columns`; nil if they
-- are not kept. They are then reused without copying.
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

-- The kept windows of a layer's input at x: a record with `columns` whose is_filled is true; nil if there are none.
function kept.find(layer, g, x)
   local found = of_layer[layer]
   if not found or found.geometry ~= g or C.th_memcmp(found.input, x, bytes_of_input(g)) ~= 0 then return nil end
   return found
end

-- The layer whose convolution is computed next.
local current

-- Sets that layer, if it is training.
function kept.announce(layer) current = layer.train ~= false and layer or nil end

-- Returns it once.
function kept.take()
   local layer = current
   current = nil
   return layer
end

return kept
