-- Borders.
local h = require 'harness'
local random, images, three_phases, phases = h.random, h.images, h.three_phases, h.phases

local function borders(T)
   local x = images(T, random(1, 3), 2, 9)
   local sides = { random(0, 2), random(0, 2), random(0, 2), random(0, 2) }
   if random(1, 8) == 1 then sides[random(1, 4)] = random(-1, 9) end
   for _, name in ipairs{ 'SpatialZeroPadding', 'SpatialReflectionPadding', 'SpatialReplicationPadding' } do
      three_phases(('%s %s %s'):format(T, name, table.concat(sides, ' ')),
         function() return nn[name](unpack(sides)):type(T) end, x)
   end
end

local function volumes(T)
   local volume = torch.randn(random(1, 3), random(1, 3), random(3, 8), random(3, 8), random(3, 8)):type(T)
   if random(1, 3) == 1 then volume = volume[1] end
   phases(T, 'VolumetricReplicationPadding', volume, 1, random(0, 1), random(0, 1), 1, 0, 1)
end

return {
   { name = 'borders', types = h.REALS, run = borders },
   { name = 'volumes', types = h.REALS, run = volumes },
}
