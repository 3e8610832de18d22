-- Tensors mirrored along one dimension.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local templates = require 'torch.core.templates'
local types = require 'torch.core.types'

local LINES = [[
   return function(p, q, lines, n)
      for line = 0, lines - 1 do
         local first, last = line * n, line * n + n - 1
         for i = 0, n - 1 do p[first + i] = q[last - i] end
      end
   end
]]
local lines_of = templates.for_each({ 1, 2, 4, 8 }, function()
   return templates.compile('image.luajit.mirroring', LINES, {})
end)

-- Writes src, mirrored along dimension d, to out, which has its type and sizes. Both are contiguous, and apart.
return function(out, src, d)
   local size, inner, n = src.T.size, 1, src[2 * d - 1]
   for k = d + 1, src.nd do inner = inner * src[2 * k - 1] end
   local lines = memory.count(src) / (n * inner)
   local whole = inner == 1 and types.cells[size] or ffi.typeof 'char *'
   local p, q = ffi.cast(whole, memory.first_element(out)), ffi.cast(whole, memory.first_element(src))
   if inner == 1 then return lines_of(size)(p, q, lines, n) end
   local bytes = inner * size
   for line = 0, lines - 1 do
      for i = 0, n - 1 do ffi.copy(p + (line * n + i) * bytes, q + (line * n + n - 1 - i) * bytes, bytes) end
   end
end
