-- Torch7's library THNN by the names of its functions, over nn's own modules:
-- input.THNN.Tanh_updateOutput(input:cdata(),
-- output:cdata()). Packages call it for layers of theirs; nn itself does not.
-- Each call makes a module without a constructor, gives it the arguments as fields, and calls its method; what no
-- module of nn computes so is in nn/layers_by_arguments.lua.
local cdata = require 'torch.tensor.cdata'

local THNN = { kernels = {} }

-- What the functions of a layer take after (input, output), (input, gradOutput, gradInput) and (input, gradOutput,
-- gradWeight, gradBias), as names of the module's fields; scale comes last of the third. A name of _ is a buffer that
-- Torch7 needs. One text stands for the first two.
local layers = {
   Abs = '', Square = '',
   Sigmoid = { '', 'output' }, Tanh = { '', 'output' }, SoftMax = { '', 'output' }, LogSoftMax = { '', 'output' },
   Sqrt = { 'eps', 'output' },
   ELU = { 'alpha inplace', 'output alpha inplace' }, SoftPlus = { 'beta threshold', 'output beta threshold' },
   HardShrink = 'lambda', SoftShrink = 'lambda', HardTanh = 'min_val max_val inplace', LeakyReLU = 'negval inplace',
   LogSigmoid = '_', Threshold = 'threshold val inplace',
   RReLU = { 'noise lower upper train inplace _', 'noise lower upper train inplace' },
   PReLU = 'weight nOutputPlane',
   TemporalConvolution = { 'weight bias kW dW inputFrameSize outputFrameSize', 'weight kW dW', 'kW dW' },
   TemporalMaxPooling = 'indices kW dW',
   TemporalSubSampling = { 'weight bias kW dW inputFrameSize', 'weight kW dW', 'kW dW' },
   TemporalRowConvolution = { 'weight bias _ _ kW dW _ featFirst', 'weight _ _ kW dW _ featFirst',
      '_ _ kW dW _ featFirst' },
   SpatialAdaptiveMaxPooling = { 'indices W H', 'indices' }, SpatialAdaptiveAveragePooling = { 'W H', '' },
   SpatialAveragePooling = 'kW kH dW dH padW padH ceil_mode count_include_pad',
   SpatialMaxPooling = 'indices kW kH dW dH padW padH ceil_mode',
   SpatialDilatedMaxPooling = 'indices kW kH dW dH padW padH dilationW dilationH ceil_mode',
   SpatialFractionalMaxPooling = { 'outW outH poolSizeW poolSizeH indices randomSamples',
      'outW outH poolSizeW poolSizeH indices' },
   SpatialMaxUnpooling = 'indices owidth oheight',
   SpatialSubSampling = { 'weight bias kW kH dW dH', 'weight kW kH dW dH', 'kW kH dW dH' },
   SpatialUpSamplingNearest = 'scale_factor',
   SpatialReflectionPadding = 'pad_l pad_r pad_t pad_b', SpatialReplicationPadding = 'pad_l pad_r pad_t pad_b',
   VolumetricMaxPooling = 'indices kT kW kH dT dW dH padT padW padH ceil_mode',
   VolumetricDilatedMaxPooling = 'indices kT kW kH dT dW dH padT padW padH dilationT dilationW dilationH ceil_mode',
   VolumetricReplicationPadding = 'pleft pright ptop pbottom pfront pback',
   VolumetricFractionalMaxPooling = { 'outT outW outH poolSizeT poolSizeW poolSizeH indices randomSamples',
      'outT outW outH poolSizeT poolSizeW poolSizeH indices' },
   VolumetricMaxUnpooling = 'indices otime owidth oheight',
}
for _, name in ipairs{ 'SpatialConvolutionMap', 'SpatialFullConvolutionMap' } do
   local numbers = 'connTable nInputPlane nOutputPlane dW dH'
   layers[name] = { 'weight bias ' .. numbers, 'weight bias ' .. numbers, numbers }
end
-- Convolutions: the buffers of their functions, then their numbers
for name, row in pairs{
   SpatialConvolutionMM = { '_ _', '_ _', '_ _', 'kW kH dW dH padW padH' },
   SpatialDepthWiseConvolution = { '_ _', '_ _', '_ _', 'kW kH dW dH padW padH' },
   SpatialConvolutionLocal = { '_ _', '_ _', '_ _', 'kW kH dW dH padW padH iW iH oW oH' },
   SpatialFullConvolution = { '_ _', '_', '_ _', 'kW kH dW dH padW padH adjW adjH' },
   SpatialDilatedConvolution = { '_ _', '_', '_ _', 'kW kH dW dH padW padH dilationW dilationH' },
   VolumetricConvolutionMM = { '_', '_ _', '_', 'kT kW kH dT dW dH padT padW padH' },
   VolumetricFullConvolution = { '_ _', '_ _', '_ _', 'dT dW dH padT padW padH adjT adjW adjH' },
   VolumetricDilatedConvolution =
      { '_ _', '_', '_ _', 'kT kW kH dT dW dH padT padW padH dilationT dilationW dilationH' },
} do
   layers[name] = { 'weight bias ' .. row[1] .. ' ' .. row[4], 'weight ' .. row[2] .. ' ' .. row[4], row[3] .. ' '
      .. row[4] }
