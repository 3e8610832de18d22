-- Normalization over the batch, over planes, over an image's neighbourhoods, and of vectors.
local kernel = require('torch.core.kernels').of_layers
local layer = require 'nn.shared.layer'
local declared = require 'nn.shared.declared'
declared.ways('normalization', { 'batch', 'cross_map', 'vectors' })
local number = require('torch.core.arguments').number
local Module = torch.getmetatable('nn.Module')

local BatchNormalization = torch.class('nn.BatchNormalization', 'nn.Module')
BatchNormalization.__version = 2
BatchNormalization.nDim = 2

local set_statistics, numbers = declared.setter 'BatchNormalization', declared.reader 'BatchNormalization'
local eps_of = declared.reader('BatchNormalization', 'eps')

function BatchNormalization:__init(...)
   Module.__init(self)
   local nOutput = set_statistics(self, ...)
   assert(type(nOutput) == 'number', 'Missing argument #1: dimensionality of input. ')
   assert(nOutput ~= 0, 'To set affine=false call BatchNormalization(nOutput,  eps, momentum, false) ')
   assert(type(self.affine) == 'boolean', 'affine has to be true/false')
   self.running_mean = torch.zeros(nOutput)
   self.running_var = torch.ones(nOutput)
   if self.affine then
      self.weight = torch.Tensor(nOutput)
      self.bias = torch.Tensor(nOutput)
      self.gradWeight = torch.Tensor(nOutput)
      self.gradBias = torch.Tensor(nOutput)
      self:reset()
   end
end

function BatchNormalization:reset()
   if self.weight then self.weight:uniform() end
   if self.bias then self.bias:zero() end
   self.running_mean:zero()
   self.running_var:fill(1)
end

function BatchNormalization:checkInputDim(input)
   local dims = input:dim()
   assert(dims == self.nDim or (dims == self.nDim - 1 and self.train == false),
      ('only mini-batch supported (%dD tensor), got %dD tensor instead'):format(self.nDim, dims))
   local features = input:size(dims == self.nDim - 1 and 1 or 2)
   assert(features == self.running_mean:nElement(),
      ('got %d-feature tensor, expected %d'):format(features, self.running_mean:nElement()))
end

-- Adds a batch dimension when evaluating a single example.
local function batched(self, t)
   if self.train == false and t:dim() == self.nDim - 1 then return nn.utils.addSingletonDimension(t, 1) end
   return t
end

-- A batch of one has no variance, so the running statistics are used.
local function uses_batch(self, input) return self.train ~= false and input:size(1) > 1 end

function BatchNormalization:updateOutput(input)
   self:checkInputDim(input)
   input = batched(self, input)
   self.save_mean = (self.save_mean or input.new()):resizeAs(self.running_mean)
   self.save_std = (self.save_std or input.new()):resizeAs(self.running_var)
   kernel.batch_normalization(self.output, input, self.weight, self.bias, self.running_mean, self.running_var,
      self.save_mean, self.save_std, uses_batch(self, input), numbers(self))
   return self.output
end

local function backward(self, input, gradOutput, scale, gradInput, gradWeight, gradBias)
   self:checkInputDim(input)
   self:checkInputDim(gradOutput)
   assert(self.save_mean and self.save_std, 'must call :updateOutput() first')
   input, gradOutput = batched(self, input), batched(self, gradOutput)
   if gradInput then gradInput:resizeAs(gradOutput) end
   kernel.batch_normalization_gradients(gradInput, gradWeight, gradBias, input, gradOutput, self.weight,
      self.running_mean, self.running_var, self.save_mean, self.save_std, uses_batch(self, input), scale or 1,
      eps_of(self))
   return self.gradInput
end

function BatchNormalization:backward(input, gradOutput, scale)
   return backward(self, input, gradOutput, scale, self.gradInput, self.gradWeight, self.gradBias)
end
function BatchNormalization:updateGradInput(input, gradOutput)
   return backward(self, input, gradOutput, 1, self.gradInput)
end
function BatchNormalization:accGradParameters(input, gradOutput, scale)
   return backward(self, input, gradOutput, scale, nil, self.gradWeight, self.gradBias)
end

-- Before version 2, 1 / standard deviation was stored.
function BatchNormalization:read(file, version)
   Module.read(self, file)
   if version < 2 and self.running_std then
      self.running_var = self.running_std:pow(-2):add(-self.eps)
      self.running_std = nil
   end
end

function BatchNormalization:clearState()
   nn.utils.clear(self, 'buffer', 'buffer2', 'centered', 'std', 'normalized', '_input', '_gradOutput', 'save_mean',
      'save_std')
   return Module.clearState(self)
end

function BatchNormalization:__tostring__()
   return ('%s (%dD) (%d)'):format(torch.type(self), self.nDim, self.running_mean:nElement())
end

local Spatial = torch.class('nn.SpatialBatchNormalization', 'nn.BatchNormalization')
Spatial.__version = 2
Spatial.nDim = 4

