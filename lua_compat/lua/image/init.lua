-- The package image: what the benchmark scripts need of it, and flips and crops.
require 'torch'

image = image or {}

-- [destination,] source mirrored along a dimension counted from the last.
local function flip(from_last)
   return function(destination, source)
      if not source then destination, source = nil, destination end
      local d = source:dim() - from_last
      local n = source:size(d)
      local mirrored = source:index(d, torch.range(n, 1, -1):long())
      if destination then return destination:resizeAs(source):copy(mirrored) end
      return mirrored
   end
end
image.hflip, image.vflip = flip(0), flip(1)

-- [destination,] source, startx, starty, endx, endy: the part from start up to, not with, end; counted from 0.
function image.crop(...)
   local arguments = { ... }
   local destination
   if torch.isTensor(arguments[2]) then destination = table.remove(arguments, 1) end
   local source, startx, starty, endx, endy = unpack(arguments)
   local d = source:dim()
   assert(startx >= 0 and starty >= 0 and endx <= source:size(d) and endy <= source:size(d - 1) and startx < endx
      and starty < endy, 'image.crop: the part must lie within the image')
   local part = source:narrow(d - 1, starty + 1, endy - starty):narrow(d, startx + 1, endx - startx)
   if destination then return destination:resize(part:size()):copy(part) end
   return part:clone()
end

return image
