-- Torch7's package nn: layers grouped by family.
require 'torch'

nn = nn or {}

for _, family in ipairs{
   'utils', 'module', 'containers', 'decorators', 'identity', 'linear', 'sparse',
   'similarity', 'transfer', 'shape', 'convert', 'dropout', 'arithmetic', 'reduce', 'tables',
   'normalization', 'convolution', 'pooling', 'padding', 'upsampling', 'criterions',
   'composite_criterions', 'stochastic_gradient', 'jacobian', 'hessian', 'THNN'
} do
   require('nn.' .. family)
end

-- Torch7's nn loads its tests, which begin by making such a layer: a script that seeds before it first requires nn
-- continues after this layer's four random numbers.
nn.Linear(1, 2)

return nn