end

-- What the functions of a criterion take after (input, target, output) and (input, target, gradInput)
local criterions = {
   AbsCriterion = 'sizeAverage', MSECriterion = 'sizeAverage', SmoothL1Criterion = 'sizeAverage',
   SoftMarginCriterion = 'sizeAverage', DistKLDivCriterion = 'sizeAverage', BCECriterion = 'sizeAverage weights',
   ClassNLLCriterion = 'sizeAverage weights total_weight_tensor ignoreIndex',
   SpatialClassNLLCriterion = 'sizeAverage weights total_weight_tensor', MarginCriterion = 'sizeAverage margin',
   MultiLabelMarginCriterion = 'isTarget sizeAverage', MultiMarginCriterion = 'sizeAverage p weights margin',
}

-- Functions in an order of their own: all names, the module's method
local others = {
   PReLU_accGradParameters = { 'PReLU', 'accGradParameters',
      'input gradOutput _ weight gradWeight _ _ nOutputPlane scale' },
   BatchNormalization_updateOutput = { 'BatchNormalization', 'updateOutput',
      'input output weight bias running_mean running_var save_mean save_std train momentum eps' },
   BatchNormalization_backward = { 'BatchNormalization', 'backward',
      'input gradOutput gradInput gradWeight gradBias weight '
      .. 'running_mean running_var save_mean save_std train scale eps' },
   LookupTable_accGradParameters = { 'LookupTable', 'accGradParameters',
      'input gradOutput gradWeight _ _ _ shouldScaleGradByFreq paddingValue scale' },
   LookupTable_renorm = { 'LookupTable', 'renorm', 'input weight maxNorm normType' },
   L1Cost_updateOutput = { 'L1Cost', 'updateOutput', 'input output' },
   L1Cost_updateGradInput = { 'L1Cost', 'updateGradInput', 'input _ gradInput' },
   GatedLinear_updateOutput = { 'GatedLinearUnit', 'updateOutput', 'input output dim' },
   GatedLinear_updateGradInput = { 'GatedLinearUnit', 'updateGradInput', 'input gradOutput gradInput dim' },
   Linear_updateOutput = { 'Linear', 'updateOutput', 'input output weight bias addBuffer' },
   Linear_updateGradInput = { 'Linear', 'updateGradInput', 'input gradOutput gradInput weight' },
   Linear_accGradParameters = { 'Linear', 'accGradParameters',
      'input gradOutput _ weight bias gradWeight gradBias addBuffer scale' },
   FeatureLPPooling_updateOutput = { 'FeatureLPPooling', 'updateOutput', 'input output power width stride batch_mode' },
   FeatureLPPooling_updateGradInput = { 'FeatureLPPooling', 'updateGradInput',
      'gradOutput input output gradInput power width stride batch_mode' },
   SpatialUpSamplingBilinear_updateOutput = { 'SpatialUpSamplingBilinear', 'updateOutput',
      'input output oheight owidth' },
   SpatialUpSamplingBilinear_updateGradInput = { 'SpatialUpSamplingBilinear', 'updateGradInput',
      'gradOutput gradInput batch planes iheight iwidth oheight owidth' },
}

-- What a module has beside these arguments: its shape, from those of tensors
local prepare = {}
function prepare.BatchNormalization(module, given) module.nDim = given.input:dim() end
function prepare.LookupTable(module) module.weight = module.weight or module.gradWeight end
function prepare.SpatialAdaptiveAveragePooling(module, given)
   local gradOutput = given.gradOutput
   if gradOutput then module.H, module.W = gradOutput:size(gradOutput:dim() - 1), gradOutput:size(gradOutput:dim()) end
end
function prepare.SpatialAveragePooling(module) module.divide = true end
function prepare.SpatialConvolutionLocal(module)
   local weight = module.weight
   if weight:dim() == 6 then
      module.nOutputPlane, module.nInputPlane = weight:size(3), weight:size(4)
   else
      module.nOutputPlane, module.nInputPlane = weight:size(2), weight:size(3) / (module.kW * module.kH)
   end
