-- Images and volumes made larger.
local h = require 'harness'
local both_ways, random, three_phases = h.both_ways, h.random, h.three_phases

-- Images and volumes made larger by a factor or to any size, with few and many planes; some not finite, transposed,
-- without a batch.
local function made_larger(T)
   local sizes = torch.LongStorage(random(4, 5))
   for d = 1, #sizes do sizes[d] = random(1, 5) end
   local x, scale, mode = torch.randn(sizes):type(T), random(1, 4), ({ 'nearest', 'linear' })[random(1, 2)]
   if random(1, 6) == 1 then x:view(-1)[random(1, x:nElement())] = ({ 0 / 0, 1 / 0 })[random(1, 2)] end
   if random(1, 6) == 1 then x = x:transpose(1, x:dim()) end
   three_phases(T .. ' UpSampling', function() return nn.UpSampling(scale, mode):type(T) end, x)
   both_ways(T .. ' UpSampling, a gradient that is not finite', function()
      local module = nn.UpSampling(scale, mode):type(T)
      local gradient = module:forward(x):clone():fill(0.1)
      gradient:view(-1)[random(1, gradient:nElement())] = 1 / 0
      return module:updateGradInput(x, gradient)
   end)
   local given = { oheight = random(1, 9), owidth = random(1, 9), odepth = random(1, 9) }
   three_phases(T .. ' UpSampling to sizes', function() return nn.UpSampling(given, 'linear'):type(T) end, x)
   if x:dim() == 4 then
      local image = random(1, 2) == 1 and x or x[1]
      three_phases(T .. ' SpatialUpSamplingBilinear', function() return nn.SpatialUpSamplingBilinear(given):type(T) end,
         image)
      three_phases(T .. ' SpatialUpSamplingNearest', function()
         return nn.SpatialUpSamplingNearest(scale + 1):type(T) end, image)
   end
end

-- Groups of planes as larger images; some not finite, transposed, without a batch.
local function shuffled(T)
   local factor = random(1, 3)
   local x = torch.randn(random(1, 3), factor * factor * random(1, 3), random(1, 6), random(1, 6)):type(T)
   if random(1, 6) == 1 then x:view(-1)[random(1, x:nElement())] = ({ 0 / 0, 1 / 0 })[random(1, 2)] end
   if random(1, 6) == 1 then x = x:transpose(3, 4) end
   if random(1, 3) == 1 then x = x[1] end
   three_phases(T .. ' PixelShuffle', function() return nn.PixelShuffle(factor):type(T) end, x)
end

return {
   { name = 'made_larger', types = h.REALS, run = made_larger, times = 10 },
   { name = 'shuffled', types = h.REALS, run = shuffled, times = 10 },
}
