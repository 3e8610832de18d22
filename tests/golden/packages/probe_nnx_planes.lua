-- What nnx's modules of planes, and its simple ones, compute: a line for each tensor, its sizes and two sums.
require 'nnx'
torch.manualSeed(7)
local function line(label, t)
   local positions = torch.range(1, t:nElement()):cos()
   print(label, table.concat(t:size():totable(), 'x'), ('%.7f %.7f'):format(t:sum(), t:clone():view(-1):dot(positions)))
end
local function run(label, module, input)
   local output = module:forward(input)
   line(label, output)
   local gradient = torch.randn(output:size())
   if module.zeroGradParameters then module:zeroGradParameters() end
   line(label .. ' gradInput', module:updateGradInput(input, gradient))
   module:accGradParameters(input, gradient, 0.5)
   if module.gradWeight then line(label .. ' gradWeight', module.gradWeight) end
   if module.indices then line(label .. ' indices', module.indices) end
   if module.classifier then line(label .. ' gradWeight', module.classifier:get(1).gradWeight) end
end
run('SaturatedLU', nn.SaturatedLU(-0.5, 2, 0.7, 3), torch.randn(3, 4, 5))
run('PixelSort', nn.PixelSort(3), torch.randn(2, 2, 6, 9))
run('PixelSort', nn.PixelSort(2), torch.randn(2, 6, 4))
run('SpatialLinear', nn.SpatialLinear(3, 4), torch.randn(3, 5, 6))
local decaying = nn.SpatialLinear(2, 3)
decaying.weightDecay = 1
run('SpatialLinear', decaying, torch.randn(2, 5, 6))
run('SpatialClassifier', nn.SpatialClassifier(nn.Sequential():add(nn.Linear(3, 4)):add(nn.Tanh())), torch.randn(3, 5, 6))
run('SpatialDownSampling', nn.SpatialDownSampling(2, 3), torch.randn(3, 7, 9))
for _, transform in ipairs{ 'yuv2rgb', 'rgb2yuv', 'rgb2y' } do
   run(transform, nn.SpatialColorTransform(transform), torch.rand(3, 4, 5))
end
for _, sizes in ipairs{ { 3, 4, 7, 9 }, { 5, 3, 8, 8 }, { 10, 9, 7, 8 } } do
   run('SpatialMaxSampling', nn.SpatialMaxSampling{ owidth = sizes[1], oheight = sizes[2] },
      torch.randn(3, sizes[3], sizes[4]))
end
for _, mode in ipairs{ 'simple', 'average', 'bilinear' } do
   for _, sizes in ipairs{ { 3, 4 }, { 11, 9 } } do
      run('SpatialReSamplingEx ' .. mode, nn.SpatialReSamplingEx{ oheight = sizes[1], owidth = sizes[2], mode = mode },
         torch.randn(2, 7, 8, 3))
   end
   run('SpatialReSamplingEx ' .. mode, nn.SpatialReSamplingEx{ rheight = 0.5, rwidth = 0.6, mode = mode, yDim = 1,
      xDim = 2 }, torch.randn(7, 8))
end
for k = 1, 6 do
   local classes = k + 1
   local criterion, input, target = nn.DistMarginCriterion(), torch.randn(3, classes), torch.zeros(3, classes)
   criterion.sizeAverage = k % 2 == 0
   for row = 1, 3 do target[row][1] = torch.random(1, classes) end
   if k > 4 then input, target = input[1]:clone(), target[1]:clone() end
   print('DistMarginCriterion', ('%.7f'):format(criterion:forward(input, target)))
   line('DistMarginCriterion gradInput', criterion:backward(input, target))
end
