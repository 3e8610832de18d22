-- The package nnx.
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
require 'nnx.matching'
require 'nnx.normalization'
require 'nnx.pyramids'
require 'nnx.recursion'
require 'nnx.forest'
require 'nnx.datasets'
require 'nnx.segmentations'

return nnx
