-- Checks of indices that a layer gets as a tensor.
local types = require 'torch.core.types'
local memory = require 'torch.core.memory'
local no = require('torch.core.ways').no

local count, is_contiguous, tonumber = memory.count, memory.is_contiguous, tonumber

-- Whether the n indices, a vector or contiguous, are all in first..last (first: 1 by default), or equal to `ignored`.
local function all_within(index, n, last, ignored, first)
   first = first or 1
   if index.T.host ~= types.Long or count(index) ~= n or index.nd ~= 1 and not is_contiguous(index) then
      return no 'indices that are not as many, contiguous and of type Long'
   end
   local p, step = index.S.p + index.off, index.nd == 1 and index[2] or 1
   for k = 0, n - 1 do
      local at = tonumber(p[k * step])
      if at ~= ignored and not (at >= first and at <= last) then return no 'an index out of range' end
   end
   return true
end

return all_within