local Volumetric = torch.class('nn.VolumetricBatchNormalization', 'nn.BatchNormalization')
Volumetric.nDim = 5

-- Normalization over neighbouring planes. On a CPU, Torch7 reads planes outside the image if the window is even or (for
-- the gradient) of size 1; here that is an error.
local function check_window(self, input, is_gradient)
   local size = number(self.size)
   assert(input:dim() == 3 or input:dim() == 4, 'Input must be 3D or 4D')
   if torch.type(input):find('Cuda', 1, true) then return end
   if size % 2 == 0 and input:size(input:dim() - 2) > size / 2 then
      error(('nn.SpatialCrossMapLRN: an odd size expected, got %d'):format(size), 0)
   elseif is_gradient and size == 1 then
      error('nn.SpatialCrossMapLRN: no gradient of windows of size 1', 0)
   end
end
local of_neighbours = declared.reader 'SpatialCrossMapLRN'
local SpatialCrossMapLRN = layer.plain{ name = 'SpatialCrossMapLRN',
   arguments = function(self, input)
      check_window(self, input)
      return of_neighbours(self)
   end }
local gradient_over_planes = SpatialCrossMapLRN.updateGradInput
function SpatialCrossMapLRN:updateGradInput(input, gradOutput)
   check_window(self, input, true)
   return gradient_over_planes(self, input, gradOutput)
end

local of_norm = declared.reader 'Normalize'
layer.plain{ name = 'Normalize',
   arguments = function(self, input)
      assert(input:dim() <= 2, 'only 1d layer supported')
      return of_norm(self)
   end,
   check = function(self)
      assert(self.p, 'p-norm not provided')
      assert(self.p > 0, self.p .. '-norm not supported')
   end,
   text = function(self) return (self.p % 1 == 0 and '(%d)' or '(%f)'):format(self.p) end }

-- Vectors normalized to mean 0 and norm sqrt(n), then scaled and shifted
local LayerNormalization, Sequential = torch.class('nn.LayerNormalization', 'nn.Sequential')
local set_layer = declared.setter 'LayerNormalization'
function LayerNormalization:__init(...)
   Sequential.__init(self)
   local nOutput, bias, eps, affine = set_layer(self, ...)
   local mean = nn.Sequential():add(nn.Mean(1, 1)):add(nn.Replicate(nOutput, 1, 1))
   self:add(nn.ConcatTable():add(nn.Identity()):add(mean))
   self:add(nn.CSubTable())
   self:add(nn.Normalize(2, eps))
   self:add(nn.MulConstant(math.sqrt(nOutput)))
   if affine then
      local shift, gain = nn.Add(nOutput, false), nn.CMul(nOutput)
      shift.bias:fill(bias)
      gain.weight:fill(1)
      self:add(gain):add(shift)
   end
end

-- Images normalized by their neighbourhoods, weighted by a kernel: a matrix, or a vector for rows and columns

local function check_kernel(self)
   self.kernel = self.kernel or torch.Tensor(9, 9):fill(1)
   local name, dims = torch.type(self):gsub('^nn%.', ''), self.kernel:dim()
   if dims ~= 1 and dims ~= 2 then error(('<%s> averaging kernel must be 2D or 1D'):format(name), 3) end
   for d = 1, dims do
      if self.kernel:size(d) % 2 == 0 then error(('<%s> averaging kernel must have ODD dimensions'):format(name), 3) end
   end
end

-- Adds layers to a Sequential: padding, a convolution of all planes to one whose filters are set later, and the result
-- repeated for each plane. Returns a function that sets the filters: set(filter of the planes [, filter of their sum]).
local function add_average(self, net)
   local kernel, planes = self.kernel, self.nInputPlane
   local height = kernel:size(1)
   local width = kernel:dim() == 2 and kernel:size(2) or height
   local padW, padH = math.floor(width / 2), math.floor(height / 2)
   net:add(nn.SpatialZeroPadding(padW, padW, padH, padH))
   local convolutions
   if kernel:dim() == 2 then
      convolutions = { nn.SpatialConvolution(planes, 1, width, height) }
   else
      convolutions = { nn.SpatialConvolutionMap(nn.tables.oneToOne(planes), width, 1),
         nn.SpatialConvolution(planes, 1, 1, height) }
   end
   for _, convolution in ipairs(convolutions) do net:add(convolution) end
   net:add(nn.Replicate(planes, 1, 3))
   return function()
      for i, convolution in ipairs(convolutions) do
         local weight = i == #convolutions and convolution.weight[1] or convolution.weight
         for plane = 1, planes do weight[plane]:copy(kernel) end
         convolution.bias:zero()
      end
   end
end

-- What the estimator gives for an image of ones (less than 1 at the borders), in the shape of its output for the input.
local function border_coefficients(self, input)
   self.ones = self.ones or input.new()
   self._coef = self._coef or input.new()
   local is_batch = input:dim() == 4
   self.ones:resizeAs(is_batch and input[1] or input):fill(1)
   local coefficients = self.meanestimator:updateOutput(self.ones)
   self._coef:resizeAs(coefficients):copy(coefficients)
   if not is_batch then return self._coef end
   local sizes = coefficients:size():totable()
   return self._coef:view(1, unpack(sizes)):expand(input:size(1), unpack(sizes))
