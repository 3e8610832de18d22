-- The rows of tensors along a dimension, and memory for computing with them. No iterators are used: a closure for each
-- call would abort LuaJIT's traces.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local offsets = require('torch.operations.elements').offsets
local outer_and_inner = require('torch.luajit.along_a_dimension').outer_and_inner
local room = require 'torch.core.scratch'()

local rows = {}

-- Returns a function(name, n), which returns an array of n numbers of a C type. Small arrays are kept by name; large
-- ones are left to the collector.
local KEPT = 2 ^ 16
function rows.array(ctype)
   local size, of_many, pointer = ffi.sizeof(ctype), ffi.typeof('$[?]', ctype), ffi.typeof('$ *', ctype)
   return function(name, n)
      if n > KEPT then return of_many(n) end
      return ffi.cast(pointer, room(name, size * n))
   end
end

-- Returns a function(n), which returns a record of arrays of at least n numbers each. fields: their C types, by name.
function rows.memory(fields)
   local kept, most = nil, 0
   return function(n)
      if n <= most then return kept end
      local arrays, length = {}, 2 * n <= KEPT and 2 * n or n
      for name, ctype in pairs(fields) do arrays[name] = ffi.new(ctype .. '[?]', length) end
      if length <= KEPT then kept, most = arrays, length end
      return arrays
   end
end

-- starts[3 * row + column] = the offset of the first element of each of `count` rows of a tensor along dimension d; a 0
-- follows them.
local function add_starts(starts, column, t, d, count)
   local at = column
   local outer, inner, outer_step, _, inner_step = outer_and_inner(t, d)
   if outer then
      local off = t.off
      if inner == 1 then outer, inner, inner_step, outer_step = 1, outer, outer_step, 0 end
      for o = 0, outer - 1 do
         for i = 0, inner - 1 do
            starts[at] = off + o * outer_step + i * inner_step
            at = at + 3
         end
      end
   else
      local firsts = memory.copy_view(t)
      firsts[2 * d - 1] = 1
      for offset in offsets(firsts) do
         starts[at] = offset
         at = at + 3
      end
   end
   starts[3 * count + column] = 0
end

-- The offsets of t, r and l, interleaved, and the number of rows.
local offsets_of = rows.array(ffi.typeof 'int32_t')
function rows.starts(t, r, l, d)
   local count = memory.count(t) / t[2 * d - 1]
   local starts = offsets_of('starts', 3 * count + 3)
   add_starts(starts, 0, t, d, count)
   add_starts(starts, 1, r, d, count)
   add_starts(starts, 2, l, d, count)
   return starts, count
end

return rows
