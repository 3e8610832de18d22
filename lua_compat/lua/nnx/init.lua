-- The package nnx, without its pyramids, foveas, graphs and data sets.
require 'nn'
require 'xlua'

nnx = nnx or {}

require 'nnx.images'
require 'nnx.tables'
require 'nnx.tree'
require 'nnx.criterions'
require 'nnx.simple'
require 'nnx.functions'
require 'nnx.planes'

return nnx
