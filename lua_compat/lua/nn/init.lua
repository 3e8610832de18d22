-- Torch7's package nn: layers grouped by family.
require 'torch'

nn = nn or {}

require 'nn.utils'
require 'nn.module'
require 'nn.containers'
require 'nn.linear'
require 'nn.transfer'
require 'nn.softmax'
require 'nn.shape'
require 'nn.dropout'
require 'nn.arithmetic'
require 'nn.reduce'
require 'nn.table_layers'
require 'nn.normalization'
require 'nn.convolution'
require 'nn.pooling'
require 'nn.spatial'
require 'nn.temporal'
require 'nn.features'
require 'nn.criterions'
require 'nn.jacobian'

return nn
