-- Pooling of images, volumes and sequences.
local h = require 'harness'
local both_ways, random, matrix, images, three_phases = h.both_ways, h.random, h.matrix, h.images, h.three_phases
local phases = h.phases

local function pooling(T)
   local image = random(1, 2) == 1 and torch.randn(random(1, 3), random(1, 4), random(4, 9), random(4, 9))
      or torch.randn(3, random(4, 9), 7)
   image = image:type(T)
   local span, step, padding, by_ceil = random(1, 5), random(1, 3), random(0, 2), random(1, 2) == 1
   local other_span, other_step, dilation = random(1, 4), random(1, 3), random(1, 2)
   if random(1, 4) == 1 then image:mul(2):round() end -- several maxima
   if random(1, 4) == 1 then
      image:view(-1)[random(1, image:nElement())] = ({ 0 / 0, 1 / 0, -1 / 0, -0, 1e-310 })[random(1, 5)]
   end
   if random(1, 6) == 1 then image = image:transpose(1, 2) end
   both_ways(T .. ' maxima of images', function()
      local modules = { nn.SpatialMaxPooling(span, other_span, step, other_step, padding, random(0, 1)),
         nn.SpatialDilatedMaxPooling(span, other_span, step, other_step, 0, 0, dilation, random(1, 2)) }
      local results = {}
      for k, module in ipairs(modules) do
         if by_ceil then module:ceil() end
         local done, y = pcall(module.forward, module:type(T), image)
         results[2 * k - 1], results[2 * k] = done and y, done and module.indices or tostring(y):match('[^\n]*')
      end
      return unpack(results)
   end)
   local wrong = random(1, 4) == 1
   both_ways(T .. ' SpatialMaxPooling', function()
      local module = nn.SpatialMaxPooling(span, span, step, step, math.min(padding, math.floor(span / 2)), 0):type(T)
      if by_ceil then module:ceil() end
      local y = module:forward(image)
      local gradient = torch.randn(y:size()):type(T)
      if wrong then module.indices:view(-1)[random(1, y:nElement())] = ({ 0, 1000, -3 })[random(1, 3)] end
      return y, module:updateGradInput(image, gradient)
   end)
   local sequence = (random(1, 2) == 1 and torch.randn(random(1, 3), random(4, 9), random(1, 5))
      or torch.randn(random(4, 9), 3)):type(T)
   for _, is_wrong in ipairs{ false, wrong } do
      both_ways(T .. ' TemporalMaxPooling', function()
         local module = nn.TemporalMaxPooling(span, step):type(T)
         local y = module:forward(sequence)
         if is_wrong then module.indices:view(-1)[random(1, y:nElement())] = ({ span, 1000, -3 })[random(1, 3)] end
         return y, module:updateGradInput(sequence, torch.randn(y:size()):type(T))
      end)
   end
end

