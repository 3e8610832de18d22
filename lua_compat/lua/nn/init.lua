-- Torch7's package nn: layers grouped by family.
require 'torch'

nn = nn or {}

for _, family in ipairs{
   'few', 'few_pooled', 'few.transfers', 'few.margins', 'few.pairs', 'few.prelu', 'few.gated',
   'few.distances', 'few.cosines', 'few.adaptive', 'few.averages', 'few.subsampling', 'few.planes',
   'few.local_windows', 'few.convolution', 'few.sequences', 'few.borders', 'few.normalization',
   'few.cross_planes', 'few.maxima', 'few.fractional', 'few.mapped', 'few.bilinear', 'few.keys',
   'few.larger', 'few.sparse', 'utils', 'module', 'containers', 'decorators', 'identity', 'linear',
   'sparse', 'similarity', 'transfer', 'shape', 'convert', 'dropout', 'arithmetic', 'reduce', 'tables',
   'normalization', 'convolution', 'pooling', 'padding', 'upsampling', 'criterions',
   'composite_criterions', 'stochastic_gradient', 'jacobian', 'hessian', 'THNN'
} do
   require('nn.' .. family)
end

-- Torch7's nn loads its tests, which begin by making such a layer: a script that seeds before it first requires nn
-- continues after this layer's four random numbers.
nn.Linear(1, 2)

return nn
