-- Convolution of signals with strides.
require 'torch'
local kernel = require('torch.core.kernels').of_tensors

local convolution = {}

-- mode: 'valid' (default), where the kernel lies within the signal; 'same': as long as the signal.
function convolution.conv1d(t, weights, stride, mode)
   mode = mode or 'valid'
   local n, k = t:size(1), weights:size(1)
   local count
   if mode == 'valid' then
      count = math.floor((n - k + stride) / stride)
   elseif mode == 'same' then
      count = math.floor(math.max(n / stride, k / stride))
   else
      error("Supported modes are 'valid' or 'same'", 2)
   end
   local result = t.new()
   kernel.signal_conv1d(result, t, weights:typeAs(t), stride, count)
   return result
end

return convolution
