-- The rows of tensors along a dimension, and memory for what is computed with them. No iterators: a closure for each
-- call would end LuaJIT's traces.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local offsets = require('torch.operations.elements').offsets
local outer_and_inner = require('torch.luajit.along_a_dimension').outer_and_inner
local room = require 'torch.core.scratch'()

local rows = {}

-- A function(name, n) that gives memory for n numbers of a C type, by name; that of many is the collector's.
local KEPT = 2 ^ 16
function rows.array(ctype)
   local size, of_many, pointer = ffi.sizeof(ctype), ffi.typeof('$[?]', ctype), ffi.typeof('$ *', ctype)
   return function(name, n)
      if n > KEPT then return of_many(n) end
      return ffi.cast(pointer, room(name, size * n))
   end
end

local offsets_of = rows.array(ffi.typeof 'int32_t')

-- The offsets of the first elements of a tensor's rows along dimension d, as many as given, and a 0.
function rows.starts(name, t, d, count)
   local starts, row = offsets_of(name, count + 1), 0
   local outer, inner, outer_step, _, inner_step = outer_and_inner(t, d)
   if outer then
      local off = t.off
      if inner == 1 then outer, inner, inner_step, outer_step = 1, outer, outer_step, 0 end
      for o = 0, outer - 1 do
         for i = 0, inner - 1 do
            starts[row] = off + o * outer_step + i * inner_step
            row = row + 1
         end
      end
   else
      local firsts = memory.copy_view(t)
      firsts[2 * d - 1] = 1
      for at in offsets(firsts) do
         starts[row] = at
         row = row + 1
      end
   end
   starts[count] = 0
   return starts
end

return rows
