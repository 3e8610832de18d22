-- Windows of sequences, (batch x) frames x features.
local gates = require 'nn.shared.luajit.gates'
local no = require('torch.core.ways').no

local floor = math.floor

-- Sequences, frames, features.
local function sizes(t)
   if t.nd == 3 then return t[1], t[3], t[5] end
   return 1, t[1], t[3]
end

-- How many windows of `span` frames, `step` apart, each sequence of x has; nil where something is unusual.
local function windows_of(x, span, step)
   if x.nd ~= 2 and x.nd ~= 3 then return no 'neither a batch nor one sample' end
   local _, frames = sizes(x)
   if not gates.whole(1, span, step) then return false end
   if frames < span then return no 'a window that is larger than the sequence' end
   return floor((frames - span) / step) + 1
end

return { sizes = sizes, windows = windows_of }
