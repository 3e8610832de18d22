-- Normalisation over the batch.
local kernel = require('torch.kernels').of_tensors
local Module = torch.getmetatable('nn.Module')

local BatchNormalization = torch.class('nn.BatchNormalization', 'nn.Module')
BatchNormalization.__version = 2
BatchNormalization.nDim = 2

function BatchNormalization:__init(nOutput, eps, momentum, affine)
   Module.__init(self)
   assert(type(nOutput) == 'number', 'Missing argument #1: dimensionality of input. ')
   assert(nOutput ~= 0, 'To set affine=false call BatchNormalization(nOutput,  eps, momentum, false) ')
   assert(affine == nil or type(affine) == 'boolean', 'affine has to be true/false')
   self.affine = affine == nil or affine
   self.eps = eps or 1e-5
   self.train = true
   self.momentum = momentum or 0.1
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

-- With a batch dimension, if evaluating a single example.
local function batched(self, t)
   if self.train == false and t:dim() == self.nDim - 1 then return nn.utils.addSingletonDimension(t, 1) end
   return t
end

-- A batch of one has no variance: its statistics are the running ones.
local function uses_batch(self, input) return self.train ~= false and input:size(1) > 1 end

function BatchNormalization:updateOutput(input)
   self:checkInputDim(input)
   input = batched(self, input)
   self.save_mean = (self.save_mean or input.new()):resizeAs(self.running_mean)
   self.save_std = (self.save_std or input.new()):resizeAs(self.running_var)
   kernel.batch_normalization(self.output, input, self.weight, self.bias, self.running_mean, self.running_var,
      self.save_mean, self.save_std, uses_batch(self, input), self.momentum, self.eps)
   return self.output
end

local function backward(self, input, gradOutput, scale, gradInput, gradWeight, gradBias)
   self:checkInputDim(input)
   self:checkInputDim(gradOutput)
   assert(self.save_mean and self.save_std, 'must call :updateOutput() first')
   input, gradOutput = batched(self, input), batched(self, gradOutput)
   if gradInput then gradInput:resizeAs(gradOutput) end
   kernel.batch_normalization_gradients(gradInput, gradWeight, gradBias, input, gradOutput, self.weight,
      self.running_mean, self.running_var, self.save_mean, self.save_std, uses_batch(self, input), scale or 1, self.eps)
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

-- Before version 2, 1 / standard deviation was kept.
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
