-- Windows of sequences, (batch x) frames x features.
local gates = require 'nn.shared.luajit.gates'
local no = require('torch.core.ways').no

-- The numbers of sequences, frames and features.
local function sizes(t)
   if t.nd == 3 then return t[1], t[3], t[5] end
   return 1, t[1], t[3]
end

-- The number of windows of `span` frames, `step` apart, in each sequence of x; nil if Python has to compute.
local function windows_of(x, span, step)
   if x.nd ~= 2 and x.nd ~= 3 then return no 'neither a batch nor one sample' end
   local _, frames = sizes(x)
   if not gates.whole(1, span, step) then return false end
   if frames < span then return no 'a window that is larger than the sequence' end
   return math.floor((frames - span) / step) + 1
end

return { sizes = sizes, windows = windows_of }
