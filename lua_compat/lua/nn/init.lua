-- Torch7's package nn: layers grouped by family.
require 'torch'

nn = nn or {}

for _, family in ipairs{ 'utils', 'module', 'containers', 'decorators', 'identity', 'linear', 'sparse', 'similarity',
   'transfer', 'shape', 'convert', 'dropout', 'arithmetic', 'reduce', 'tables', 'normalization', 'convolution', 'pooling',
   'padding', 'upsampling', 'criterions', 'composite_criterions', 'stochastic_gradient', 'jacobian', 'hessian' } do
   require('nn.' .. family)
end

-- Torch7's nn loads its tests along with it, and they begin by making such a layer: a script that seeds before it first
-- requires nn goes on from the random numbers after this one's four.
nn.Linear(1, 2)

return nn
