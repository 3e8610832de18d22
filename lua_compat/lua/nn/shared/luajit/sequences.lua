-- Windows of sequences, (batch x) frames x features.
local floor = math.floor

-- Sequences, frames, features.
local function sizes(t)
   if t.nd == 3 then return t[1], t[3], t[5] end
   return 1, t[1], t[3]
end

-- How many windows of `span` frames, `step` apart, each sequence of x has; nil where something is unusual.
local function windows_of(x, span, step)
   if x.nd ~= 2 and x.nd ~= 3 or not (span >= 1 and step >= 1) or span % 1 ~= 0 or step % 1 ~= 0 then return nil end
   local _, frames = sizes(x)
   if frames < span then return nil end
   return floor((frames - span) / step) + 1
end

return { sizes = sizes, windows = windows_of }
