-- optnet.countUsedMemory(net): the bytes in the storages of a net's tensors, each counted once for each purpose.
local optnet = require 'optnet.env'
local utils = require 'optnet.utils'

local PURPOSE = { output = 'outputs', gradInput = 'gradInputs', weight = 'params', bias = 'params',
   gradWeight = 'params', gradBias = 'params' }

function optnet.countUsedMemory(net)
   local storages = { outputs = {}, buffers = {}, params = {}, gradInputs = {} }
   local function itself(t) return t end
   net:apply(function(m)
      for field, value in pairs(m) do
         local purpose = PURPOSE[field]
         -- a list counts as outputs and gradients, not as a buffer
         if purpose or torch.isTensor(value) then
            utils.keepTrack(value, storages[purpose or 'buffers'], itself)
         end
      end
   end)
   local sizes = { total_size = 0 }
   for purpose, tensors in pairs(storages) do
      sizes[purpose] = 0
      for _, t in pairs(tensors) do sizes[purpose] = sizes[purpose] + t:storage():size() * t:elementSize() end
      sizes.total_size = sizes.total_size + sizes[purpose]
   end
   return sizes
end

return optnet
