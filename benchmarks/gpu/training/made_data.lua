-- th made_data.lua SCRIPT ARGUMENTS...: a program with made data in place of what its loader reads, whose evaluations
-- of the loss are counted (benchmarks/gpu/training/meter.py). Random numbers begin with one seed.
require 'torch'
require 'nn'
require 'optim'
local meter = require('th.python').functions

torch.manualSeed(1)

-- Every optimizer evaluates the loss by the function it is given.
for _, name in ipairs{ 'sgd', 'adam', 'rmsprop', 'lbfgs' } do
   local optimize = optim[name]
   optim[name] = function(evaluate, ...)
      return optimize(function(x)
         if meter.evaluation_begins() then os.exit(0) end
         local loss, gradient = evaluate(x)
         meter.evaluation_gave(loss)
         return loss, gradient
      end, ...)
   end
end

local function pictures(kind, count, size, classes)
   local images, labels = torch[kind](count, 3, size, size), torch.LongTensor(count)
   images:normal()
   labels:random(classes)
   return images, labels
end

-- fb.resnet.torch: both loaders give the same batch again and again.
package.preload.dataloader = function()
   local Loader = {}
   function Loader.create(opt)
      local small = opt.dataset ~= 'imagenet'
      local kind = opt.precision == 'double' and 'DoubleTensor' or 'FloatTensor'
      local images, labels = pictures(kind, opt.batchSize, small and 32 or 224, small and 10 or 1000)
      local sample = { input = images, target = labels:int() }
      local loader = {}
      function loader:size() return 1000 end
      function loader:run()
         local n = 0
         return function()
            n = n + 1
            return n, sample
         end
      end
      return loader, loader
   end
   return Loader
end

-- dcgan.torch and imagenet-multiGPU.torch: what their loaders, which are empty files now, would make. Both keep their
-- options in opt.
trainLoader, testLoader = {}, {}
function trainLoader:size() return 1e6 end
function testLoader:size() return 1e6 end
local images, labels
function trainLoader:sample(count)
   if not images then
      images, labels = pictures('FloatTensor', count, opt.fineSize or opt.imageCrop or 224, opt.nClasses or 10)
   end
   if opt.fineSize then return images:clamp(-1, 1) end
   return images, labels
end
trainLoader.classes = setmetatable({}, { __index = function(_, k) return 'class ' .. k end })

-- imagenet-multiGPU.torch counts the classes.
local function classes(count)
   for k = 1, count do trainLoader.classes[k] = 'class ' .. k end
end
for k, word in ipairs(arg) do
   if word == '-nClasses' then classes(tonumber(arg[k + 1])) end
end
if #trainLoader.classes == 0 then classes(1000) end

-- neural-style: VGG-19 with random parameters, and two pictures.
package.preload.loadcaffe = function()
   loadcaffe = {}
   function loadcaffe.load(_, _, backend)
      local package = backend == 'cudnn' and require 'cudnn' or nn
      local net, planes = nn.Sequential(), 3
      local function add(layer, name)
         layer.name = name
         net:add(layer)
      end
      for block, count in ipairs{ 2, 2, 4, 4, 4 } do
         local width = math.min(64 * 2 ^ (block - 1), 512)
         for k = 1, count do
            local convolution = package.SpatialConvolution(planes, width, 3, 3, 1, 1, 1, 1)
            convolution.weight:normal(0, math.sqrt(2 / (9 * planes)))
            convolution.bias:zero()
            add(convolution, ('conv%d_%d'):format(block, k))
            add(package.ReLU(true), ('relu%d_%d'):format(block, k))
            planes = width
         end
         add(package.SpatialMaxPooling(2, 2, 2, 2):ceil(), 'pool' .. block)
      end
      return net:float()
   end
   return loadcaffe
end

local script = table.remove(arg, 1)
arg[0] = script
if script:find('neural_style') then
   local image = require 'image'
   for _, name in ipairs{ 'style.png', 'content.png' } do image.save(name, torch.rand(3, 512, 512)) end
end
dofile(script)