end
for _, name in ipairs{ 'SpatialFractionalMaxPooling', 'VolumetricFractionalMaxPooling' } do
   prepare[name] = function(module)
      module.newRandomPool, module.randomSamples = true, module.randomSamples or module.indices
   end
end
for _, name in ipairs{ 'SpatialMaxUnpooling', 'VolumetricMaxUnpooling' } do
   prepare[name] = function(module) function module.setParams() end end
end
function prepare.SpatialUpSamplingBilinear(module, given)
   if given.gradOutput then
      given.input = given.gradOutput.new(module.batch, module.planes, module.iheight, module.iwidth)
   end
end
function prepare.VolumetricConvolutionMM(module)
   for _, name in ipairs{ 'weight', 'gradWeight' } do
      local t = module[name]
      if t and t:dim() == 2 then module[name] = t:view(t:size(1), -1, module.kT, module.kH, module.kW) end
   end
end
for _, name in ipairs{ 'ClassNLLCriterion', 'SpatialClassNLLCriterion' } do
   prepare[name] = function(module, given) module.output_tensor = given.input.new() end
end
for _, name in ipairs{ 'SpatialSubSampling', 'TemporalSubSampling' } do
   prepare[name] = function(module) module.bias = module.bias or module.gradBias or module.weight end
end
local ALIASES = { VolumetricConvolutionMM = 'VolumetricConvolution' }

local function words(text)
   local list = {}
   for word in text:gmatch('%S+') do list[#list + 1] = word end
   return list
end

-- The arguments with tensors in place of the pointers to them; a NULL is nil.
local function with_tensors(...)
   local arguments, n = { ... }, select('#', ...)
   for i = 1, n do arguments[i] = cdata.object(arguments[i]) end
   return unpack(arguments, 1, n)
end

local ARGUMENTS = { input = true, gradOutput = true, target = true, scale = true }

-- What a module returned stands in the tensor that was given for it: an in-place module returns another, a criterion a
-- number.
local function hand_over(tensor, result)
   if type(result) == 'number' then
      tensor:resize(1):fill(result)
   elseif torch.isTensor(result) and result ~= tensor then
      tensor:set(result)
   end
end

local function make(class, method, text)
   local names = words(text)
   local produced = method == 'updateOutput' and 'output' or method == 'updateGradInput' and 'gradInput'
   return function(...)
      local module, given = torch.factory('nn.' .. (ALIASES[class] or class))(), {}
      for i, name in ipairs(names) do
         local value = cdata.object((select(i, ...)))
         if ARGUMENTS[name] then given[name] = value elseif name ~= '_' then module[name] = value end
      end
      module.weight, module.bias = module.weight or module.gradWeight, module.bias or module.gradBias
      if prepare[class] then prepare[class](module, given) end
      local tensor = produced and module[produced]
      local result = module[method](module, given.input, given.gradOutput or given.target, given.scale)
      if tensor then hand_over(tensor, result) end
   end
end

local functions = {}
for class, row in pairs(layers) do
   local forward, backward, accumulate = row, row, nil
   if type(row) == 'table' then forward, backward, accumulate = unpack(row) end
   functions[class .. '_updateOutput'] = make(class, 'updateOutput', 'input output ' .. forward)
   functions[class .. '_updateGradInput'] = make(class, 'updateGradInput', 'input gradOutput gradInput ' .. backward)
   if accumulate then
      functions[class .. '_accGradParameters'] = make(class, 'accGradParameters',
         ('input gradOutput gradWeight gradBias %s scale'):format(accumulate))
   end
end
for class, text in pairs(criterions) do
   functions[class .. '_updateOutput'] = make(class, 'updateOutput', 'input target output ' .. text)
   functions[class .. '_updateGradInput'] = make(class, 'updateGradInput', 'input target gradInput ' .. text)
end
for name, row in pairs(others) do functions[name] = make(unpack(row)) end
for name, f in pairs(require 'nn.layers_by_arguments') do
   functions[name] = function(...) f(with_tensors(...)) end
end

-- Gives tensors of a type the functions (cunn does so for CUDA's).
function THNN.give(type_name)
   local of_type = {}
   for name, f in pairs(functions) do of_type[name] = f end
   THNN.kernels[type_name] = of_type
   torch.getmetatable(type_name).THNN = of_type
end
THNN.give 'torch.FloatTensor'
THNN.give 'torch.DoubleTensor'

function THNN.getState() return nil end
function THNN.optionalTensor(t) return t and t:cdata() end
function THNN.runKernel(name, type_name, ...)
   local of_type = THNN.kernels[type_name] or error('Unsupported tensor type: ' .. type_name)
   local f = of_type[name]
   if not f then error(("Function '%s' not found for tensor type '%s'."):format(name, type_name)) end
   f(...)
end

return THNN
