-- The package cunn: nn on CUDA's tensors. The layers are nn's own; their kernels run on the device of their tensors.
require 'cutorch'
require 'nn'
require 'cunn.data_parallel'

for _, kind in ipairs{ '', 'Double', 'Half' } do require('nn.THNN').give(('torch.Cuda%sTensor'):format(kind)) end

function nn.Module:cudaDouble() return self:type('torch.CudaDoubleTensor') end
function nn.Module:cudaHalf() return self:type('torch.CudaHalfTensor') end
