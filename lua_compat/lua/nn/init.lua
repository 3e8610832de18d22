-- Torch7's package nn: layers grouped by family.
require 'torch'

nn = nn or {}

for _, family in ipairs{ 'utils', 'module', 'containers', 'decorators', 'identity', 'linear', 'linear_variants',
   'sparse', 'similarity', 'transfer', 'softmax', 'shape', 'convert', 'indexing', 'dropout', 'arithmetic', 'reduce',
   'table_arithmetic', 'table_layers', 'normalization', 'convolution', 'pooling', 'fractional_pooling', 'unpooling',
   'spatial', 'upsampling', 'connection_tables', 'local_normalization', 'temporal', 'volumetric', 'features',
   'criterions', 'composite_criterions', 'stochastic_gradient', 'jacobian', 'hessian' } do
   require('nn.' .. family)
end

return nn
