-- Soft maxima over the classes: the last dimension of a vector or matrix, the third last of images.
local kernel = require('torch.kernels').of_tensors

for name, f in pairs{ SoftMax = 'softmax', LogSoftMax = 'log_softmax', SoftMin = 'softmin',
   SpatialSoftMax = 'softmax', SpatialLogSoftMax = 'log_softmax' } do
   local class = torch.class('nn.' .. name, 'nn.Module')
   function class:updateOutput(input)
      kernel.class_softmax(self.output, input, f)
      return self.output
   end
   function class:updateGradInput(_, gradOutput)
      kernel.class_softmax_gradient(self.gradInput, self.output, gradOutput, f)
      return self.gradInput
   end
end
