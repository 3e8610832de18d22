-- cuDNN's batch normalization. It differs from nn's: a batch of one has statistics of its own, too; there are always a
-- weight and a bias; inputs have a batch dimension; and backward, which is for training only, also accumulates the
-- parameters' gradients.
local kernel = require('torch.core.kernels').of_tensors
local of_nn = torch.getmetatable 'nn.BatchNormalization'

-- prepare(self, input): what all layers of cudnn do first
return function(prepare)
   local class = torch.class('cudnn.BatchNormalization', 'nn.Module')
   class.__version, class.nDim, class.mode = 2, 2, 'CUDNN_BATCHNORM_PER_ACTIVATION'
   for _, name in ipairs{ 'reset', 'read', 'clearState' } do class[name] = of_nn[name] end

   function class:__init(nFeature, eps, momentum, affine)
      assert(type(nFeature) == 'number', 'Missing argument #1: Number of feature planes. ')
      assert(nFeature ~= 0, 'To set affine=false call BatchNormalization(nFeature,  eps, momentum, false) ')
      assert(affine == nil or affine == true, 'only affine supported')
      of_nn.__init(self, nFeature, eps, momentum)
   end

   local function check(self, input)
      assert(input:dim() == self.nDim)
      assert(cudnn.typemap[torch.typename(self.weight)], 'Only Cuda supported duh!')
      local planes = self.running_mean:nElement()
      assert(input:size(2) == planes, ('got %d-feature tensor, expected %d'):format(input:size(2), planes))
   end

   function class:updateOutput(input)
      prepare(self, input)
      check(self, input)
      self.save_mean = (self.save_mean or self.running_mean.new()):resizeAs(self.running_mean)
      self.save_std = (self.save_std or self.running_mean.new()):resizeAs(self.running_var)
      kernel.batch_normalization(self.output, input, self.weight, self.bias, self.running_mean, self.running_var,
         self.save_mean, self.save_std, self.train, self.momentum, self.eps)
      return self.output
   end

   function class:updateGradInput(input, gradOutput, scale)
      assert(self.train, 'cudnn.BatchNormalization doesnt support backward in evaluate, use nn')
      assert(gradOutput:isContiguous())
      check(self, input)
      kernel.batch_normalization_gradients(self.gradInput:resizeAs(input), self.gradWeight, self.gradBias, input,
         gradOutput, self.weight, self.running_mean, self.running_var, self.save_mean, self.save_std, true, scale or 1,
            self.eps)
      return self.gradInput
   end
   class.backward = class.updateGradInput
   function class:accGradParameters() end -- done by updateGradInput

   function class:clearDesc() end

   for name, dimensions in pairs{ Spatial = 4, Volumetric = 5 } do
      local other = torch.class(('cudnn.%sBatchNormalization'):format(name), 'cudnn.BatchNormalization')
      other.__version, other.nDim, other.mode = 2, dimensions, 'CUDNN_BATCHNORM_SPATIAL'
   end
end
