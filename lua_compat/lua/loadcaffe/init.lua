-- The package loadcaffe: Caffe networks as nn.Sequential. lua_compat/kernels/packages/caffe.py reads the files; this
-- makes the modules, with loadcaffe's choices: unknown layers are skipped with a warning, and a softmax is kept as a
-- layer for old files, but ends the net for new ones.
require 'nn'
local cjson = require 'cjson'
local kernel = require('torch.core.kernels').of_tensors

loadcaffe = {}

-- backend -> the package of its layers, and what loads it
local BACKENDS = {
   nn = { layers = 'nn' },
   ['nn-cpu'] = { layers = 'nn' },
   cudnn = { layers = 'cudnn', on_gpu = true },
}

-- Rounds as loadcaffe does, which writes numbers into the text of a net and reads them back.
local function rounded(format, number) return tonumber(format:format(number)) end

local make = {}

function make.Convolution(layer, package)
   local sizes = { layer.inputs, layer.outputs, layer.kW, layer.kH, layer.dW, layer.dH, layer.padW, layer.padH }
   if layer.groups > 1 then
      if package ~= cudnn then
         error(("loadcaffe: layer '%s' has %d groups, which nn's convolution does not have: "
            .. 'use the backend cudnn'):format(
            layer.name, layer.groups), 0)
      end
      sizes[#sizes + 1] = layer.groups
   end
   return package.SpatialConvolution(unpack(sizes))
end

function make.Pooling(layer, package)
   if layer.pool == 'stochastic' then
      require 'inn'
      return inn.SpatialStochasticPooling(layer.kW, layer.kH, layer.dW, layer.dH)
   end
   local class = layer.pool == 'max' and package.SpatialMaxPooling or package.SpatialAveragePooling
   return class(layer.kW, layer.kH, layer.dW, layer.dH, layer.padW, layer.padH):ceil()
end

function make.LRN(layer, package)
   return package.SpatialCrossMapLRN(layer.local_size, rounded('%.6f', layer.alpha), rounded('%.4f', layer.beta),
      rounded('%f', layer.k))
end

function make.InnerProduct(layer) return nn.Linear(layer.inputs, layer.outputs) end
function make.Dropout(layer) return nn.Dropout(rounded('%f', layer.ratio)) end
function make.ReLU(_, package) return package.ReLU(true) end
function make.TanH(_, package) return package.Tanh(true) end
function make.Sigmoid(_, package) return package.Sigmoid(true) end
function make.Softmax(_, package) return package.SoftMax() end
make.SoftmaxWithLoss = make.Softmax

local function warn(layer, old)
   if old then print(('MODULE %s UNDEFINED'):format(layer.name)) end
   print(("warning: module '%s [type %s]' not found"):format(layer.name, tostring(layer.type)))
end

-- Four sizes, as Caffe counts them; a matrix has the last two.
local function shown_sizes(layer)
   local shape = layer.shown
   if layer.kind == 'Convolution' then return shape[1], shape[2], shape[4], shape[3] end
   return 1, 1, layer.inputs, layer.outputs
end

-- prototxt_name, binary_name: the files; backend: 'nn' (default), 'nn-cpu' or 'cudnn'.
function loadcaffe.load(prototxt_name, binary_name, backend)
   local chosen = BACKENDS[backend or 'nn']
   if not chosen then
      error(("loadcaffe: backend '%s': accepted are nn, nn-cpu and cudnn"):format(tostring(backend)), 2)
   end
   local package = require(chosen.layers) or _G[chosen.layers]
   package = type(package) == 'table' and package or _G[chosen.layers]

   local weights = torch.FloatTensor()
   local model = cjson.decode(kernel.caffe_read(weights, prototxt_name, binary_name))
   print('Successfully loaded ' .. binary_name)

   local net, planes, start = nn.Sequential(), model.inputs, 1
   local function add(name, module)
      module.name = name
      net:add(module)
   end
   local loaded = {}
   for _, layer in ipairs(model.layers) do
      local build = make[layer.kind]
      if not build then
         warn(layer, model.old)
      elseif not model.old and build == make.Softmax then
         break
      else
         if layer.kind == 'InnerProduct' and planes ~= layer.inputs then
            add('torch_view', nn.View(-1):setNumInputDims(3))
         end
         planes = layer.outputs or planes
         local module = build(layer, package)
         for i, count in ipairs(layer.blobs) do
            module[i == 1 and 'weight' or 'bias']:copy(weights:narrow(1, start, count))
            start = start + count
         end
         if layer.blobs[1] and not layer.blobs[2] then module.bias:zero() end
         if layer.shown then loaded[#loaded + 1] = layer end
         add(layer.name, module)
      end
   end
   for _, layer in ipairs(loaded) do print(('%s: %d %d %d %d'):format(layer.name, shown_sizes(layer))) end
   if chosen.on_gpu then net:cuda() end
   return net
end

return loadcaffe
