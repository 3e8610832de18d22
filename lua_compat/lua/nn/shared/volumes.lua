-- Fields of modules for volumes, which come in threes: kernel, strides, paddings.
local volumes = {
   KERNEL = { 'kT', 'kW', 'kH' },
   STEP = { 'dT', 'dW', 'dH' },
   PAD = { 'padT', 'padW', 'padH' },
   ADJUST = { 'adjT', 'adjW', 'adjH' },
   SIZES = { T = 'time', W = 'width', H = 'height' },
   DILATION = { 'dilationT', 'dilationW', 'dilationH' },
}

function volumes.triple(self, names) return self[names[1]], self[names[2]], self[names[3]] end

-- Whether any of them differs from the neutral value
function volumes.any(self, names, neutral)
   local a, b, c = volumes.triple(self, names)
   return a ~= neutral or b ~= neutral or c ~= neutral
end

return volumes