end

-- The input minus the average of its neighbourhood
local Subtractive = torch.class('nn.SpatialSubtractiveNormalization', 'nn.Module')

local set_subtractive, set_divisive = declared.setter 'SpatialSubtractiveNormalization',
   declared.setter 'SpatialDivisiveNormalization'

function Subtractive:__init(...)
   Module.__init(self)
   set_subtractive(self, ...)
   check_kernel(self)
   self.kernel:div(self.kernel:sum() * self.nInputPlane)
   self.meanestimator = nn.Sequential()
   add_average(self, self.meanestimator)()
   self.subtractor, self.divider = nn.CSubTable(), nn.CDivTable()
   self.coef = torch.Tensor(1, 1, 1)
end

function Subtractive:updateOutput(input)
   if not (self._inpsz and input:isSize(self._inpsz)) then
      self._inpsz = input:size()
      self.coef = border_coefficients(self, input)
   end
   self.localsums = self.meanestimator:updateOutput(input)
   self.adjustedsums = self.divider:updateOutput{ self.localsums, self.coef }
   self.output = self.subtractor:updateOutput{ input, self.adjustedsums }
   return self.output
end

function Subtractive:updateGradInput(input, gradOutput)
   local difference = self.subtractor:updateGradInput({ input, self.adjustedsums }, gradOutput)
   local average = self.divider:updateGradInput({ self.localsums, self.coef }, difference[2])
   self.gradInput:resizeAs(input):copy(self.meanestimator:updateGradInput(input, average[1]))
   return self.gradInput:add(difference[1])
end

function Subtractive:clearState()
   self._inpsz = nil
   nn.utils.clear(self, 'ones', '_coef')
   self.meanestimator:clearState()
   return Module.clearState(self)
end

-- The input divided by the root mean square of its neighbourhood; averages up to threshold are replaced by thresval
local Divisive = torch.class('nn.SpatialDivisiveNormalization', 'nn.Module')

function Divisive:__init(...)
   Module.__init(self)
   set_divisive(self, ...)
   check_kernel(self)
   self.meanestimator = nn.Sequential()
   local set_mean = add_average(self, self.meanestimator)
   self.stdestimator = nn.Sequential():add(nn.Square())
   local set_square = add_average(self, self.stdestimator)
   self.stdestimator:add(nn.Sqrt())
   local planes = self.kernel:dim() == 2 and self.nInputPlane or math.sqrt(self.nInputPlane)
   self.kernel:div(self.kernel:sum() * planes)
   set_mean()
   set_square()
   self.normalizer, self.divider = nn.CDivTable(), nn.CDivTable()
   self.thresholder = nn.Threshold(self.threshold, self.thresval)
   self.coef = torch.Tensor(1, 1, 1)
end

function Divisive:updateOutput(input)
   self.localstds = self.stdestimator:updateOutput(input)
   if not self.coef:isSameSizeAs(self.localstds) then self.coef = border_coefficients(self, input) end
   self.adjustedstds = self.divider:updateOutput{ self.localstds, self.coef }
   self.thresholdedstds = self.thresholder:updateOutput(self.adjustedstds)
   self.output = self.normalizer:updateOutput{ input, self.thresholdedstds }
   return self.output
end

function Divisive:updateGradInput(input, gradOutput)
   local quotient = self.normalizer:updateGradInput({ input, self.thresholdedstds }, gradOutput)
   local adjusted = self.thresholder:updateGradInput(self.adjustedstds, quotient[2])
   local deviation = self.divider:updateGradInput({ self.localstds, self.coef }, adjusted)
   self.gradInput:resizeAs(input):copy(self.stdestimator:updateGradInput(input, deviation[1]))
   return self.gradInput:add(quotient[1])
end

function Divisive:clearState()
   nn.utils.clear(self, 'ones', '_coef')
   self.meanestimator:clearState()
   self.stdestimator:clearState()
   return Module.clearState(self)
end

-- Both, one after the other
local Contrastive = torch.class('nn.SpatialContrastiveNormalization', 'nn.Module')

function Contrastive:__init(...)
   Module.__init(self)
   set_divisive(self, ...)
   check_kernel(self)
   self.normalizer = nn.Sequential()
   self.normalizer:add(nn.SpatialSubtractiveNormalization(self.nInputPlane, self.kernel))
   self.normalizer:add(nn.SpatialDivisiveNormalization(self.nInputPlane, self.kernel, self.threshold, self.thresval))
end
function Contrastive:updateOutput(input)
   self.output = self.normalizer:forward(input)
   return self.output
end
function Contrastive:updateGradInput(input, gradOutput)
   self.gradInput = self.normalizer:backward(input, gradOutput)
   return self.gradInput
end
