-- A model file of a Torch7 repository under two runtimes: one writes what it computes, the other compares.
--    th compare_model_file.lua write MODEL.lua SIZE FILE.t7 [double]                  (real Torch7, no GPU needed)
--    th --cpu-as-cuda compare_model_file.lua check MODEL.lua SIZE FILE.t7 [double]    (ours)
-- SIZE: height and width of the images. MODEL.lua defines createModel(nGPU) or returns a function of options. Printed:
-- largest differences over the largest value, and that of the norms of the parameters' gradients.
local mode, path, size, file, precision = arg[1], arg[2], tonumber(arg[3]), arg[4], arg[5] or 'float'
assert((mode == 'write' or mode == 'check') and file, 'write|check MODEL.lua SIZE FILE.t7 [float|double]')

require 'nn'
local cpu = precision == 'double' and 'Double' or 'Float'
local cuda = precision == 'double' and 'CudaDoubleTensor' or 'CudaTensor'
if mode == 'write' then -- CUDA's names onto nn: Torch7 has no CPU in place of a GPU
   package.preload.cutorch = function() return {} end
   package.preload.cunn = function() return nn end
   package.preload.cudnn = function()
      cudnn = { version = 5110 }
      for _, name in ipairs{ 'SpatialConvolution', 'SpatialMaxPooling', 'SpatialAveragePooling', 'ReLU',
         'SpatialBatchNormalization' } do
         torch.class('cudnn.' .. name, 'nn.' .. name)
      end
      return cudnn
   end
   cuda = cpu .. 'Tensor'
   torch.CudaTensor = torch[cuda]
end
require 'cutorch'
require 'cunn'
require 'cudnn'
function nn.Module:cuda() return self:type('torch.' .. cuda) end -- in the asked precision
torch.setdefaulttensortype('torch.' .. cpu .. 'Tensor')
torch.manualSeed(1)

-- What the model files of fb.resnet.torch, wide-residual-networks and imagenet-multiGPU.torch expect of their programs.
local wide = path:find 'wide'
opt = { nGPU = 1, dropout = 0, shortcutType = 'B', cudnn = 'deterministic', num_classes = 10, widen_factor = 2,
   depth = wide and 16 or 18, dataset = wide and 'cifar10' or 'imagenet', imageSize = size }
nClasses = 10
function makeDataParallel(model) return model end
local result = paths.dofile(path)
local model = createModel and createModel(1) or result(opt)
model:cuda():training()
local parameters, gradients = model:getParameters()

local function plain(t) return t:type('torch.DoubleTensor'):view(-1) end
local data = mode == 'check' and torch.load(file)
   or { parameters = plain(parameters):clone(), input = torch.randn(2, 3, size, size):double() }
local drawn_alike = torch.all(plain(parameters):eq(data.parameters))
parameters:copy(data.parameters)
local input = data.input:type('torch.' .. cuda)
torch.manualSeed(2) -- dropout
local output = model:forward(input)
local outputs = type(output) == 'table' and output or { output }
data.gradOutputs = data.gradOutputs or {}
local gradOutputs = {}
for i, each in ipairs(outputs) do
   data.gradOutputs[i] = data.gradOutputs[i] or torch.randn(each:size()):double()
   gradOutputs[i] = data.gradOutputs[i]:type('torch.' .. cuda)
end
gradients:zero()
model:backward(input, type(output) == 'table' and gradOutputs or gradOutputs[1])
local found = { gradients = plain(gradients) }
for i, each in ipairs(outputs) do found['output ' .. i] = plain(each) end
-- A first layer that nothing asks for its input's gradient has none.
if model.gradInput and model.gradInput:nElement() > 0 then found.gradInput = plain(model.gradInput) end

if mode == 'write' then
   data.found = found
   torch.save(file, data)
else
   print(('parameters drawn %s'):format(drawn_alike and 'alike' or 'otherwise'))
   local names = {}
   for name in pairs(data.found) do names[#names + 1] = name end
   table.sort(names)
   for _, name in ipairs(names) do
      local ours, theirs = assert(found[name], name .. ' is missing'), data.found[name]
      print(('%-10s %.1e'):format(name, (ours - theirs):abs():max() / theirs:abs():max()))
   end
   print(('%-10s %.1e'):format('norm', math.abs(found.gradients:norm() / data.found.gradients:norm() - 1)))
end
