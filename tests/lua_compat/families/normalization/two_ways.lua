-- Normalizations.
local h = require 'harness'
local both_ways, random, matrix, images, three_phases = h.both_ways, h.random, h.matrix, h.images, h.three_phases

local function normalizations(T)
   local planes, affine, training, momentum = random(1, 5), random(1, 3) > 1, random(1, 2) == 1, torch.uniform()
   local function layer(name, x)
      local seeded = torch.random(1000)
      local what = ('%s %s %s %s'):format(T, name, affine, training)
      local function make()
         torch.manualSeed(seeded)
         local module = nn[name](planes, 1e-3, momentum, affine):type(T)
         module.running_mean:normal()
         module.running_var:uniform(0.5, 2)
         -- by running ones they stay
         module.save_mean, module.save_std = torch.zeros(planes):type(T), torch.zeros(planes):type(T)
         return training and module or module:evaluate()
      end
      three_phases(what, make, x)
      both_ways(what .. ' at once', function()
         local module = make()
         local y = module:forward(x)
         local _, gradients = module:parameters()
         for _, of_parameter in ipairs(gradients or {}) do of_parameter:fill(0.25) end
         local grad_input = module:backward(x, torch.randn(x:size()):typeAs(x), 0.5)
         return y, grad_input, module.running_mean, module.running_var, module.save_mean, module.save_std,
            unpack(gradients or {})
      end)
   end
   layer('BatchNormalization', matrix(T, random(2, 9), planes))
   local x = images(T, planes, 1, 6)
   layer('SpatialBatchNormalization', x:dim() == 3 and x:contiguous():view(1, planes, x:size(2), x:size(3)) or x)
end

local function vectors(T)
   local a, b = h.two_batches(T)
   local power, rounded = ({ 0.5, 1, 1.5, 2, 3, 4, 1 / 0 })[random(1, 7)], random(1, 3) == 1
      and torch.mul(a, 2):round() or a
   both_ways(T .. ' Normalize', function()
      local module = nn.Normalize(power):type(T)
      return module:forward(rounded), module:updateGradInput(rounded, b)
   end, function()
      -- y = x / |x|; gradInput = g / |x| - y |y|^(p-2) sum(y g) / |x|, whose two terms may cancel
      local x = rounded:clone():view(-1, rounded:size(rounded:dim())):double()
      local g = b:clone():viewAs(x):double():abs()
      local largest = power == 1 / 0
      local norm = largest and x:clone():abs():max(2) or x:norm(power, 2)
      norm = norm:expandAs(x)
      local y = torch.cdiv(x, norm):abs()
      local sums = torch.cmul(y, g):sum(2):expandAs(x)
      local back = largest and y:clone():fill(1) or torch.pow(y, power - 1)
      local terms = torch.add(g, back:cmul(sums)):cdiv(norm)
      return { nil, h.rounding(terms, 20 + x:size(2)) }
   end)
end

local function neighbouring_planes(T)
   local pictures = images(T, random(1, 3), 3, random(4, 30))
   local neighbours, beta = 2 * random(1, 3) + 1, random(1, 2) == 1 and 0.75 or torch.uniform(0.1, 2)
   both_ways(T .. ' SpatialCrossMapLRN', function()
      local module = nn.SpatialCrossMapLRN(neighbours, 0.1, beta):type(T)
      local y = module:forward(pictures)
      return y, module:updateGradInput(pictures, torch.randn(y:size()):type(T))
   end)
end

return {
   { name = 'normalizations', types = h.REALS, run = normalizations, times = 3 },
   { name = 'vectors', types = h.REALS, run = vectors },
   { name = 'neighbouring_planes', types = h.REALS, run = neighbouring_planes },
}
