-- Distances, cosines, bilinear forms; rows divided by their norms.
local h = require 'harness'
local both_ways, random, matrix, images = h.both_ways, h.random, h.matrix, h.images

-- Rows compared with each other and divided by their length, and PReLU.
local function rows_compared(T)
   local rows, columns = random(1, 30), random(1, 40)
   local a, b = matrix(T, rows, columns), matrix(T, rows, columns)
   if random(1, 8) == 1 then a:select(2, random(1, columns)):fill(({ 0 / 0, 1 / 0, 0 })[random(1, 3)]) end
   if random(1, 4) == 1 then a, b, rows = a[1], b[1], 1 end
   local signs, margin, average = torch.randn(rows):sign():type(T), torch.uniform(-1, 1), random(1, 2) == 1
   for _, row in ipairs{ { 'DotProduct' }, { 'CosineDistance' }, { 'PairwiseDistance', 2 }, { 'PairwiseDistance', 1 },
      { 'PairwiseDistance', 3 },
      { 'PairwiseDistance', 1.5 } } do
      both_ways(('%s %s'):format(T, row[1]), function()
         local module = nn[row[1] ](row[2]):type(T)
         local y = module:forward({ a, b })
         return y, unpack(module:updateGradInput({ a, b }, torch.randn(y:size()):type(T)))
      end)
   end
   both_ways(T .. ' CosineEmbeddingCriterion', function()
      local criterion = nn.CosineEmbeddingCriterion(margin):type(T)
      criterion.sizeAverage = average
      return criterion:forward({ a, b }, signs), unpack(criterion:backward({ a, b }, signs))
   end)
   both_ways(T .. ' distances', function() return a:dist(b), a:dist(b, 1), a:norm(1), a:norm(0), a:norm(3) end)
   local power, rounded = ({ 0.5, 1, 1.5, 2, 3, 4, 1 / 0 })[random(1, 7)], random(1, 3) == 1
      and torch.mul(a, 2):round() or a
   both_ways(T .. ' Normalize', function()
      local module = nn.Normalize(power):type(T)
      return module:forward(rounded), module:updateGradInput(rounded, b)
   end)
   local planes = random(1, 3) == 1 and columns or 0
   both_ways(T .. ' PReLU', function()
      local module = nn.PReLU(random(1, 6) == 1 and planes + 1 or planes):type(T)
      module.gradWeight:fill(0.25)
      local y, grad_input = module:forward(a), module:updateGradInput(a, b)
      module:accGradParameters(a, b, 0.5)
      return y, grad_input, module.gradWeight
   end)
   local x = images(T, 3, 1, 6)
   both_ways(T .. ' PReLU of images', function()
      local module = nn.PReLU(x:dim() == 4 and 3 or 1):type(T)
      module.weight:uniform(-1, 1)
      module.gradWeight:fill(0.25)
      local y, gradient = module:forward(x), torch.randn(x:size()):type(T)
      local grad_input = module:updateGradInput(x, gradient)
      module:accGradParameters(x, gradient, 0.5)
      return y, grad_input, module.gradWeight
   end)
   local rows_of_windows, columns_of_windows = random(1, 7), random(1, 4)
   local pictures = images(T, random(1, 3), 3, random(4, 30))
   if random(1, 3) == 1 then pictures = pictures:clone():mul(2):round() end
   local neighbours, beta = 2 * random(1, 3) + 1, random(1, 2) == 1 and 0.75 or torch.uniform(0.1, 2)
   both_ways(T .. ' SpatialCrossMapLRN', function()
      local module = nn.SpatialCrossMapLRN(neighbours, 0.1, beta):type(T)
      local y = module:forward(pictures)
      return y, module:updateGradInput(pictures, torch.randn(y:size()):type(T))
   end)
   for _, name in ipairs{ 'SpatialAdaptiveMaxPooling', 'SpatialAdaptiveAveragePooling' } do
      both_ways(('%s %s'):format(T, name), function()
         local module = nn[name](columns_of_windows, rows_of_windows):type(T)
         local y = module:forward(pictures)
         local places, gradient = module.indices and module.indices:clone(), torch.randn(y:size()):type(T)
         if places and average then
            module.indices:view(-1)[random(1, y:nElement())] = ({ 1, 100000, -3 })[random(1, 3)]
         end
         return y, module:updateGradInput(pictures, gradient), places
      end)
   end
   both_ways(T .. ' RReLU', function()
      local module = nn.RReLU(0.1, 0.4):type(T)
      if average then module:evaluate() end
      return module:forward(a), module:updateGradInput(a, b)
   end)
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