-- Windows of volumes, in steps or at random places.
local function volumes(T)
   local function small() return random(1, 3) end
   local inputs = random(1, 3)
   local kt, kw, kh, dt, dw, dh, pt, pw, ph = small(), small(), small(), small(), small(), small(), random(0, 1),
      random(0, 1), random(0, 2)
   local volume = torch.randn(random(1, 3), inputs, random(3, 8), random(3, 8), random(3, 8)):type(T)
   if random(1, 2) == 1 then volume:mul(2):round() end -- several maxima
   if random(1, 6) == 1 then
      volume:view(-1)[random(1, volume:nElement())] = ({ 0 / 0, 1 / 0, -1 / 0 })[random(1, 3)]
   end
   if random(1, 3) == 1 then volume = volume[1] end
   local by_ceil, wrong = random(1, 2) == 1, random(1, 5) == 1
   local half, third = torch.uniform(0.4, 0.7), torch.uniform(0.3, 0.6)
   local function maxima(name, input, ...)
      local numbers = { ... }
      both_ways(('%s %s %s'):format(T, name, table.concat(numbers, ' ')), function()
         local module = nn[name](unpack(numbers)):type(T)
         if by_ceil and module.ceil then module:ceil() end
         local y = module:forward(input)
         local places, gradient = module.indices:clone(), torch.randn(y:size()):type(T)
         if wrong then module.indices:view(-1)[random(1, y:nElement())] = ({ 0, 100000, -3 })[random(1, 3)] end
         return y, places, module:updateGradInput(input, gradient)
      end)
   end
   maxima('VolumetricMaxPooling', volume, kt, kw, kh, dt, dw, dh, pt, pw, random(0, 1))
   maxima('VolumetricDilatedMaxPooling', volume, kt, kw, kh, dt, dw, dh, pt, pw, random(0, 1), small(), small(),
      small())
   local large = torch.randn(2, 9, 10, 9):type(T)
   if random(1, 2) == 1 then large:mul(2):round() end
   if random(1, 4) == 1 then large:fill(-1e-310) end
   maxima('VolumetricMaxPooling', large, random(2, 5), random(2, 5), random(2, 5), dt, dw, dh, pt, pw, random(0, 1))
   maxima('VolumetricDilatedMaxPooling', large, random(2, 4), random(2, 4), random(2, 4), dt, dw, dh, pt, pw, ph % 2,
      random(1, 2), random(1, 2), random(1, 2))
   maxima('VolumetricFractionalMaxPooling', volume, random(2, 3), random(2, 3), random(2, 3), half, third, half)
   maxima('VolumetricFractionalMaxPooling', volume, 2, 2, 2, random(1, 3), random(1, 3), random(1, 3))
   local image = images(T, inputs, 2, 12)
   maxima('SpatialMaxPooling', torch.randn(2, 12, 13):type(T), random(5, 9), random(5, 9), dw, dh, random(0, 2),
      random(0, 2))
   maxima('SpatialFractionalMaxPooling', image, random(2, 3), random(2, 3), half, third)
   for _, name in ipairs{ 'Spatial', 'Volumetric' } do
      both_ways(('%s %sMaxUnpooling'):format(T, name), function()
         local x = name == 'Spatial' and image or volume
         local span = { random(1, 3), random(1, 3), name ~= 'Spatial' and random(1, 3) or nil }
         local pooling = nn[name .. 'MaxPooling'](unpack(span))
         local unpooling = nn[name .. 'MaxUnpooling'](pooling):type(T) -- so are the places, until there are new ones
         local y = pooling:type(T):forward(x)
         if wrong then pooling.indices:view(-1)[random(1, y:nElement())] = ({ 0, 100000, -3 })[random(1, 3)] end
         return unpooling:forward(y), unpooling:updateGradInput(y, torch.randn(x:size()):type(T))
      end)
   end
   local pictures = images(T, inputs, 1, 9)
   phases(T, 'SpatialAveragePooling', torch.randn(pictures:size()):type(T), kw, kh, dw, dh)
   phases(T, 'SpatialAveragePooling', torch.randn(2, 3, random(9, 12), random(9, 12)):type(T), random(8, 9),
      random(1, 9),
      random(1, 3), random(1, 3))
   local around, below, with_border, seeded = random(0, 2), random(0, 2), random(1, 2) == 1, torch.random(1000)
   for _, of_images in ipairs{ torch.randn(pictures:size()):type(T), pictures } do
      three_phases(('%s SpatialAveragePooling with a border of %d x %d'):format(T, around, below), function()
         torch.manualSeed(seeded)
         local module = nn.SpatialAveragePooling(random(2, 5), random(2, 5), dw, dh, around, below):type(T)
         if by_ceil then module:ceil() end
         return with_border and module or module:setCountExcludePad()
      end, of_images)
   end
   phases(T, 'VolumetricAveragePooling', torch.randn(volume:size()):type(T), kt, kw, kh, dt, dw, dh)
end

local function adaptive(T)
   local rows_of_windows, columns_of_windows, wrong = random(1, 7), random(1, 4), random(1, 3) == 1
   local pictures = images(T, random(1, 3), 3, random(4, 30))
   if random(1, 3) == 1 then pictures = pictures:clone():mul(2):round() end
   for _, name in ipairs{ 'SpatialAdaptiveMaxPooling', 'SpatialAdaptiveAveragePooling' } do
      both_ways(('%s %s'):format(T, name), function()
         local module = nn[name](columns_of_windows, rows_of_windows):type(T)
         local y = module:forward(pictures)
         local places, gradient = module.indices and module.indices:clone(), torch.randn(y:size()):type(T)
         if places and wrong then
            module.indices:view(-1)[random(1, y:nElement())] = ({ 1, 100000, -3 })[random(1, 3)]
         end
         return y, module:updateGradInput(pictures, gradient), places
      end)
   end
end

return {
   { name = 'pooling', types = h.REALS, run = pooling },
   { name = 'volumes', types = h.REALS, run = volumes },
   { name = 'adaptive', types = h.REALS, run = adaptive },
}
