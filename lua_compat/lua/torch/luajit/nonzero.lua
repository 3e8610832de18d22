-- Positions of the nonzero elements, for few elements, in LuaJIT. They are as good as random, so the list is made
-- without a branch for each element, from the elements' bits.
local ffi = require 'ffi'
local types = require 'torch.core.types'
local memory = require 'torch.core.memory'
local few = require 'torch.luajit.elementwise'
local templates = require 'torch.core.templates'
local room = require 'torch.core.scratch'()
local no = require('torch.core.ways').no

local count, cast, tobit = memory.count, ffi.cast, bit.tobit

local nonzero = {}

local MOST = 2 ^ 15 -- elements

-- By type: how memory is viewed, and bits that are not all zero where an element is not zero. (A real zero may have a
-- sign.)
local BITS = {
   Byte = { 'uint8_t *', 'q[i]' }, Char = { 'int8_t *', 'q[i]' }, Short = { 'int16_t *', 'q[i]' },
   Int = { 'int32_t *', 'q[i]' }, Long = { 'int32_t *', 'bor(q[2 * i], q[2 * i + 1])' },
   Float = { 'int32_t *', 'lshift(q[i], 1)' }, Double = { 'int32_t *', 'bor(q[2 * i], lshift(q[2 * i + 1], 1))' },
}
local names = {}
for name in pairs(BITS) do names[#names + 1] = name end

-- Writes to `list` the positions, from 0, of the nonzero ones among n elements at p, and returns their number.
local LIST = [[
   return function(list, p, n)
      local q, k = cast(pointer, p), tobit(0)
      for i = 0, n - 1 do
         local bits = $element
         list[k] = i
         k = tobit(k + rshift(bor(bits, tobit(-bits)), 31))
      end
      return k
   end
]]
local list_of = templates.for_each(names, function(name)
   local pointer, element = unpack(BITS[name])
   return templates.compile('torch.luajit.nonzero', LIST, { pointer = ffi.typeof(pointer), element = element })
end)

-- Writes to p the positions, from 1, of the elements of t at n places, which are replaced.
local function write(p, list, n, t)
   local nd = tobit(t.nd)
   for d = nd, 2, -1 do
      local size = t[2 * d - 1]
      for k = 0, n - 1 do
         local place = list[k]
         local position = place % size
         p[nd * k + d - 1], list[k] = position + 1, (place - position) / size
      end
   end
   for k = 0, n - 1 do p[nd * k] = list[k] + 1 end
end

-- l = a row with the position of each nonzero element of t, whose memory is another; false, with nothing done, if
-- Python has to compute.
function nonzero.find(l, t)
   local n, name = count(t), t.T.host.name
   if t.nd == 0 or few.LIMIT == 0 or not t.T.here or not (n <= MOST or few.fits_for_now(n)) or not BITS[name] then
      return no 'many elements, or halves'
   end
   if l.T.host ~= types.Long or not l.T.here then return no 'a result of another type' end
   local q = few.in_one_piece(t, 1, n)
   if not q then return no 'elements that are not contiguous' end
   local list = cast('int32_t *', room('list', 4 * (n + 1)))
   local found = list_of(name)(list, q, n)
   memory.resize(l, 2, { found, t.nd })
   if found == 0 then return true end
   if not memory.is_contiguous(l) then return no 'a result that is not contiguous' end
   write(memory.first_element(l), list, found, t)
   return true
end

return nonzero
