-- nn.DataParallelTable on one card computes what the net alone computes.
require 'cunn'
torch.manualSeed(1)
local function convolutions()
   return nn.Sequential():add(nn.SpatialConvolution(3, 16, 3, 3)):add(nn.ReLU()):add(nn.SpatialMaxPooling(2, 2))
end
local alone = convolutions():cuda()
local parallel = nn.DataParallelTable(1):add(alone:clone(), 1)
local input = torch.CudaTensor(8, 3, 32, 32):normal()
for _, net in ipairs{ alone, parallel } do
   net:zeroGradParameters()
   net:forward(input)
   net:backward(input, net.output)
end
local function close(name, a, b)
   local gap = (a:float() - b:float()):abs():max() / b:float():abs():max()
   print(name, gap)
   assert(gap < 1e-5, name)
end
close('output', parallel.output, alone.output)
close('gradInput', parallel.gradInput, alone.gradInput)
local _, ours = parallel:getParameters()
local _, theirs = alone:getParameters()
close('gradients', ours, theirs)
