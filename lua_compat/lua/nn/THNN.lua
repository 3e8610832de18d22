-- Torch7's library THNN: its functions by name, implemented with nn's own modules, for example
-- input.THNN.Tanh_updateOutput(input:cdata(), output:cdata()). Packages call it for their own layers; nn itself does
-- not. Each call creates a module without running its constructor, sets the arguments as fields, and calls the method.
-- The class's declaration says which fields. Functions that no module of nn covers are in nn/layers_by_arguments.lua.
local cdata = require 'torch.tensor.cdata'
local declarations = require 'nn.declarations'

local THNN = { kernels = {} }

-- What a module needs besides these arguments: its shape, derived from the tensors' sizes
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
function prepare.VolumetricConvolution(module)
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

local function words(text)
   local list = {}
   for word in text:gmatch('%S+') do list[#list + 1] = word end
   return list
end

-- The arguments, with pointers to tensors replaced by the tensors; NULL becomes nil.
local function with_tensors(...)
   local arguments, n = { ... }, select('#', ...)
   for i = 1, n do arguments[i] = cdata.object(arguments[i]) end
   return unpack(arguments, 1, n)
end

local ARGUMENTS = { input = true, gradOutput = true, target = true, scale = true }

-- Puts what a module returned into the tensor that was passed for it: an in-place module returns another tensor, a
-- criterion a number.
local function hand_over(tensor, result)
   if type(result) == 'number' then
      tensor:resize(1):fill(result)
   elseif torch.isTensor(result) and result ~= tensor then
      tensor:set(result)
   end
end

local function make(class, method, text)
   local names
   local produced = method == 'updateOutput' and 'output' or method == 'updateGradInput' and 'gradInput'
   return function(...)
      names = names or words(text)
      if select('#', ...) ~= #names then error('wrong number of arguments for function call', 2) end
      local module, given = torch.factory('nn.' .. class)(), {}
      for i, name in ipairs(names) do
         local value = cdata.object((select(i, ...)))
         if ARGUMENTS[name] then given[name] = value elseif name ~= '_' then module[name] = value end
      end
      module.weight, module.bias = module.weight or module.gradWeight, module.bias or module.gradBias
      if prepare[class] then prepare[class](module, given) end
      local tensor = produced and (module[produced] or error(produced .. ': tensor expected, got nil', 2))
      local result = module[method](module, given.input, given.gradOutput or given.target, given.scale)
      if tensor then hand_over(tensor, result) end
   end
end

local functions = {}
for _, class in ipairs(declarations.names()) do
   local declaration = declarations.written(class)
   for method, text in pairs(declaration.thnn or {}) do
      functions[('%s_%s'):format(declaration.thnn_name or class, method)] = make(class, method, text)
   end
end
for name, f in pairs(require 'nn.layers_by_arguments') do
   functions[name] = function(...) f(with_tensors(...)) end
end

-- Gives tensors of a type these functions (cunn calls it for CUDA's types).
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
