-- Small programs of each kind that trains: a function for each gives its net and a function that evaluates the loss
-- once, forward and backward.
require 'nngraph'
require 'cudnn'
local kinds = {}

function kinds.classifier()
   local net = nn.Sequential():add(cudnn.SpatialConvolution(3, 4, 3, 3, 1, 1, 1,
      1)):add(cudnn.SpatialBatchNormalization(4))
      :add(cudnn.ReLU(true)):add(cudnn.SpatialMaxPooling(2, 2)):add(nn.ConcatTable():add(nn.Identity())
      :add(cudnn.SpatialConvolution(4, 4, 3, 3, 1, 1, 1, 1))):add(nn.CAddTable(true)):add(nn.Dropout(0.5))
      :add(nn.SpatialAveragePooling(2, 2, 2, 2)):add(nn.View(-1):setNumInputDims(3)):add(nn.Linear(16, 5)):cuda()
   local criterion = nn.CrossEntropyCriterion():cuda()
   local x, y = torch.randn(4, 3, 8, 8):cuda(), torch.Tensor{ 1, 2, 5, 3 }:cuda()
   return net, function()
      local loss = criterion:forward(net:forward(x), y)
      net:backward(x, criterion:backward(net.output, y))
      return loss
   end
end

function kinds.recurrent()
   local x, h = nn.Identity()(), nn.Identity()()
   local sums = nn.Reshape(3, 4)(nn.CAddTable()({ nn.Linear(6, 12)(x), nn.Linear(4, 12)(h) }))
   local a, b, c = nn.SplitTable(2)(sums):split(3)
   local kept, added = nn.CMulTable()({ nn.Sigmoid()(a), h }), nn.CMulTable()({ nn.Sigmoid()(b), nn.Tanh()(c) })
   local new = nn.CAddTable()({ kept, added })
   local net = nn.gModule({ x, h }, { new, nn.LogSoftMax()(nn.Linear(4, 5)(new)) }):cuda()
   local criterion = nn.ClassNLLCriterion():cuda()
   local inputs, targets = torch.randn(3, 2, 6):cuda(), torch.Tensor{ { 1, 5 }, { 2, 3 }, { 4, 1 } }:cuda()
   local nothing = torch.zeros(2, 4):cuda()
   return net, function()
      local loss, state = 0, nothing
      for t = 1, 3 do
         local out = net:forward{ inputs[t], state }
         loss = loss + criterion:forward(out[2], targets[t])
         net:backward({ inputs[t], state }, { nothing, criterion:backward(out[2], targets[t]) })
         state = out[1]:clone()
      end
      return loss
   end
end

function kinds.adversarial()
   local function init(m)
      if torch.type(m):find('Convolution') then
         m.weight:normal(0, 0.02)
         m:noBias()
      end
   end
   local maker = nn.Sequential():add(nn.SpatialFullConvolution(5, 4, 4, 4)):add(nn.SpatialBatchNormalization(4))
      :add(nn.ReLU(true)):add(nn.SpatialFullConvolution(4, 3, 4, 4, 2, 2, 1, 1)):add(nn.Tanh()):cuda()
   local net = nn.Sequential():add(nn.SpatialConvolution(3, 4, 4, 4, 2, 2, 1, 1)):add(nn.LeakyReLU(0.2, true))
      :add(nn.SpatialConvolution(4, 1, 4, 4)):add(nn.Sigmoid()):add(nn.View(1):setNumInputDims(3)):cuda()
   maker:apply(init)
   net:apply(init)
   local criterion = nn.BCECriterion():cuda()
   local real, noise = torch.rand(4, 3, 8, 8):cuda(), torch.randn(4, 5, 1, 1):cuda()
   local labels = torch.CudaTensor(4)
   return net, function()
      local loss = 0
      for label, x in pairs{ [0] = maker:forward(noise), [1] = real } do
         labels:fill(label)
         loss = loss + criterion:forward(net:forward(x), labels)
         local slope = net:backward(x, criterion:backward(net.output, labels))
         if label == 0 then maker:backward(noise, slope) end
      end
      return loss
   end
end

function kinds.regression()
   local net = nn.Sequential():add(nn.SpatialConvolution(3, 4, 3, 3, 1, 1, 1, 1)):add(nn.ReLU(true))
      :add(nn.SpatialMaxPooling(2, 2, 2, 2):ceil()):add(nn.SpatialAdaptiveMaxPooling(2, 2)):cuda()
   local criterion = nn.MSECriterion():cuda()
   local x, y = torch.randn(2, 3, 8, 8):cuda(), torch.randn(2, 4, 2, 2):cuda()
   return net, function()
      local loss = criterion:forward(net:forward(x), y)
      net:backward(x, criterion:backward(net.output, y))
      return loss
   end
end

-- A function that takes one step of an optimizer of optim with the net of a kind.
return function(kind, optimizer)
   torch.manualSeed(1)
   local net, evaluate = kinds[kind]()
   local parameters, gradients = net:getParameters()
   local optimize, state = require('optim')[optimizer], {}
   return function()
      optimize(function()
         gradients:zero()
         return evaluate(), gradients
      end, parameters, state)
   end
end
