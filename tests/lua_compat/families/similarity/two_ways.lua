-- Distances, cosines, bilinear forms.
local h = require 'harness'
local both_ways, random, matrix = h.both_ways, h.random, h.matrix

-- Rows compared with each other.
local function rows_compared(T)
   local a, b = h.two_batches(T)
   for _, row in ipairs{ { 'DotProduct' }, { 'CosineDistance' }, { 'PairwiseDistance', 2 }, { 'PairwiseDistance', 1 },
      { 'PairwiseDistance', 3 },
      { 'PairwiseDistance', 1.5 } } do
      both_ways(('%s %s'):format(T, row[1]), function()
         local module = nn[row[1] ](row[2]):type(T)
         local y = module:forward({ a, b })
         return y, unpack(module:updateGradInput({ a, b }, torch.randn(y:size()):type(T)))
      end)
   end
   both_ways(T .. ' distances', function() return a:dist(b), a:dist(b, 1), a:norm(1), a:norm(0), a:norm(3) end)
end

local function distances(T)
   local inputs, outputs = random(1, 20), random(1, 12)
   local x = random(1, 3) == 1 and torch.randn(inputs):type(T) or matrix(T, random(1, 9), inputs)
   local module = nn.Euclidean(inputs, outputs):type(T)
   if random(1, 3) == 1 then module.weight = matrix(T, inputs, outputs) end
   if random(1, 4) == 1 then module.weight:select(2, 1):copy(x:dim() == 2 and x[1] or x) end
   if random(1, 6) == 1 then x[x:dim() == 2 and { 1, 1 } or { 1 }] = ({ 0 / 0, 1 / 0, 1e300 })[random(1, 3)] end
   local g = x:dim() == 2 and matrix(T, x:size(1), outputs) or torch.randn(outputs):type(T)
   local weighted, cosine = nn.WeightedEuclidean(inputs, outputs):type(T), nn.Cosine(inputs, outputs):type(T)
   weighted.weight = module.weight
   weighted.diagCov:uniform(-2, 2)
   cosine.weight:copy(module.weight:t())
   if random(1, 6) == 1 then cosine.weight[1]:zero() end
   for _, distance in ipairs{ module, weighted, cosine } do
      both_ways(T .. ' ' .. torch.type(distance), function()
         local _, of_parameters = distance:parameters()
         for _, gradient in ipairs(of_parameters) do gradient:fill(0.1) end
         distance:accGradParameters(x, (distance:forward(x) * 0):add(g), 0.5)
         return distance.output, distance:updateGradInput(x, g), unpack(of_parameters)
      end)
   end
end

local function bilinear(T)
   local rows, first, second, outputs, seeded = random(1, 9), random(1, 8), random(1, 8), random(1, 5),
      torch.random(1000)
   local a, b, slopes = matrix(T, rows, first), matrix(T, random(1, 20) == 1 and rows + 1 or rows, second),
      matrix(T, rows, outputs)
   if random(1, 9) == 1 then a[random(1, rows)][1] = ({ 0 / 0, 1 / 0 })[random(1, 2)] end
   local has_bias = random(1, 2) == 1
   both_ways(T .. ' Bilinear', function()
      torch.manualSeed(seeded)
      local module = nn.Bilinear(first, second, outputs, has_bias):type(T)
      local y, of_inputs = module:forward({ a, b }), module:updateGradInput({ a, b }, slopes)
      for _, gradient in ipairs(select(2, module:parameters())) do gradient:fill(0.25) end
      module:accGradParameters({ a, b }, slopes, 0.5)
      return y, of_inputs[1], of_inputs[2], module.gradWeight, module.gradBias
   end)
end

return {
   { name = 'rows_compared', types = h.REALS, run = rows_compared },
   { name = 'distances', types = h.REALS, run = distances },
   { name = 'bilinear', types = h.REALS, run = bilinear },
}
